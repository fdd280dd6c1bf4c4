// SPDX-License-Identifier: Apache-2.0
// Matrices whose scales differ along a row give the same bits from every layout that holds them.
#include <gtest/gtest.h>

#include <vector>

#include "model/load/load_for_test.hpp"
#include "model/matrix_layout.hpp"
#include "model/one_sequence_for_test.hpp"
#include "quant/ternary_codec.hpp"

namespace bittern::model {
namespace {

std::vector<float> LastLogits(const SmallModel& small, std::size_t num_tokens,
                              MatrixLayout layout) {
  auto pool = ThreadPool::Create(2).value();
  const Model model = load_test::LoadGood(small, pool, {.layout = layout});
  EXPECT_EQ(model.weights().layers[0].qkv_proj.layout, layout);
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

// One or two vectors meet a tile of 48 rows as it is, more of them three tiles made from it; from
// eight vectors or digits on, those are unpacked first.
TEST(GroupedLayout, Tile48GivesTheBitsOfTile16) {
  for (const char* architecture : {"bitnet-b1.58", "qwen3", "qwen35", "maple"}) {
    for (const auto codec : {quant::TernaryLayout::kQ2_0, quant::TernaryLayout::kPtq1_0}) {
      SmallModel small(architecture);
      small.Recode(quant::CodecOf(codec), [](std::size_t r, std::size_t group) {
        return 0.0625f * static_cast<float>(1 + (r + group) % 3);
      });
      for (const std::size_t tokens : {1u, 2u, 3u, 20u}) {
        ASSERT_EQ(LastLogits(small, tokens, MatrixLayout::kTile48),
                  LastLogits(small, tokens, MatrixLayout::kTile16))
            << architecture << ", " << tokens << " tokens";
      }
    }
  }
}

}  // namespace
}  // namespace bittern::model
