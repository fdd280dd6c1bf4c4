// SPDX-License-Identifier: Apache-2.0
// Faults are planted as edits of a healthy file; each has to be told by its name.
#include "doctor/likeness.hpp"

#include <gtest/gtest.h>

#include <fstream>

namespace bittern::doctor {
namespace {

const std::string kModel = std::string(BITTERN_SOURCE_DIR) + "/models/kjv-5m-i2s.gguf";

Result<formats::Checkpoint> OpenHealthy() { return formats::Checkpoint::Open(kModel); }

Likeness Compared(const std::vector<Edit>& faults) {
  const auto ill = [&] { return OpenReading(OpenHealthy, faults); };
  auto found = CompareFiles(ill, OpenHealthy);
  EXPECT_TRUE(found) << found.error().message;
  return found ? *std::move(found) : Likeness();
}

/// The statement about the tensor or key; empty: none.
std::string Said(const std::vector<Unlike>& unlike, const std::string& name) {
  for (const Unlike& one : unlike) {
    if (one.name == name) return one.what;
  }
  return "";
}

TEST(Likeness, AFileIsLikeItself) {
  const Likeness found = Compared({});
  EXPECT_EQ(found.equal, found.tensors);
  EXPECT_TRUE(found.unlike.empty());
  EXPECT_TRUE(found.unlike_keys.empty());
  EXPECT_EQ(found.summary, "All weights and keys are those of the other file.");
}

TEST(Likeness, ScalesAreCompared) {
  const auto healthy = OpenHealthy();
  const float usual = *ScaleOf(*healthy->Find("blk.1.ffn_up.weight"));
  Likeness found = Compared({SetScale("blk.1.ffn_up.weight", 16 * usual)});
  EXPECT_EQ(found.unlike.size(), 1u);
  EXPECT_EQ(Said(found.unlike, "blk.1.ffn_up.weight"), "Its scale is 16 times the other's.");
  const float gate = *ScaleOf(*healthy->Find("blk.0.attn_q.weight"));
  found = Compared({SetScale("blk.1.ffn_up.weight", gate)});
  EXPECT_NE(Said(found.unlike, "blk.1.ffn_up.weight").find("the scale of blk.0.attn_q.weight"),
            std::string::npos);
  // bf16 keeps so much
  found = Compared({SetScale("blk.1.ffn_up.weight", 1.003f * usual)});
  EXPECT_TRUE(found.unlike.empty());
}

TEST(Likeness, ExchangedTensorsAreFound) {
  const Likeness found =
      Compared({ExchangeTensors("blk.2.ffn_gate.weight", "blk.2.ffn_up.weight")});
  EXPECT_EQ(found.unlike.size(), 2u);
  EXPECT_EQ(Said(found.unlike, "blk.2.ffn_gate.weight"),
            "It holds the weights of blk.2.ffn_up.weight.");
}

TEST(Likeness, CodesThatMeanSomethingElse) {
  const Likeness found = Compared({MapCodes({2, 1, 0, 3})});
  EXPECT_EQ(Said(found.unlike, "blk.0.attn_q.weight"),
            "Its weights mean something else: -1 here is 1 there, 1 here is -1 there.");
}

TEST(Likeness, AnotherLayoutIsFound) {
  // The file says nothing true of its layout: only the weights tell.
  const auto ill = [] {
    return OpenReading(OpenHealthy, {SetKey("ternary.layout", "str", "arm-64")});
  };
  const auto found = CompareFiles(ill, OpenHealthy);
  ASSERT_TRUE(found);
  EXPECT_NE(Said(found->unlike, "ternary.layout").find("x86-128"), std::string::npos);
  EXPECT_EQ(found->equal, found->tensors);
}

TEST(Likeness, NormsAndShapes) {
  Likeness found = Compared({ChangeNorms([](float x) { return x - 1; })});
  EXPECT_EQ(Said(found.unlike, "output_norm.weight"), "Each of its numbers is 1 less.");
  found = Compared({TurnMatrix("token_embd.weight", true)});
  EXPECT_NE(Said(found.unlike, "token_embd.weight").find("lies on its side"), std::string::npos);
  found = Compared({DropTensor("blk.0.ffn_norm.weight")});
  EXPECT_NE(Said(found.unlike, "blk.0.ffn_norm.weight").find("missing"), std::string::npos);
}

TEST(Likeness, KeysAreCompared) {
  Likeness found = Compared({SetKey("bitnet-b1.58.rope.freq_base", "float", "1e6")});
  EXPECT_TRUE(found.unlike.empty());
  EXPECT_EQ(Said(found.unlike_keys, "*.rope.freq_base"), "1000000 here, 10000 there.");
  found = Compared({SetKey("general.architecture", "str", "bitnet")});
  EXPECT_EQ(found.unlike_keys.size(), 1u);
  found = Compared({RemoveKey("tokenizer.ggml.eos_token_id")});
  EXPECT_NE(Said(found.unlike_keys, "tokenizer.ggml.eos_token_id").find("Missing"),
            std::string::npos);
}

TEST(Likeness, OtherModelsHaveNothingInCommon) {
  const auto pocket = [] {
    return formats::Checkpoint::Open(std::string(BITTERN_SOURCE_DIR) +
                                     "/models/pocket-8m-i2s.gguf");
  };
  const auto found = CompareFiles(pocket, OpenHealthy);
  ASSERT_TRUE(found);  // names in common, shapes not
  EXPECT_EQ(found->equal, 0u);
}

}  // namespace
}  // namespace bittern::doctor
