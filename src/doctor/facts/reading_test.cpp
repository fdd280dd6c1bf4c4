// SPDX-License-Identifier: Apache-2.0
#include "doctor/facts/reading.hpp"

#include <gtest/gtest.h>

#include "doctor/facts/tensor_facts.hpp"

namespace bittern::doctor {
namespace {

formats::Checkpoint Open() {
  return formats::Checkpoint::Open(std::string(BITTERN_SOURCE_DIR) + "/models/kjv-5m-i2s.gguf")
      .value();
}

TEST(Reading, CodesAreMappedAndMappedBack) {
  const auto healthy = Open();
  auto file = Open();
  ASSERT_TRUE(MapCodes({2, 0, 1, 3})(&file));
  const auto* before = healthy.Find("blk.0.ffn_up.weight");
  const auto* after = file.Find("blk.0.ffn_up.weight");
  EXPECT_EQ((*CodeCounts(*after))[2], (*CodeCounts(*before))[0]);
  EXPECT_EQ((*CodeCounts(*after))[0], (*CodeCounts(*before))[1]);
  EXPECT_EQ(ScaleOf(*after), ScaleOf(*before));
  ASSERT_TRUE(MapCodes({1, 2, 0, 3})(&file));
  EXPECT_TRUE(std::ranges::equal(file.Find("blk.0.ffn_up.weight")->bytes, before->bytes));
}

TEST(Reading, TensorsAreExchanged) {
  const auto healthy = Open();
  auto file = Open();
  ASSERT_TRUE(ExchangeKinds("ffn_gate.weight", "ffn_up.weight")(&file));
  for (const char* layer : {"blk.0.", "blk.5."}) {
    const std::string prefix = layer;
    EXPECT_EQ(file.Find(prefix + "ffn_gate.weight")->file_offset,
              healthy.Find(prefix + "ffn_up.weight")->file_offset);
  }
  EXPECT_FALSE(ExchangeKinds("nothing.weight", "none.weight")(&file));
  EXPECT_FALSE(ExchangeTensors("nothing", "none")(&file));
}

TEST(Reading, ScalesAndShapes) {
  auto file = Open();
  ASSERT_TRUE(SetScale("blk.1.ffn_up.weight", 0.25f)(&file));
  EXPECT_EQ(ScaleOf(*file.Find("blk.1.ffn_up.weight")), 0.25f);
  EXPECT_FALSE(SetScale("token_embd.weight", 1)(&file));
  const auto shape = file.Find("token_embd.weight")->shape;
  const auto bytes = file.Find("token_embd.weight")->bytes;
  ASSERT_TRUE(TurnMatrix("token_embd.weight", true)(&file));
  EXPECT_EQ(file.Find("token_embd.weight")->shape[0], shape[1]);
  EXPECT_FALSE(std::ranges::equal(file.Find("token_embd.weight")->bytes, bytes));
  ASSERT_TRUE(TurnMatrix("token_embd.weight", true)(&file));
  EXPECT_TRUE(std::ranges::equal(file.Find("token_embd.weight")->bytes, bytes));
  ASSERT_TRUE(DropTensor("output_norm.weight")(&file));
  EXPECT_EQ(file.Find("output_norm.weight"), nullptr);
}

TEST(Reading, NormsMove) {
  auto file = Open();
  const double mean = *MeanOf(*file.Find("output_norm.weight"));
  ASSERT_TRUE(ChangeNorms([](float x) { return x - 1; })(&file));
  EXPECT_NEAR(*MeanOf(*file.Find("output_norm.weight")), mean - 1, 1e-6);
}

TEST(Reading, KeysAreSetWithTheTypesOfFiles) {
  auto file = Open();
  ASSERT_TRUE(SetKey("bitnet-b1.58.block_count", "int", "5")(&file));
  EXPECT_EQ(file.metadata().Find("bitnet-b1.58.block_count")->type, formats::MetaType::kU32);
  ASSERT_TRUE(SetKey("bitnet-b1.58.rope.freq_base", "float", "1e4")(&file));
  EXPECT_EQ(file.metadata().Find("bitnet-b1.58.rope.freq_base")->type, formats::MetaType::kF32);
  ASSERT_TRUE(SetKey("general.architecture", "str", "llama")(&file));
  EXPECT_NE(file.metadata().Find("llama.block_count"), nullptr);
  ASSERT_TRUE(RemoveKey("llama.block_count")(&file));
  EXPECT_EQ(file.metadata().Find("llama.block_count"), nullptr);
  EXPECT_NE(file.metadata().Find("llama.context_length"), nullptr);
  EXPECT_FALSE(RemoveKey("llama.block_count")(&file));
}

}  // namespace
}  // namespace bittern::doctor
