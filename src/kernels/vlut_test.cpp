// SPDX-License-Identifier: Apache-2.0
// Every vlut kernel that this CPU can run, against a plain loop over the layout's own definition
// (quant::CodeInTile). Extremes are always among the cases: sums that are widened too late are
// right for every random input.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "base/guarded_buffer_for_test.hpp"
#include "kernels/registry.hpp"
#include "quant/layouts/tile16.hpp"

namespace bittern::kernels {
namespace {

constexpr std::size_t kVlutRows = quant::kTileRows, kVlutBlock = quant::kTileBlock;
constexpr int kVlutRandom = 1000;

struct VlutFill {
  const char* name;
  int code;  ///< of every weight; -1: random
  int act;   ///< of every activation; kVlutRandom: random
};
constexpr VlutFill kVlutFills[] = {{"random", -1, kVlutRandom},    {"plus_max", 2, 127},
                                   {"plus_min", 2, -127},          {"minus_max", 0, 127},
                                   {"minus_min", 0, -127},         {"zero_max", 1, 127},
                                   {"random_weights_max", -1, 127}};

/// Operands of one call; every buffer ends at a guard page.
struct VlutCase {
  VlutCase(std::size_t tiles_, std::size_t blocks_, std::size_t tokens_, const VlutFill& fill)
      : num_tiles(tiles_),
        num_blocks(blocks_),
        num_tokens(tokens_),
        tiles(num_tiles * quant::TileBytes(num_blocks * kVlutBlock)),
        panels((num_tokens + kPanelTokens - 1) / kPanelTokens * kPanelTokens * cols()),
        out(num_tokens * rows()),
        scratch(VlutScratch(num_tiles)) {
    std::mt19937 rng(static_cast<std::uint32_t>(tiles_ + 10 * blocks_ + 1000 * tokens_));
    std::vector<std::uint8_t> of_tile(kVlutRows * cols());
    for (std::size_t t = 0; t < num_tiles; ++t) {
      for (auto& c : of_tile) {
        c = static_cast<std::uint8_t>(fill.code < 0 ? rng() % 3 : static_cast<unsigned>(fill.code));
      }
      codes.insert(codes.end(), of_tile.begin(), of_tile.end());
      quant::PackTile(of_tile.data(), kVlutRows, cols(),
                      tiles.data() + t * quant::TileBytes(cols()));
    }
    std::fill(panels.begin(), panels.end(), std::int8_t{0});
    for (std::size_t token = 0; token < num_tokens; ++token) {
      for (std::size_t c = 0; c < cols(); ++c) {
        act(token, c) = static_cast<std::int8_t>(
            fill.act == kVlutRandom ? static_cast<int>(rng() % 255) - 127 : fill.act);
      }
    }
  }

  [[nodiscard]] std::size_t cols() const { return num_blocks * kVlutBlock; }
  [[nodiscard]] std::size_t rows() const { return num_tiles * kVlutRows; }
  std::int8_t& act(std::size_t token, std::size_t col) {
    const std::size_t panel = token / kPanelTokens * kPanelTokens * cols();
    return panels[panel + (col / 4 * kPanelTokens + token % kPanelTokens) * 4 + col % 4];
  }
  std::int32_t Expected(std::size_t token, std::size_t row) {
    std::int32_t sum = 0;
    for (std::size_t c = 0; c < cols(); ++c) sum += (codes[row * cols() + c] - 1) * act(token, c);
    return sum;
  }
  void Run(const VlutOps& ops) {
    const VlutArgs args{.tiles = tiles.data(),
                        .num_tiles = num_tiles,
                        .num_blocks = num_blocks,
                        .panels = panels.data(),
                        .num_tokens = num_tokens,
                        .out = out.data(),
                        .out_stride = rows(),
                        .scratch = scratch.data()};
    ops.gemm(&args);
  }

