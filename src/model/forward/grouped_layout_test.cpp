// SPDX-License-Identifier: Apache-2.0
// Matrices whose scales differ along a row give the same bits from every layout that holds them.
#include <gtest/gtest.h>

#include <vector>

#include "kernels/registry.hpp"
#include "model/load/load_for_test.hpp"
#include "model/matrix_layout.hpp"
#include "model/one_sequence_for_test.hpp"
#include "model/weights.hpp"
#include "quant/ternary_codec.hpp"

namespace bittern::model {
namespace {

std::vector<float> LastLogits(const SmallModel& small, std::size_t num_tokens,
                              const LoadOptions& options) {
  auto pool = ThreadPool::Create(2).value();
  const Model model = load_test::LoadGood(small, pool, options);
  EXPECT_EQ(model.weights().layers[0].qkv_proj.layout, options.layout);
  std::vector<std::int32_t> tokens;
  for (std::size_t i = 0; i < num_tokens; ++i) {
    tokens.push_back(static_cast<std::int32_t>((i * 37 + 11) % SmallModel::kVocab));
  }
  OneSequence cache(model.config(), 64, KvType::kF32);
  auto state = ForwardState::Create(model, 64, 64, 2).value();
  std::vector<float> logits(SmallModel::kVocab);
  Forward(model, tokens, cache, state, pool, LogitsRows::kLast, logits);
  return logits;
}

std::vector<float> LastLogits(const SmallModel& small, std::size_t num_tokens, MatrixLayout layout,
                              const char* isa = "", BatchKernel batch = BatchKernel::kAuto) {
  LoadOptions options{.layout = layout, .batch_kernel = batch};
  options.isa = isa;
  return LastLogits(small, num_tokens, options);
}

// A tile of 48 rows is taken as it is, or three tiles are made from it (Tile48Ops::most_grouped).
TEST(GroupedLayout, Tile48GivesTheBitsOfTile16) {
  for (const char* architecture : {"bitnet-b1.58", "qwen3", "qwen35", "maple"}) {
    for (const auto codec : {quant::TernaryLayout::kQ2_0, quant::TernaryLayout::kPtq1_0}) {
      SmallModel small(architecture);
      small.Recode(quant::CodecOf(codec), [](std::size_t r, std::size_t group) {
        return 0.0625f * static_cast<float>(1 + (r + group) % 3);
      });
      for (const std::size_t tokens : {1u, 2u, 3u, 5u, 20u}) {
        const auto expected = LastLogits(small, tokens, MatrixLayout::kTile16);
        for (const char* isa : {"", "scalar"}) {
          ASSERT_EQ(LastLogits(small, tokens, MatrixLayout::kTile48, isa), expected)
              << architecture << ", " << tokens << " tokens, " << isa;
        }
      }
    }
  }
}

// The digits of a token are vectors of their own: 5 tokens of two digits are no longer a few, 16
// fill the lanes of a call, 17 begin another.
TEST(GroupedLayout, TablesAcrossTokensGiveTheBitsOfMultiplyAdds) {
  for (const char* architecture : {"bitnet-b1.58", "qwen3", "qwen35", "maple"}) {
    SmallModel small(architecture);
    small.Recode(quant::CodecOf(quant::TernaryLayout::kQ2_0), [](std::size_t r, std::size_t group) {
      return 0.0625f * static_cast<float>(1 + (r + group) % 3);
    });
    for (const std::size_t tokens : {5u, 8u, 9u, 16u, 17u, 40u, 64u}) {
      const auto expected =
          LastLogits(small, tokens, MatrixLayout::kTile16, "", BatchKernel::kTile16);
      for (const auto layout : {MatrixLayout::kTile16, MatrixLayout::kTile48}) {
        for (const char* isa : {"", "avx2", "scalar"}) {
          if (!kernels::SelectKernelsForced(isa)) continue;
          ASSERT_EQ(LastLogits(small, tokens, layout, isa, BatchKernel::kVlut), expected)
              << architecture << ", " << tokens << " tokens, " << isa;
        }
      }
    }
  }
}

// The tokens of an expert come from anywhere in the batch: one of them, a part of a panel, more
// than a call takes. By a gain that was measured, one or a few of them meet multiply-adds.
TEST(GroupedLayout, ExpertsByTablesGiveTheBitsOfMultiplyAdds) {
  constexpr double kForced = 0, kMeasured = 5;
  SmallModel small("maple");
  small.Recode(quant::CodecOf(quant::TernaryLayout::kQ2_0), [](std::size_t r, std::size_t group) {
    return 0.0625f * static_cast<float>(1 + (r + group) % 3);
  });
  for (const auto bits : {Activations::kInt8, Activations::kInt10, Activations::kInt16}) {
    for (const std::size_t tokens : {5u, 9u, 23u, 36u, 64u}) {
      LoadOptions options{.layout = MatrixLayout::kTile16, .activations = bits};
      options.batch_kernel = BatchKernel::kTile16;
      const auto expected = LastLogits(small, tokens, options);
      for (const char* isa : {"", "avx2", "scalar"}) {
        if (!kernels::SelectKernelsForced(isa)) continue;
        options.isa = isa;
        for (const double gain : {kForced, kMeasured}) {
          options.batch_kernel = gain == kForced ? BatchKernel::kVlut : BatchKernel::kAuto;
          options.grouped_vlut_gain = gain;
          ASSERT_EQ(LastLogits(small, tokens, options), expected)
              << tokens << " tokens, " << isa << ", gain " << gain;
        }
      }
    }
  }
}

}  // namespace
}  // namespace bittern::model
