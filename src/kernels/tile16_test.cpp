// SPDX-License-Identifier: Apache-2.0
// Every tile16 kernel that this CPU can run, against a three-line loop over the layout's own
// definition (quant::CodeInTile): random data and always the extremes, since a too narrow
// accumulator passes every random test. New kernels are tested without editing this file.
#include "quant/layouts/tile16.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "base/guarded_buffer_for_test.hpp"
#include "kernels/registry.hpp"
#include "quant/i2s.hpp"

namespace bittern::kernels {
namespace {

constexpr std::size_t kTile16Rows = quant::kTileRows, kBlock = quant::kTileBlock;

std::vector<const KernelInfo*> Tile16Kernels() {
  std::vector<const KernelInfo*> kernels;
  for (const KernelInfo* kernel : AllKernels()) {
    if (kernel->tile16 != nullptr) kernels.push_back(kernel);
  }
  return kernels;
}

/// How a test fills weights and activations. -1 in code, kRandom in act: random.
struct Fill {
  const char* name;
  int code;
  int act;
};
constexpr int kRandom = 1000;
constexpr Fill kFills[] = {
    {"random", -1, kRandom},         {"plus_max", 2, 127},
    {"plus_min", 2, -128},           {"minus_max", 0, 127},
    {"minus_min", 0, -128},          {"zero_max", 1, 127},
    {"random_weights_max", -1, 127}, {"random_weights_min", -1, -128},
};

/// Weights and activations of one case; every buffer ends at a guard page.
struct Case {
  Case(std::size_t tiles, std::size_t blocks, std::size_t tokens, const Fill& fill,
       std::uint32_t seed)
      : num_tiles(tiles),
        num_blocks(blocks),
        num_tokens(tokens),
        weights(tiles * blocks * quant::kTileBlockBytes),
        act(tokens * blocks * kBlock) {
    std::mt19937 rng(seed);
    const std::size_t cols = blocks * kBlock;
    std::vector<std::uint8_t> codes(kTile16Rows * cols);
    std::vector<std::byte> packed(codes.size() / 4);
    for (std::size_t t = 0; t < tiles; ++t) {
      for (auto& c : codes) c = static_cast<std::uint8_t>(fill.code < 0 ? rng() % 3 : fill.code);
      quant::PackI2s(codes, packed);
      quant::RepackI2sTile(packed.data(), kTile16Rows, blocks,
                           weights.data() + t * quant::TileBytes(cols));
    }
    for (auto& a : act) a = static_cast<std::int8_t>(fill.act == kRandom ? rng() : fill.act);
  }

  std::int32_t ActSum(std::size_t token) {
    std::int32_t sum = 0;
    for (std::size_t c = 0; c < cols(); ++c) sum += act[token * cols() + c];
    return sum;
  }
  /// The three-line loop.
  std::int32_t Expected(std::size_t token, std::size_t row) {
    const std::uint8_t* tile = weights.data() + row / kTile16Rows * quant::TileBytes(cols());
    std::int32_t sum = 0;
    for (std::size_t c = 0; c < cols(); ++c) {
      sum += (static_cast<int>(quant::CodeInTile(tile, row % kTile16Rows, c)) - 1) *
             act[token * cols() + c];
    }
    return sum;
  }
  [[nodiscard]] std::size_t cols() const { return num_blocks * kBlock; }
  [[nodiscard]] std::size_t rows() const { return num_tiles * kTile16Rows; }

