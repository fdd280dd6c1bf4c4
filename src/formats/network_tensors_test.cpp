// SPDX-License-Identifier: Apache-2.0
#include "formats/network_tensors.hpp"

#include <gtest/gtest.h>

#include <set>

namespace bittern::formats {
namespace {

TEST(NetworkTensors, EveryRowIsFoundByItsName) {
  for (const TensorSpec& spec : kNetworkTensors) {
    EXPECT_EQ(&SpecOf(spec.id), &spec);
    EXPECT_EQ(FindWeight(TensorName(spec.id, 17)), &spec) << spec.gguf;
  }
}

TEST(NetworkTensors, NoTwoRowsHaveAName) {
  std::set<std::string_view> gguf, hf;
  for (const TensorSpec& spec : kNetworkTensors) {
    EXPECT_TRUE(gguf.insert(spec.gguf).second) << spec.gguf;
    if (spec.id == TensorId::kPostNorm) continue;  // kFfnNorm in folders
    EXPECT_TRUE(hf.insert(spec.hf).second) << spec.hf;
  }
}

TEST(NetworkTensors, NamesSayTheLayer) {
  EXPECT_EQ(TensorName(TensorId::kAttnQ, 3), "blk.3.attn_q.weight");
  EXPECT_EQ(TensorName(TensorId::kOutput, 3), "output.weight");
  EXPECT_EQ(TensorKindName(TensorId::kAttnQ), "attn_q.weight");
  const auto named = ParseTensorName("blk.12.attn_q.bias");
  ASSERT_TRUE(named.has_value());
  EXPECT_EQ(named->spec->id, TensorId::kAttnQ);
  EXPECT_EQ(named->layer, "12");
  EXPECT_EQ(named->part, ".bias");
}

TEST(NetworkTensors, OtherNamesAreNotFound) {
  for (const char* name :
       {"", "blk.", "blk.3", "blk.3.attn_q", "blk.x.attn_q.weight", "blk..attn_q.weight",
        "attn_q.weight", "blk.3.output.weight", "blk.3.attn_qkv.bias", "blk.3.attn_q.bias",
        "blk.3.attn_q.weight.weight", "output", "token_embd.scale", "blk.3.ssm_a.weight", "ssm_a",
        "blk.3.ssm_dt"}) {
    EXPECT_EQ(FindWeight(name), nullptr) << name;
  }
}

TEST(NetworkTensors, TheArchitectureSaysWhichNormsThereAre) {
  const ArchitectureSpec& bitnet = *FindArchitecture("bitnet-b1.58");
  const ArchitectureSpec& qwen = *FindArchitecture("qwen3");
  EXPECT_TRUE(SpecOf(TensorId::kFfnSubNorm).IsOf(bitnet));
  EXPECT_FALSE(SpecOf(TensorId::kFfnSubNorm).IsOf(qwen));
  EXPECT_FALSE(SpecOf(TensorId::kAttnQNorm).IsOf(bitnet));
  EXPECT_TRUE(SpecOf(TensorId::kAttnQNorm).IsOf(qwen));
  EXPECT_TRUE(SpecOf(TensorId::kOutput).IsOf(bitnet));
}

TEST(NetworkTensors, LayersDifferWhereANetworkHasDeltaLayers) {
  const ArchitectureSpec& bonsai = *FindArchitecture("qwen35");
  EXPECT_FALSE(SpecOf(TensorId::kSsmA).IsOf(*FindArchitecture("qwen3")));
  EXPECT_TRUE(SpecOf(TensorId::kSsmA).IsOf(bonsai));
  EXPECT_TRUE(SpecOf(TensorId::kSsmA).IsOfLayer(true));
  EXPECT_FALSE(SpecOf(TensorId::kSsmA).IsOfLayer(false));
  EXPECT_FALSE(SpecOf(TensorId::kAttnQ).IsOfLayer(true));
  EXPECT_FALSE(SpecOf(TensorId::kAttnQNorm).IsOfLayer(true));
  EXPECT_TRUE(SpecOf(TensorId::kFfnDown).IsOfLayer(true));
  EXPECT_FALSE(SpecOf(TensorId::kFfnNorm).IsOf(bonsai));
  EXPECT_TRUE(SpecOf(TensorId::kPostNorm).IsOf(bonsai));
}

TEST(NetworkTensors, ExpertsStandInPlaceOfTheFeedForwardPart) {
  const ArchitectureSpec& maple = *FindArchitecture("maple");
  const ArchitectureSpec& qwen = *FindArchitecture("qwen3");
  for (const TensorId id : {TensorId::kFfnGate, TensorId::kFfnUp, TensorId::kFfnDown}) {
    EXPECT_TRUE(SpecOf(id).IsOf(qwen));
    EXPECT_FALSE(SpecOf(id).IsOf(maple));
  }
  for (const TensorId id : {TensorId::kFfnRouter, TensorId::kFfnGateExps, TensorId::kFfnUpExps,
                            TensorId::kFfnDownExps}) {
    EXPECT_FALSE(SpecOf(id).IsOf(qwen));
    EXPECT_TRUE(SpecOf(id).IsOf(maple));
  }
}

}  // namespace
}  // namespace bittern::formats
