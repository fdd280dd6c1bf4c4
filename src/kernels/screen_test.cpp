// SPDX-License-Identifier: Apache-2.0
// Every kernel of the coarse scan that this CPU can run, against loops over the codes: random data
// and the extremes that their bounds are written for.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "base/guarded_buffer_for_test.hpp"
#include "kernels/registry.hpp"
#include "quant/screen_planes.hpp"

namespace bittern::kernels {
namespace {

constexpr std::size_t kRows = 16;

std::vector<const KernelInfo*> ScreenKernels() {
  std::vector<const KernelInfo*> kernels;
  for (const KernelInfo* kernel : AllKernels()) {
    if (kernel->screen != nullptr) kernels.push_back(kernel);
  }
  return kernels;
}

int Byte(std::int8_t code) { return code + 128; }

class Screen : public testing::TestWithParam<const KernelInfo*> {
 protected:
  void SetUp() override {
    if (!Supports(GetParam()->isa)) GTEST_SKIP() << "this CPU lacks " << GetParam()->name;
  }

  void CheckScan(const std::vector<std::int8_t>& codes, std::size_t cols,
                 GuardedBuffer<std::int8_t>& high, GuardedBuffer<std::int8_t>& low) {
    const std::size_t tiles = codes.size() / (kRows * cols);
    const std::size_t bytes = quant::NibbleTileBytes(cols);
    GuardedBuffer<std::uint8_t> planes(tiles * bytes);
    for (std::size_t t = 0; t < tiles; ++t) {
      quant::PackNibbles(codes.data() + t * kRows * cols, cols, planes.data() + t * bytes);
    }
    GuardedBuffer<std::int32_t> out_high(tiles * kRows), out_low(tiles * kRows);
    GetParam()->screen->scan(planes.data(), tiles, cols, high.data(), low.data(), out_high.data(),
                             out_low.data());
    for (std::size_t r = 0; r < tiles * kRows; ++r) {
      std::int32_t expected_high = 0, expected_low = 0;
      for (std::size_t c = 0; c < cols; ++c) {
        const int nibble = Byte(codes[r * cols + c]) >> 4;
        expected_high += nibble * high[c];
        expected_low += nibble * low[c];
      }
      ASSERT_EQ(out_high[r], expected_high) << cols << " columns, row " << r;
      ASSERT_EQ(out_low[r], expected_low) << cols << " columns, row " << r;
    }
  }

  void CheckRow(const std::int8_t* codes, std::size_t cols, GuardedBuffer<std::int8_t>& high) {
    GuardedBuffer<std::uint8_t> bits(quant::BitRowBytes(cols)), pairs(quant::PairRowBytes(cols));
    quant::PackBits(codes, cols, bits.data());
    quant::PackPairs(codes, cols, pairs.data());
    std::int32_t expected_bits = 0, expected_pairs = 0;
    for (std::size_t c = 0; c < cols; ++c) {
      expected_bits += (Byte(codes[c]) >> 3 & 1) * high[c];
      expected_pairs += (Byte(codes[c]) >> 1 & 3) * high[c];
    }
    ASSERT_EQ(GetParam()->screen->dot_bits(bits.data(), cols, high.data()), expected_bits);
    ASSERT_EQ(GetParam()->screen->dot_pairs(pairs.data(), cols, high.data()), expected_pairs);
  }
};

TEST_P(Screen, IsExactOnRandomAndExtremeInputs) {
  std::mt19937 rng(1);
  for (const std::size_t cols : {512u, 2560u, 8192u, 16384u}) {
    for (const int code : {1000, -128, 127}) {
      for (const int value : {1000, 127, -128, 0}) {
        std::vector<std::int8_t> codes(3 * kRows * cols);
        for (auto& c : codes) {
          c = static_cast<std::int8_t>(code == 1000 ? static_cast<int>(rng() % 256) - 128 : code);
        }
        GuardedBuffer<std::int8_t> high(cols), low(cols);
        for (auto* half : {&high, &low}) {
          for (std::size_t c = 0; c < cols; ++c) {
            (*half)[c] = static_cast<std::int8_t>(
                value == 1000 ? static_cast<int>(rng() % 256) - 128 : value);
          }
        }
        CheckScan(codes, cols, high, low);
        CheckRow(codes.data(), cols, high);
      }
    }
  }
}

TEST_P(Screen, PutsEveryCodeInItsPlace) {
  constexpr std::size_t kCols = 512;
  GuardedBuffer<std::int8_t> high(kCols), low(kCols);
  for (std::size_t c = 0; c < kCols; ++c) {
    high[c] = static_cast<std::int8_t>(c % 251 - 125);
    low[c] = static_cast<std::int8_t>(c % 241 - 120);
  }
  std::vector<std::int8_t> codes(kRows * kCols, -128);
  for (std::size_t place = 0; place < codes.size(); place += 37) {
    codes[place] = 127;
    CheckScan(codes, kCols, high, low);
    CheckRow(codes.data() + place / kCols * kCols, kCols, high);
    codes[place] = -128;
  }
}

INSTANTIATE_TEST_SUITE_P(All, Screen, testing::ValuesIn(ScreenKernels()),
                         [](const auto& kernel) { return std::string(kernel.param->name); });

}  // namespace
}  // namespace bittern::kernels
