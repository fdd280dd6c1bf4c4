// SPDX-License-Identifier: Apache-2.0
// Every kernel for Tile48 that this CPU can run, against loops over the codes: random data and
// always the extremes; and the tiles made for batches, against the packer of tiles. New kernels are
// tested without editing this file.
#include "quant/layouts/tile48.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include "base/guarded_buffer_for_test.hpp"
#include "kernels/registry.hpp"

namespace bittern::kernels {
namespace {

using quant::kTile48Rows;
using quant::kTileRows;

std::vector<const KernelInfo*> Tile48Kernels() {
  std::vector<const KernelInfo*> kernels;
  for (const KernelInfo* kernel : AllKernels()) {
    if (kernel->tile48 != nullptr) kernels.push_back(kernel);
  }
  return kernels;
}

std::size_t Padded(std::size_t cols) { return quant::BlocksOfCols(cols) * quant::kTileBlock; }

/// A matrix of codes (rows, cols) in tiles.
struct Packed {
  Packed(const std::vector<std::uint8_t>& codes, std::size_t rows, std::size_t cols)
      : tiles(quant::Tiles48OfRows(rows) * quant::Tile48Bytes(cols)) {
    for (std::size_t row = 0; row < rows; row += kTile48Rows) {
      quant::PackTile48(codes.data() + row * cols, std::min(kTile48Rows, rows - row), cols,
                        tiles.data() + row / kTile48Rows * quant::Tile48Bytes(cols));
    }
  }
  GuardedBuffer<std::uint8_t> tiles;
};

class Tile48 : public testing::TestWithParam<const KernelInfo*> {
 protected:
  void SetUp() override {
    if (!Supports(GetParam()->isa)) GTEST_SKIP() << "this CPU lacks " << GetParam()->name;
  }