  std::size_t num_tiles, num_blocks, num_tokens;
  GuardedBuffer<std::uint8_t> weights;
  GuardedBuffer<std::int8_t> act;
};

/// Sums of all tokens, `stride` apart; what lies between them is 77.
std::vector<std::int32_t> RunGemv(const Tile16Ops& ops, Case& c, std::size_t stride) {
  GuardedBuffer<std::int32_t> out((c.num_tokens - 1) * stride + c.rows()), sums(c.num_tokens);
  for (auto& value : out) value = 77;
  for (std::size_t token = 0; token < c.num_tokens; ++token) sums[token] = c.ActSum(token);
  const FewArgs args{.tiles = c.weights.data(),
                     .num_tiles = c.num_tiles,
                     .num_blocks = c.num_blocks,
                     .acts = c.act.data(),
                     .act_stride = c.cols(),
                     .num_tokens = c.num_tokens,
                     .act_sums = sums.data(),
                     .out = out.data(),
                     .out_stride = stride};
  ops.gemv(&args);
  return {out.begin(), out.end()};
}

/// Panels as kernel.h draws them: [panel][column / 4][8 tokens][4 columns].
void FillPanels(Case& c, GuardedBuffer<std::int8_t>& panels) {
  for (std::size_t token = 0; token < c.num_tokens; ++token) {
    for (std::size_t col = 0; col < c.cols(); ++col) {
      const std::size_t panel = token / kPanelTokens * kPanelTokens * c.cols();
      panels[panel + (col / 4 * kPanelTokens + token % kPanelTokens) * 4 + col % 4] =
          c.act[token * c.cols() + col];
    }
  }
}

class Tile16 : public testing::TestWithParam<const KernelInfo*> {
 protected:
  void SetUp() override {
    if (!Supports(GetParam()->isa)) GTEST_SKIP() << "this CPU lacks " << GetParam()->name;
  }
  const Tile16Ops& ops() { return *GetParam()->tile16; }
};

TEST_P(Tile16, GemvIsExactOnRandomAndExtremeInputs) {
  for (const Fill& fill : kFills) {
    for (std::size_t tiles : {1u, 3u}) {
      // 54 blocks are 6912 columns, 112 are 14336: the widest rows of real models.
      for (std::size_t blocks : {1u, 2u, 3u, 20u, 54u, 112u}) {
        Case c(tiles, blocks, 1, fill, static_cast<std::uint32_t>(blocks));
        const auto out = RunGemv(ops(), c, c.rows());
        for (std::size_t row = 0; row < c.rows(); ++row) {
          ASSERT_EQ(out[row], c.Expected(0, row)) << fill.name << " " << blocks << " row " << row;
        }
      }
    }
  }
}

TEST_P(Tile16, GemvPutsEverySingleWeightInItsPlace) {
  constexpr std::size_t kBlocks = 2, kCols = kBlocks * kBlock;
  Case c(1, kBlocks, 1, kFills[5], 1);
  std::vector<std::uint8_t> codes(kTile16Rows * kCols, 1);
  std::vector<std::byte> packed(codes.size() / 4);
  for (std::size_t col = 0; col < kCols; ++col)
    c.act[col] = static_cast<std::int8_t>(col % 120 + 1);
  for (std::size_t place = 0; place < codes.size(); ++place) {
    codes[place] = place % 2 ? 2 : 0;
    quant::PackI2s(codes, packed);
    quant::RepackI2sTile(packed.data(), kTile16Rows, kBlocks, c.weights.data());
    const auto out = RunGemv(ops(), c, kTile16Rows);
    for (std::size_t row = 0; row < kTile16Rows; ++row) {
      const int sign = place % 2 ? 1 : -1;
      ASSERT_EQ(out[row], row == place / kCols ? sign * c.act[place % kCols] : 0) << place;
    }
    codes[place] = 1;
  }
}

TEST_P(Tile16, GemvOfAFewIsExactForEveryNumberOfThem) {
  for (const Fill& fill : kFills) {
    for (std::size_t tokens = 2; tokens <= 9; ++tokens) {
      const std::size_t tiles = tokens % 2 + 1, blocks = tokens % 3 == 0 ? 54 : 3;
      Case c(tiles, blocks, tokens, fill, static_cast<std::uint32_t>(tokens));
      const std::size_t stride = c.rows() + 5;
      const auto out = RunGemv(ops(), c, stride);
      for (std::size_t i = 0; i < out.size(); ++i) {
        const std::size_t token = i / stride, row = i % stride;
        ASSERT_EQ(out[i], row < c.rows() ? c.Expected(token, row) : 77)
            << fill.name << " tokens " << tokens << " token " << token << " row " << row;
      }
    }
  }
}

TEST_P(Tile16, GemmIsExactForEveryBatchSizeAndFill) {
  for (const Fill& fill : kFills) {
    for (std::size_t tokens : {1u, 2u, 3u, 4u, 5u, 6u, 7u, 8u, 9u, 15u, 16u, 17u, 33u}) {
      for (std::size_t tiles = 1; tiles <= kGemmTiles; ++tiles) {
        const std::size_t blocks = tokens % 3 == 0 ? 54 : 3;
        Case c(tiles, blocks, tokens, fill, static_cast<std::uint32_t>(tokens));
        const std::size_t padded = (tokens + kPanelTokens - 1) / kPanelTokens * kPanelTokens;
        GuardedBuffer<std::int8_t> panels(padded * c.cols());
        FillPanels(c, panels);
        GuardedBuffer<std::int32_t> sums(tokens);
        for (std::size_t t = 0; t < tokens; ++t) sums[t] = c.ActSum(t);
        const std::size_t stride = c.rows() + 5;  // canaries between the tokens' rows
        GuardedBuffer<std::int32_t> out((tokens - 1) * stride + c.rows());
        for (auto& value : out) value = 77;
        GuardedBuffer<std::uint8_t> scratch(kGemmTiles * blocks * 2048);
        ops().gemm(c.weights.data(), tiles, blocks, panels.data(), sums.data(), tokens, out.data(),
                   stride, scratch.data());
        for (std::size_t i = 0; i < out.size(); ++i) {
          const std::size_t token = i / stride, row = i % stride;
          ASSERT_EQ(out[i], row < c.rows() ? c.Expected(token, row) : 77)
              << fill.name << " tokens " << tokens << " token " << token << " row " << row;
        }
      }
    }
  }
}

/// A matrix with scales of groups, and what each token brings to it. The digits of a token are
/// neighbouring vectors.
struct GroupedCase {
  GroupedCase(std::size_t tiles, std::size_t blocks, std::size_t scales, std::size_t tokens,
              std::size_t digits_of_token, const Fill& fill)
      : c(tiles, blocks, tokens * digits_of_token, fill,
          static_cast<std::uint32_t>(blocks + tokens)),
        scales_per_block(scales),
        digits(digits_of_token),
        weight_scales(tiles * blocks * scales * kTile16Rows),
        act_scales(tokens * groups()),
        act_sums(tokens * groups()),
        panels((c.num_tokens + kPanelTokens - 1) / kPanelTokens * kPanelTokens * c.cols()) {
    std::mt19937 rng(5);
    std::uniform_real_distribution<float> uniform(0.01f, 2.0f);
    for (float& scale : weight_scales) scale = uniform(rng);
    for (float& scale : act_scales) scale = uniform(rng);
    for (std::size_t i = 0; i < tokens * c.cols(); ++i) {
      act_sums[i / c.cols() * groups() + i % c.cols() / kGroupCols] +=
          Q(i / c.cols(), i % c.cols());
    }
    FillPanels(c, panels);
  }