  std::size_t num_tiles, num_blocks, num_tokens;
  std::vector<int> codes;
  GuardedBuffer<std::uint8_t> tiles;
  GuardedBuffer<std::int8_t> panels;
  GuardedBuffer<std::int32_t> out;
  GuardedBuffer<std::uint8_t> scratch;
};

class Vlut : public testing::TestWithParam<const KernelInfo*> {
 protected:
  void SetUp() override {
    if (!Supports(GetParam()->isa)) GTEST_SKIP() << "this CPU lacks " << GetParam()->name;
  }
  const VlutOps& ops() { return *GetParam()->vlut; }
  void Check(VlutCase* c, const std::string& what) {
    c->Run(ops());
    for (std::size_t token = 0; token < c->num_tokens; ++token) {
      for (std::size_t row = 0; row < c->rows(); ++row) {
        ASSERT_EQ(c->out[token * c->rows() + row], c->Expected(token, row))
            << what << ": " << c->num_tiles << " tiles, " << c->num_blocks << " blocks, token "
            << token << " of " << c->num_tokens << ", row " << row;
      }
    }
  }
};

TEST_P(Vlut, IsExactForEveryNumberOfTokens) {
  for (std::size_t tokens = 1; tokens <= kVlutTokens; ++tokens) {
    VlutCase c(2, 3, tokens, kVlutFills[0]);
    Check(&c, "random");
  }
}

/// Kernels that take some rows in another way cut the rows by their number and that of the tokens.
TEST_P(Vlut, IsExactForEveryShareOfTheRows) {
  for (const std::size_t tiles : {3u, 7u, 16u, 25u, 40u, 67u, 112u}) {
    for (const std::size_t tokens : {1u, 8u, 13u, 16u, 17u, 24u, 27u, 32u}) {
      VlutCase c(tiles, 3, tokens, kVlutFills[0]);
      Check(&c, "random");
    }
  }
}

TEST_P(Vlut, IsExactForManyRowsAtTheExtremes) {
  for (const VlutFill& fill : kVlutFills) {
    VlutCase c(11, 112, 32, fill);
    Check(&c, fill.name);
  }
}

TEST_P(Vlut, IsExactAtTheExtremes) {
  for (const VlutFill& fill : kVlutFills) {
    // 54 blocks are 6,912 columns, 112 are 14,336: the widest rows of real models.
    for (std::size_t blocks : {1u, 2u, 3u, 4u, 20u, 54u, 112u}) {
      for (std::size_t tokens : {9u, 32u}) {
        VlutCase c(1, blocks, tokens, fill);
        Check(&c, fill.name);
      }
    }
  }
}

TEST_P(Vlut, PutsEverySingleWeightInItsPlace) {
  constexpr std::size_t kCols = 2 * kVlutBlock;
  VlutCase c(1, 2, 32, kVlutFills[5]);  // all weights zero
  for (std::size_t token = 0; token < 32; ++token) {
    for (std::size_t col = 0; col < kCols; ++col) {
      c.act(token, col) = static_cast<std::int8_t>((col + 3 * token) % 120 + 1);
    }
  }
  std::vector<std::uint8_t> codes(kVlutRows * kCols, 1);
  for (std::size_t place = 0; place < codes.size(); place += 7) {
    const int sign = place % 2 ? 1 : -1;
    codes[place] = static_cast<std::uint8_t>(1 + sign);
    quant::PackTile(codes.data(), kVlutRows, kCols, c.tiles.data());
    c.Run(ops());
    for (std::size_t token = 0; token < 32; ++token) {
      for (std::size_t row = 0; row < kVlutRows; ++row) {
        const int expected = row == place / kCols ? sign * c.act(token, place % kCols) : 0;
        ASSERT_EQ(c.out[token * kVlutRows + row], expected) << place << " " << token << " " << row;
      }
    }
    codes[place] = 1;
  }
}

TEST_P(Vlut, AgreesWithMultiplyAddsOfManyRows) {
  VlutCase c(37, 5, 27, kVlutFills[0]);
  c.Run(ops());
  const Kernels kernels = SelectKernels();
  const Tile16Ops& tile16 = kernels.tile16();
  std::vector<std::int32_t> sums(c.num_tokens, 0), out(c.num_tokens * c.rows());
  for (std::size_t token = 0; token < c.num_tokens; ++token) {
    for (std::size_t col = 0; col < c.cols(); ++col) sums[token] += c.act(token, col);
  }
  std::vector<std::uint8_t> scratch(kGemmTiles * c.num_blocks * 2048);
  for (std::size_t tile = 0; tile < c.num_tiles; ++tile) {
    tile16.gemm(c.tiles.data() + tile * quant::TileBytes(c.cols()), 1, c.num_blocks,
                c.panels.data(), sums.data(), c.num_tokens, out.data() + tile * kVlutRows, c.rows(),
                scratch.data());
  }
  EXPECT_TRUE(std::ranges::equal(out, c.out));
}

/// Scales of groups for a VlutCase, and its call with them.
struct GroupedVlutCase {
  GroupedVlutCase(VlutCase* of, std::size_t scales, std::size_t digits_of_token)
      : c(*of),
        scales_per_block(scales),
        digits(digits_of_token),
        weight_scales(c.rows() * c.num_blocks * scales),
        act_scales((c.num_tokens / digits - 1) * stride() + groups()),
        out((c.num_tokens / digits - 1) * out_stride() + c.rows()) {
    std::mt19937 rng(5);
    std::uniform_real_distribution<float> uniform(0.01f, 2.0f);
    for (float& scale : weight_scales) scale = uniform(rng);
    for (float& scale : act_scales) scale = uniform(rng);
  }

