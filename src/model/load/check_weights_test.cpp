// SPDX-License-Identifier: Apache-2.0
// Checking without loading finds what loading refuses, in the same words, and what it gets wrong.
#include "model/load/check_weights.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "model/model.hpp"
#include "model/small_model_for_test.hpp"

namespace bittern::model {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

formats::Checkpoint Open(const SmallModel& small) {
  const auto path = small.Write();
  auto checkpoint = formats::Checkpoint::Open(path).value();
  std::filesystem::remove(path);  // the mapping stays
  return checkpoint;
}

std::vector<std::string> Findings(const SmallModel& small, bool read_values = true) {
  const auto checkpoint = Open(small);
  Decisions decisions;
  const auto config = ReadConfig(checkpoint, &decisions);
  if (!config) return {"config: " + config.error().message};
  return CheckWeights(checkpoint, *config, read_values, &decisions);
}

std::string WhyNotLoaded(const SmallModel& small) {
  auto pool = ThreadPool::Create(1).value();
  Decisions decisions;
  const auto model = Model::Load(Open(small), pool, &decisions);
  return model ? "loaded" : MessageAndHint(model.error());
}

/// One finding, and it is the end of what loading says after the path.
void ExpectTheWordsOfLoading(const SmallModel& small) {
  const auto findings = Findings(small);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_TRUE(WhyNotLoaded(small).ends_with(findings[0]))
      << findings[0] << "; loading: " << WhyNotLoaded(small);
}

TEST(CheckWeights, GoodModelsHaveNoFindings) {
  for (const char* architecture : {"bitnet-b1.58", "llama", "qwen3"}) {
    EXPECT_THAT(Findings(SmallModel(architecture)), IsEmpty()) << architecture;
  }
}

TEST(CheckWeights, MissingTensorsAndWrongShapes) {
  const SmallModel good;
  for (const auto& [name, tensor] : good.tensors) {
    if (name == "token_embd.weight") continue;  // the configuration's to find
    SCOPED_TRACE(name);
    SmallModel small;
    small.tensors.erase(name);
    ExpectTheWordsOfLoading(small);
    if (tensor.format == quant::WeightFormat::kI2_S) {
      small.AddTernary(name, tensor.shape[0], tensor.shape[1] + 1);
    } else {
      small.AddFloats(name, {tensor.shape[0] + 1}, 1);
    }
    ExpectTheWordsOfLoading(small);
  }
}

TEST(CheckWeights, NormsThatAreNotFinite) {
  SmallModel small;
  small.SetFloat("blk.1.ffn_sub_norm.weight", 200, NAN);
  ExpectTheWordsOfLoading(small);
}

TEST(CheckWeights, FormatsAndTensorsOfOtherNetworks) {
  SmallModel dense;
  dense.tensors["blk.0.attn_q.weight"] = {
      quant::WeightFormat::kQ4_0, {256, 256}, SmallModel::Bytes(256 * 256 / 32 * 18)};
  ExpectTheWordsOfLoading(dense);
  SmallModel fused;
  fused.tensors["blk.1.attn_qkv.weight"] = fused.tensors["blk.1.attn_q.weight"];
  fused.tensors.erase("blk.1.attn_q.weight");
  ExpectTheWordsOfLoading(fused);
  EXPECT_THAT(WhyNotLoaded(fused), HasSubstr("attn_qkv.weight\": q, k and v in one matrix"));
  SmallModel biased;
  biased.AddFloats("blk.0.attn_q.bias", {256}, 1);
  ExpectTheWordsOfLoading(biased);
}

TEST(CheckWeights, NumbersOfTheEmbeddingThatAreNotFinite) {
  for (const float value : {NAN, INFINITY, -INFINITY}) {
    SmallModel small;
    small.SetFloat("token_embd.weight", 256 * 7 + 255, value);
    small.SetFloat("token_embd.weight", 256 * 9, value);
    EXPECT_THAT(Findings(small),
                ElementsAre(AllOf(HasSubstr("\"token_embd.weight\": 2 of 300 rows"),
                                  HasSubstr("the first is row 7"))));
    EXPECT_THAT(Findings(small, false), IsEmpty());
  }
}

TEST(CheckWeights, AWrongNumberOfLayers) {
  SmallModel small;
  small.keys["block_count"] = 1;
  ExpectTheWordsOfLoading(small);
  small.keys["block_count"] = 3;
  ExpectTheWordsOfLoading(small);
  EXPECT_THAT(WhyNotLoaded(small),
              HasSubstr("blk.2.attn_norm.weight\" and others of its layer are missing; "
                        "bitnet-b1.58.block_count is 3; if that is wrong, override_kv="
                        "bitnet-b1.58.block_count=int:N corrects it"));
  small.keys["block_count"] = 100;
  const auto findings = Findings(small);
  ASSERT_EQ(findings.size(), 9u);
  EXPECT_THAT(findings.back(), HasSubstr("90 more layers of 100"));
}

}  // namespace
}  // namespace bittern::model