  /// Packs, multiplies by num_tokens vectors (act, act + cols, ...), compares every row; every
  /// buffer ends at a guard page.
  void Check(const std::vector<std::uint8_t>& codes, const std::vector<std::int8_t>& act,
             std::size_t rows, std::size_t num_tokens = 1) {
    const std::size_t cols = act.size() / num_tokens, tiles = quant::Tiles48OfRows(rows);
    Packed weights(codes, rows, cols);
    GuardedBuffer<std::int8_t> padded(num_tokens * Padded(cols));
    GuardedBuffer<std::int32_t> sums(num_tokens), out(num_tokens * tiles * kTile48Rows);
    for (std::size_t token = 0; token < num_tokens; ++token) {
      for (std::size_t c = 0; c < Padded(cols); ++c) {
        padded[token * Padded(cols) + c] = c < cols ? act[token * cols + c] : std::int8_t{0};
      }
      const auto first = act.begin() + static_cast<std::ptrdiff_t>(token * cols);
      sums[token] = std::accumulate(first, first + static_cast<std::ptrdiff_t>(cols), 0);
    }
    const FewArgs args{.tiles = weights.tiles.data(),
                       .num_tiles = tiles,
                       .num_blocks = quant::BlocksOfCols(cols),
                       .acts = padded.data(),
                       .act_stride = Padded(cols),
                       .num_tokens = num_tokens,
                       .act_sums = sums.data(),
                       .out = out.data(),
                       .out_stride = tiles * kTile48Rows};
    GetParam()->tile48->gemv(&args);
    for (std::size_t i = 0; i < out.size(); ++i) {
      const std::size_t token = i / (tiles * kTile48Rows), row = i % (tiles * kTile48Rows);
      std::int32_t sum = 0;
      for (std::size_t c = 0; c < cols && row < rows; ++c) {
        sum += (codes[row * cols + c] - 1) * act[token * cols + c];
      }
      ASSERT_EQ(out[i], sum) << cols << " columns, token " << token << ", row " << row;
    }
  }
};

TEST_P(Tile48, GemvIsExactOnRandomAndExtremeInputs) {
  std::mt19937 rng(1);
  // 6912 and 14336 are the widest rows of real models; the others have tails.
  for (const std::size_t cols : {4u, 100u, 128u, 640u, 2560u, 6912u, 14336u}) {
    for (const int code : {-1, 0, 1, 2}) {
      for (const int value : {1000, 127, -128, 0}) {
        const std::size_t rows = code < 0 ? 100 : 48;
        std::vector<std::uint8_t> codes(rows * cols);
        for (auto& c : codes)
          c = static_cast<std::uint8_t>(code < 0 ? static_cast<int>(rng() % 3) : code);
        std::vector<std::int8_t> act(cols);
        for (auto& a : act)
          a = static_cast<std::int8_t>(value == 1000 ? static_cast<int>(rng() % 256) - 128 : value);
        Check(codes, act, rows);
      }
    }
  }
}

TEST_P(Tile48, GemvServesSeveralTokens) {
  std::mt19937 rng(3);
  constexpr std::size_t kRows = 100, kCols = 300;
  std::vector<std::uint8_t> codes(kRows * kCols);
  for (auto& c : codes) c = static_cast<std::uint8_t>(rng() % 3);
  for (std::size_t tokens = 1; tokens <= 9; ++tokens) {
    std::vector<std::int8_t> act(tokens * kCols);
    for (auto& a : act) a = static_cast<std::int8_t>(static_cast<int>(rng() % 256) - 128);
    Check(codes, act, kRows, tokens);
  }
}

TEST_P(Tile48, GemvPutsEverySingleWeightInItsPlace) {
  constexpr std::size_t kCols = 160;
  std::vector<std::int8_t> act(kCols);
  for (std::size_t c = 0; c < kCols; ++c) act[c] = static_cast<std::int8_t>(c % 120 + 1);
  std::vector<std::uint8_t> codes(kTile48Rows * kCols, 1);
  for (std::size_t place = 0; place < codes.size(); ++place) {
    codes[place] = place % 2 == 0 ? 0 : 2;
    Check(codes, act, kTile48Rows);
    codes[place] = 1;
  }
}

TEST_P(Tile48, BecomesThreeTilesOfSixteenRows) {
  std::mt19937 rng(2);
  for (const std::size_t cols : {100u, 128u, 640u, 2560u}) {
    for (const std::size_t rows : {48u, 33u, 16u, 5u}) {
      std::vector<std::uint8_t> codes(rows * cols);
      for (auto& c : codes) c = static_cast<std::uint8_t>(rng() % 3);
      Packed weights(codes, rows, cols);
      const std::size_t bytes = quant::TileBytes(cols);
      GuardedBuffer<std::uint8_t> made(3 * bytes);
      GetParam()->tile48->to_tile16(weights.tiles.data(), quant::BlocksOfCols(cols), made.data());
      for (std::size_t row = 0; row < kTile48Rows; ++row) {
        for (std::size_t c = 0; c < Padded(cols); ++c) {
          const unsigned code = row < rows && c < cols ? codes[row * cols + c] : 1;
          ASSERT_EQ(quant::CodeInTile(made.data() + row / kTileRows * bytes, row % kTileRows, c),
                    code);
          ASSERT_EQ(quant::CodeInTile48(weights.tiles.data(), row, c), code);
        }
      }
    }
  }
}

/// Tile16's plain kernel, which tile16_test holds against the definition.
const Tile16Ops& PlainTile16() {
  return SelectKernels([](Isa isa) { return isa == Isa::scalar; }).tile16();
}

/// Activations of one token of one or two digits: groups of four, `stride` bytes apart, up to a
/// guard page.
struct GroupedActs {
  template <class Draw>
  GroupedActs(std::size_t cols, std::size_t stride, std::size_t digits, const Draw& draw)
      : values((cols / 4 - 1) * stride + 4),
        low(digits == 1 ? 0 : values.size()),
        sums(cols / kGroupCols),
        scales(cols / kGroupCols) {
    for (std::size_t c = 0; c < cols; ++c) {
      const std::size_t at = c / 4 * stride + c % 4;
      int value = draw();
      values[at] = static_cast<std::int8_t>(value);
      if (digits > 1) {
        low[at] = static_cast<std::int8_t>(draw());
        value = 255 * value + low[at];
      }
      sums[c / kGroupCols] += value;
    }
    for (std::size_t g = 0; g < scales.size(); ++g) scales[g] = 0.25f * static_cast<float>(g + 3);
  }
  [[nodiscard]] const std::int8_t* low_digits() { return low.size() == 0 ? nullptr : low.data(); }
  GuardedBuffer<std::int8_t> values, low;
  std::vector<std::int32_t> sums;
  std::vector<float> scales;
};

TEST_P(Tile48, GroupedGemmEqualsTile16) {
  std::mt19937 rng(4);
  std::uniform_real_distribution<float> uniform(0.01f, 2.0f);
  constexpr std::size_t kTiles = 2, kThirds = 3 * kTiles, kTokens = 6;
  const auto check = [&](std::size_t blocks, int code, std::size_t per_block, std::size_t stride) {
    const std::size_t digits = 1 + (per_block + stride / 32 + blocks) % 2;
    const std::size_t cols = blocks * quant::kTileBlock;
    std::vector<std::uint8_t> codes(kTiles * kTile48Rows * cols);
    for (auto& c : codes)
      c = static_cast<std::uint8_t>(code < 0 ? static_cast<int>(rng() % 3) : code);
    Packed weights(codes, kTiles * kTile48Rows, cols);
    std::vector<std::uint8_t> tiles16(kThirds * quant::TileBytes(cols));
    for (std::size_t t = 0; t < kTiles; ++t) {
      GetParam()->tile48->to_tile16(weights.tiles.data() + t * quant::Tile48Bytes(cols), blocks,
                                    tiles16.data() + 3 * t * quant::TileBytes(cols));
    }
    GuardedBuffer<float> scales(kThirds * blocks * per_block * kTileRows);
    for (std::size_t i = 0; i < scales.size(); ++i) scales[i] = uniform(rng);
    std::vector<std::unique_ptr<GroupedActs>> acts;
    for (std::size_t i = 0; i < kTokens; ++i) {
      acts.push_back(std::make_unique<GroupedActs>(cols, stride, digits, [&] {
        return code < 0 ? static_cast<int>(rng() % 256) - 128 : -128;
      }));
    }
    for (std::size_t count = 1; count <= kTokens; ++count) {
      GuardedBuffer<float> out(count * kTiles * kTile48Rows);
      std::vector<float> expected(out.size());
      std::vector<GroupedToken> tokens;
      for (std::size_t i = 0; i < count; ++i) {
        GroupedActs& of = *acts[i];
        tokens.push_back({of.values.data(), of.sums.data(), of.scales.data(),
                          out.data() + i * kTiles * kTile48Rows, of.low_digits()});
        const GroupedArgs args{.tiles = tiles16.data(),
                               .num_tiles = kThirds,
                               .num_blocks = blocks,
                               .weight_scales = scales.data(),
                               .scales_per_block = per_block,
                               .act = of.values.data(),
                               .act_stride = stride,
                               .act_sums = of.sums.data(),
                               .act_scales = of.scales.data(),
                               .out = expected.data() + i * kTiles * kTile48Rows,
                               .low = of.low_digits()};
        PlainTile16().gemv_grouped(&args);
      }
      const GroupedGemmArgs args{.tiles = weights.tiles.data(),
                                 .num_tiles = kTiles,
                                 .num_blocks = blocks,
                                 .weight_scales = scales.data(),
                                 .scales_per_block = per_block,
                                 .act_stride = stride,
                                 .tokens = tokens.data(),
                                 .num_tokens = count,
                                 .scratch = nullptr};
      GetParam()->tile48->gemm_grouped(&args);
      for (std::size_t i = 0; i < out.size(); ++i) {
        ASSERT_EQ(out[i], expected[i])
            << blocks << " blocks, code " << code << ", " << per_block << " scales, stride "
            << stride << ", " << count << " tokens of " << digits << " digits, float " << i;
      }
    }
  };
  for (const std::size_t blocks : {1u, 3u, 54u}) {
    for (const int code : {-1, 0, 2}) {
      for (const std::size_t per_block : {1u, 2u}) {
        for (const std::size_t stride : {4u, 32u}) check(blocks, code, per_block, stride);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Tile48, testing::ValuesIn(Tile48Kernels()),
                         [](const auto& kernel) { return std::string(kernel.param->name); });

}  // namespace
}  // namespace bittern::kernels
