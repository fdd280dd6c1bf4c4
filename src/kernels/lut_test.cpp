// SPDX-License-Identifier: Apache-2.0
// Every lookup kernel that this CPU can run, against a loop over the codes: random data and always
// the extremes. New kernels are tested without editing this file.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "base/guarded_buffer_for_test.hpp"
#include "kernels/registry.hpp"
#include "quant/layouts/lut32.hpp"

namespace bittern::kernels {
namespace {

using quant::LutKind;

struct LutKernel {
  const KernelInfo* info;
  LutKind kind;
  [[nodiscard]] const LutOps& ops() const {
    return *(kind == LutKind::kTl1 ? info->tl1 : info->tl2);
  }
};

std::vector<LutKernel> LutKernels() {
  std::vector<LutKernel> kernels;
  for (const KernelInfo* kernel : AllKernels()) {
    if (kernel->tl1 != nullptr) kernels.push_back({kernel, LutKind::kTl1});
    if (kernel->tl2 != nullptr) kernels.push_back({kernel, LutKind::kTl2});
  }
  return kernels;
}

class Lut : public testing::TestWithParam<LutKernel> {
 protected:
  void SetUp() override {
    if (!Supports(GetParam().info->isa)) GTEST_SKIP() << "this CPU lacks " << GetParam().info->name;
  }

  /// Packs, builds, runs, compares every row; every buffer ends at a guard page.
  void Check(const std::vector<std::uint8_t>& codes, const std::vector<std::int8_t>& act,
             std::size_t rows) {
    const LutKind kind = GetParam().kind;
    const std::size_t cols = act.size(), tiles = quant::LutTilesOfRows(rows);
    const std::size_t steps = quant::LutSteps(kind, cols);
    const std::size_t tile_bytes = quant::LutTileBytes(kind, cols);
    GuardedBuffer<std::uint8_t> weights(tiles * tile_bytes);
    for (std::size_t t = 0; t < tiles; ++t) {
      const std::size_t row = t * quant::kLutRows;
      quant::PackLutTile(kind, codes.data() + row * cols, std::min(quant::kLutRows, rows - row),
                         cols, weights.data() + t * tile_bytes);
    }
    GuardedBuffer<std::int8_t> padded(steps * quant::LutStepCols(kind));
    for (std::size_t c = 0; c < padded.size(); ++c) padded[c] = c < cols ? act[c] : std::int8_t{0};
    GuardedBuffer<std::uint8_t> tables(steps *
                                       (kind == LutKind::kTl1 ? kTl1TableBytes : kTl2TableBytes));
    GetParam().ops().build(padded.data(), steps, tables.data());
    GuardedBuffer<std::int32_t> out(tiles * quant::kLutRows);
    GetParam().ops().gemv(weights.data(), tiles, steps, tables.data(), out.data());
    for (std::size_t row = 0; row < out.size(); ++row) {
      std::int32_t sum = 0;
      for (std::size_t c = 0; c < cols && row < rows; ++c) {
        sum += (codes[row * cols + c] - 1) * act[c];
      }
      ASSERT_EQ(out[row], sum) << cols << " columns, row " << row;
    }
  }
};

TEST_P(Lut, IsExactOnRandomAndExtremeInputs) {
  std::mt19937 rng(1);
  // 6912 and 14336 are the widest rows of real models; the others have tails.
  for (const std::size_t cols : {4u, 24u, 100u, 256u, 640u, 2560u, 6912u, 14336u}) {
    for (const int code : {-1, 0, 1, 2}) {
      for (const int value : {1000, 127, -128, 0}) {
        const std::size_t rows = code < 0 ? 70 : 32;
        std::vector<std::uint8_t> codes(rows * cols);
        for (auto& c : codes)
          c = static_cast<std::uint8_t>(code < 0 ? rng() % 3 : static_cast<unsigned>(code));
        std::vector<std::int8_t> act(cols);
        for (auto& a : act)
          a = static_cast<std::int8_t>(value == 1000 ? static_cast<int>(rng() % 256) - 128 : value);
        Check(codes, act, rows);
      }
    }
  }
}

TEST_P(Lut, PutsEverySingleWeightInItsPlace) {
  constexpr std::size_t kRows = 32, kCols = 48;
  std::vector<std::int8_t> act(kCols);
  for (std::size_t c = 0; c < kCols; ++c) act[c] = static_cast<std::int8_t>(c + 1);
  std::vector<std::uint8_t> codes(kRows * kCols, 1);
  for (std::size_t place = 0; place < codes.size(); ++place) {
    codes[place] = place % 2 == 0 ? 0 : 2;
    Check(codes, act, kRows);
    codes[place] = 1;
  }
}

INSTANTIATE_TEST_SUITE_P(All, Lut, testing::ValuesIn(LutKernels()),
                         [](const auto& kernel) { return std::string(kernel.param.info->name); });

TEST(Registry, LookupKernelsAreChosenToo) {
  const auto scalar_only = SelectKernels([](Isa isa) { return isa == Isa::scalar; });
  ASSERT_NE(scalar_only.tl1_info, nullptr);
  ASSERT_NE(scalar_only.tl2_info, nullptr);
}

}  // namespace
}  // namespace bittern::kernels
