// SPDX-License-Identifier: Apache-2.0
#include "formats/architecture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace bittern::formats {
namespace {

TEST(Architecture, NamesAreUniqueAndFound) {
  std::set<std::string_view> names;
  for (const ArchitectureSpec& row : Architectures()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_EQ(FindArchitecture(row.name), &row);
  }
  EXPECT_EQ(FindArchitecture("gemma"), nullptr);
  EXPECT_EQ(FindArchitecture(""), nullptr);
}

TEST(Architecture, TheOtherActivationIsARowThatDiffersInNothingElse) {
  for (const ArchitectureSpec& row : Architectures()) {
    if (row.other_activation.empty()) continue;
    const ArchitectureSpec* other = FindArchitecture(row.other_activation);
    ASSERT_NE(other, nullptr) << row.name;
    EXPECT_NE(other->activation, row.activation) << row.name;
    EXPECT_EQ(other->sub_norms, row.sub_norms) << row.name;
    EXPECT_EQ(other->head_norms, row.head_norms) << row.name;
    EXPECT_EQ(other->permuted_qk, row.permuted_qk) << row.name;
    EXPECT_EQ(other->hf_classes, row.hf_classes) << row.name;
  }
}

TEST(Architecture, AClassAndItsActivationNameARow) {
  const auto name = [](std::string_view hf_class, std::string_view hidden_act) {
    return ArchitectureOfClass(hf_class, hidden_act).value()->name;
  };
  EXPECT_EQ(name("BitNetForCausalLM", "relu2"), "bitnet-b1.58");
  EXPECT_EQ(name("BitnetForCausalLM", "relu2"), "bitnet-b1.58");
  EXPECT_EQ(name("BitNetForCausalLM", "silu"), "bitnet");
  EXPECT_EQ(name("BitNetForCausalLM", "gelu"), "bitnet-b1.58");
  EXPECT_EQ(name("LlamaForCausalLM", "silu"), "llama");
  EXPECT_EQ(name("Qwen3ForCausalLM", ""), "qwen3");
}

TEST(Architecture, UnknownClassesAreRefusedWithTheKnownOnes) {
  for (const std::string_view hf_class : {"GemmaForCausalLM", ""}) {
    const auto row = ArchitectureOfClass(hf_class, "silu");
    ASSERT_FALSE(row);
    EXPECT_THAT(row.error().message,
                testing::HasSubstr("BitNetForCausalLM, BitnetForCausalLM, "
                                   "LlamaForCausalLM, Qwen3ForCausalLM, Qwen3Model, "
                                   "Gemma3TextModel, Gemma3ForCausalLM, "
                                   "Qwen3_5ForConditionalGeneration, "
                                   "Qwen3_5ForCausalLM, MapleForCausalLM, Qwen3MoeForCausalLM, "
                                   "HunYuanDenseV1ForCausalLM, "
                                   "MiniCPMForCausalLM"));
  }
}

}  // namespace
}  // namespace bittern::formats