  [[nodiscard]] std::size_t groups() const { return c.num_blocks * 2; }
  [[nodiscard]] std::int32_t Q(std::size_t token, std::size_t col) {
    const std::int8_t* first = c.act.data() + token * digits * c.cols() + col;
    return digits == 1 ? *first : 255 * *first + first[c.cols()];
  }
  /// The definition, one product after the other.
  [[nodiscard]] float Expected(std::size_t token, std::size_t row) {
    const std::uint8_t* tile = c.weights.data() + row / kTile16Rows * quant::TileBytes(c.cols());
    float out = 0;
    for (std::size_t g = 0; g < groups(); ++g) {
      std::int32_t sum = 0;
      for (std::size_t col = g * kGroupCols; col < (g + 1) * kGroupCols; ++col) {
        sum +=
            (static_cast<int>(quant::CodeInTile(tile, row % kTile16Rows, col)) - 1) * Q(token, col);
      }
      const std::size_t scale = (row / kTile16Rows * c.num_blocks + g / 2) * scales_per_block +
                                (scales_per_block == 2 ? g % 2 : 0);
      const float scaled =
          static_cast<float>(sum) * weight_scales[scale * kTile16Rows + row % kTile16Rows];
      out += scaled * act_scales[token * groups() + g];
    }
    return out;
  }
  /// plain: the vector of a token's digit; else its place in a panel.
  const std::int8_t* Act(std::size_t token, std::size_t digit, bool plain) {
    const std::size_t vector = token * digits + digit;
    if (plain) return c.act.data() + vector * c.cols();
    return panels.data() + vector / kPanelTokens * kPanelTokens * c.cols() +
           vector % kPanelTokens * 4;
  }
  const std::int8_t* Low(std::size_t token, bool plain) {
    return digits == 1 ? nullptr : Act(token, 1, plain);
  }