  [[nodiscard]] std::size_t groups() const { return 2 * c.num_blocks; }
  [[nodiscard]] std::size_t stride() const { return groups() + 3; }
  [[nodiscard]] std::size_t out_stride() const { return c.rows() + 5; }
  /// The definition, one product after the other.
  [[nodiscard]] float Expected(std::size_t token, std::size_t row) {
    float total = 0;
    for (std::size_t g = 0; g < groups(); ++g) {
      std::int32_t sum = 0;
      for (std::size_t col = g * kGroupCols; col < (g + 1) * kGroupCols; ++col) {
        const int first = c.act(token * digits, col);
        const int q = digits == 1 ? first : 255 * first + c.act(token * digits + 1, col);
        sum += (c.codes[row * c.cols() + col] - 1) * q;
      }
      const std::size_t scale = (row / kVlutRows * c.num_blocks + g / 2) * scales_per_block +
                                (scales_per_block == 2 ? g % 2 : 0);
      const float scaled =
          static_cast<float>(sum) * weight_scales[scale * kVlutRows + row % kVlutRows];
      total += scaled * act_scales[token * stride() + g];
    }
    return total;
  }
  void Run(const VlutOps& ops) {
    std::fill(out.begin(), out.end(), 77.0f);
    const GroupedVlutArgs args{.tiles = c.tiles.data(),
                               .num_tiles = c.num_tiles,
                               .num_blocks = c.num_blocks,
                               .weight_scales = weight_scales.data(),
                               .scales_per_block = scales_per_block,
                               .panels = c.panels.data(),
                               .act_scales = act_scales.data(),
                               .act_scales_stride = stride(),
                               .num_tokens = c.num_tokens,
                               .digits = digits,
                               .joined = joined,
                               .out = out.data(),
                               .out_stride = out_stride(),
                               .scratch = c.scratch.data()};
    ops.gemm_grouped(&args);
  }

  VlutCase& c;
  std::size_t scales_per_block, digits;
  bool joined = false;
  GuardedBuffer<float> weight_scales, act_scales, out;
};

TEST_P(Vlut, ScalesOfGroupsAreRoundedAsDefined) {
  for (const VlutFill& fill : kVlutFills) {
    for (const std::size_t tokens : {1u, 2u, 7u, 8u, 14u, 16u, 17u, 24u, 30u, 32u}) {
      const std::size_t tiles = tokens % 3 + 1, blocks = tokens % 8 == 0 ? 20 : 3;
      VlutCase c(tiles, blocks, tokens, fill);
      for (const std::size_t scales : {1u, 2u}) {
        GroupedVlutCase g(&c, scales, tokens % 2 == 0 ? scales : 1);
        g.Run(ops());
        for (std::size_t i = 0; i < g.out.size(); ++i) {  // 77 lies between the tokens' rows
          const std::size_t token = i / g.out_stride(), row = i % g.out_stride();
          ASSERT_EQ(g.out[i], row < c.rows() ? g.Expected(token, row) : 77)
              << fill.name << ": " << tokens << " vectors of " << g.digits << " digits, " << blocks
              << " blocks, token " << token << ", row " << row;
        }
      }
    }
  }
}

/// Both digits of 10 bits in one lane: the largest sums fill 16 bits but for 63 steps.
TEST_P(Vlut, JoinedDigitsAreThoseOfTheirNumber) {
  for (const VlutFill& fill : kVlutFills) {
    for (const std::size_t tokens : {1u, 3u, 4u, 7u, 8u, 15u, 16u, 17u, 25u, 31u, 32u}) {
      const std::size_t tiles = tokens % 3 + 1, blocks = tokens % 8 == 0 ? 20 : 3;
      VlutCase c(tiles, blocks, 2 * tokens, fill);
      for (std::size_t token = 0; token < tokens; ++token) {
        for (std::size_t col = 0; col < c.cols(); ++col) {
          const int first = c.act(2 * token, col);  // -127 to 127, made -511 to 511
          const int q = fill.act == kVlutRandom ? first * 4 + c.act(2 * token + 1, col) % 4
                                                : (first > 0 ? kMost10Bits : -kMost10Bits);
          const int high = static_cast<int>(std::nearbyint(q / 255.0));
          c.act(2 * token, col) = static_cast<std::int8_t>(high);
          c.act(2 * token + 1, col) = static_cast<std::int8_t>(q - 255 * high);
        }
      }
      for (const std::size_t scales : {1u, 2u}) {
        GroupedVlutCase g(&c, scales, 2);
        g.joined = true;
        g.Run(ops());
        for (std::size_t i = 0; i < g.out.size(); ++i) {  // 77 lies between the tokens' rows
          const std::size_t token = i / g.out_stride(), row = i % g.out_stride();
          ASSERT_EQ(g.out[i], row < c.rows() ? g.Expected(token, row) : 77)
              << fill.name << ": " << tokens << " tokens, " << blocks << " blocks, token " << token
              << ", row " << row;
        }
      }
    }
  }
}

std::vector<const KernelInfo*> VlutKernels() {
  std::vector<const KernelInfo*> kernels;
  for (const KernelInfo* kernel : AllKernels()) {
    if (kernel->vlut != nullptr) kernels.push_back(kernel);
  }
  return kernels;
}

INSTANTIATE_TEST_SUITE_P(Kernels, Vlut, testing::ValuesIn(VlutKernels()),
                         [](const auto& test) { return std::string(test.param->name); });

}  // namespace
}  // namespace bittern::kernels