  Case c;
  std::size_t scales_per_block, digits;
  std::vector<float> weight_scales, act_scales;
  std::vector<std::int32_t> act_sums;
  GuardedBuffer<std::int8_t> panels;
};

TEST_P(Tile16, GroupedGemvEqualsItsDefinition) {
  for (const Fill& fill : kFills) {
    for (const std::size_t blocks : {1u, 2u, 3u, 54u}) {
      for (const std::size_t scales : {1u, 2u}) {
        GroupedCase g(2, blocks, scales, 4, blocks % 2 + 1, fill);
        for (const bool plain : {true, false}) {
          constexpr std::size_t kToken = 3;
          GuardedBuffer<float> out(g.c.rows());
          const GroupedArgs args{g.c.weights.data(),
                                 2,
                                 blocks,
                                 g.weight_scales.data(),
                                 scales,
                                 g.Act(kToken, 0, plain),
                                 plain ? 4u : 32u,
                                 g.act_sums.data() + kToken * g.groups(),
                                 g.act_scales.data() + kToken * g.groups(),
                                 out.data(),
                                 g.Low(kToken, plain)};
          ops().gemv_grouped(&args);
          for (std::size_t row = 0; row < g.c.rows(); ++row) {
            ASSERT_EQ(out[row], g.Expected(kToken, row))
                << fill.name << " row " << row << ", " << g.digits << " digits";
          }
        }
      }
    }
  }
}

TEST_P(Tile16, GroupedGemmEqualsItsDefinition) {
  for (const Fill& fill : kFills) {
    for (const std::size_t tokens : {1u, 2u, 3u, 4u, 5u, 6u, 7u, 8u, 9u, 18u}) {
      const std::size_t tiles = tokens % 5 + 1, blocks = tokens % 4 == 0 ? 20 : 3;
      for (const std::size_t scales : {1u, 2u}) {
        GroupedCase g(tiles, blocks, scales, tokens, tokens < 6 ? 3 - scales : scales, fill);
        for (const bool plain : {true, false}) {
          const std::size_t stride = g.c.rows() + 5;  // canaries between the tokens' rows
          GuardedBuffer<float> out((tokens - 1) * stride + g.c.rows());
          for (float& value : out) value = 77;
          std::vector<GroupedToken> each;
          for (std::size_t i = 0; i < tokens; ++i) {  // last token first: any order will do
            const std::size_t token = tokens - 1 - i;
            each.push_back({g.Act(token, 0, plain), g.act_sums.data() + token * g.groups(),
                            g.act_scales.data() + token * g.groups(), out.data() + token * stride,
                            g.Low(token, plain)});
          }
          GuardedBuffer<std::uint8_t> scratch(kGemmTiles * blocks * 2048);
          const GroupedGemmArgs args{
              g.c.weights.data(), tiles,       blocks, g.weight_scales.data(), scales,
              plain ? 4u : 32u,   each.data(), tokens, scratch.data()};
          ops().gemm_grouped(&args);
          for (std::size_t i = 0; i < out.size(); ++i) {
            const std::size_t token = i / stride, row = i % stride;
            ASSERT_EQ(out[i], row < g.c.rows() ? g.Expected(token, row) : 77)
                << fill.name << " tokens " << tokens << " token " << token << " row " << row;
          }
        }
      }
    }
  }
}

std::string Tile16Name(const testing::TestParamInfo<const KernelInfo*>& info) {
  return info.param->name;
}
INSTANTIATE_TEST_SUITE_P(All, Tile16, testing::ValuesIn(Tile16Kernels()), Tile16Name);

TEST(Registry, EveryOperationHasAScalarKernelAndTheBestComesFirst) {
  const auto scalar_only = SelectKernels([](Isa isa) { return isa == Isa::scalar; });
  ASSERT_NE(scalar_only.tile16_info, nullptr);
  ASSERT_NE(scalar_only.float32_info, nullptr);
  EXPECT_STREQ(scalar_only.tile16_info->name, "tile16_scalar");
  const auto best = SelectKernels([](Isa) { return true; });
  EXPECT_EQ(best.tile16_info, AllKernels()[0]);
}

TEST(Registry, ForcedIsaIsObeyedOrRefusedByName) {
  EXPECT_EQ(SelectKernelsForced("scalar").value().tile16_info->isa, Isa::scalar);
  EXPECT_EQ(SelectKernelsForced("").value().tile16_info, SelectKernels().tile16_info);
  const auto error = SelectKernelsForced("mmx").error();
  EXPECT_EQ(error.code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(error.message, testing::HasSubstr("mmx"));
  EXPECT_THAT(error.message, testing::HasSubstr("scalar"));
  for (Isa isa : AllIsas()) {
    const auto forced = SelectKernelsForced(IsaName(isa));
    EXPECT_EQ(forced.has_value(), Supports(isa)) << IsaName(isa);
    if (!forced) continue;
    const auto infos = {forced->tile16_info, forced->float32_info, forced->tl1_info,
                        forced->tl2_info,    forced->sparse_info,  forced->screen_info,
                        forced->tile48_info};
    for (const KernelInfo* info : infos) EXPECT_GE(info->isa, isa) << info->name;
    EXPECT_TRUE(std::ranges::any_of(infos, [&](auto* info) { return info->isa == isa; }))
        << IsaName(isa) << ": no kernel of its own was chosen";
  }
}

}  // namespace
}  // namespace bittern::kernels
