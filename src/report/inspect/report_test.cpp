// SPDX-License-Identifier: Apache-2.0
// Findings: none for a good file in any format, and what `run` would say for every damaged one.
#include "report/inspect/report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "model/small_model_for_test.hpp"
#include "tokenizer/test_vocabulary.hpp"

namespace bittern::report {
namespace {

using model::SmallModel;
using quant::TernaryLayout;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// With a vocabulary of `tokens` tokens; the model has 300.
std::vector<std::string> Findings(const SmallModel& small, std::size_t tokens = 300) {
  const auto path = small.Write();
  auto checkpoint = formats::Checkpoint::Open(path).value();
  std::filesystem::remove(path);  // the mapping stays
  tokenizer::TestVocabulary vocabulary = tokenizer::SmallVocabulary();
  while (vocabulary.tokens.size() < tokens) {
    vocabulary.AddToken("unused" + std::to_string(vocabulary.tokens.size()), 5);
  }
  formats::Metadata& metadata = checkpoint.metadata();
  EXPECT_TRUE(metadata.AddString("tokenizer.ggml.model", *vocabulary.model));
  EXPECT_TRUE(metadata.AddStrings("tokenizer.ggml.tokens", vocabulary.tokens));
  EXPECT_TRUE(metadata.AddStrings("tokenizer.ggml.merges", vocabulary.merges));
  EXPECT_TRUE(metadata.AddInts("tokenizer.ggml.token_type", vocabulary.types));
  return MakeInspectReport(checkpoint, true).findings;
}

TEST(InspectFindings, GoodFilesHaveNone) {
  for (const auto layout : {TernaryLayout::kI2sX86, TernaryLayout::kI2sArm, TernaryLayout::kTq2_0,
                            TernaryLayout::kIq2Bn, TernaryLayout::kF16}) {
    SmallModel small;
    // A row without weights has no scale that matters in formats where rows have their own.
    if (layout != TernaryLayout::kI2sX86) small.ZeroRow("blk.0.attn_q.weight", 3);
    if (layout != TernaryLayout::kI2sX86) small.Recode(quant::CodecOf(layout));
    EXPECT_THAT(Findings(small), IsEmpty()) << quant::CodecOf(layout).name;
  }
}

TEST(InspectFindings, AllZeroTensorsInFormatsOfRowsAreGood) {
  SmallModel small;
  for (std::size_t row = 0; row < 256; ++row) small.ZeroRow("blk.0.attn_q.weight", row);
  small.Recode(quant::CodecOf(TernaryLayout::kTq2_0),
               [](std::size_t, std::size_t) { return 0.0f; });
  EXPECT_THAT(Findings(small).size(), 13u);  // the other matrices, whose scales matter
}

TEST(InspectFindings, AnAllZeroI2sTensorNeedsNoScale) {
  SmallModel small;
  small.SetScale("blk.0.attn_q.weight", 0);
  EXPECT_EQ(Findings(small).size(), 1u);
  for (std::size_t row = 0; row < 256; ++row) small.ZeroRow("blk.0.attn_q.weight", row);
  EXPECT_THAT(Findings(small), IsEmpty());
}

// Not only the first scale of a row, and not only those that a maximum would show.
TEST(InspectFindings, EveryScaleIsLookedAt) {
  for (const float bad : {NAN, INFINITY, -1.0f}) {
    SmallModel rows;
    rows.Recode(quant::CodecOf(TernaryLayout::kIq2Bn),
                [&](std::size_t r, std::size_t) { return r == 5 ? bad : 0.5f; });
    const auto by_row = Findings(rows);
    ASSERT_EQ(by_row.size(), 14u);
    for (const std::string& finding : by_row) {
      EXPECT_THAT(finding, HasSubstr("row 5, column 0: expected a finite positive scale"));
    }
    SmallModel groups;
    groups.Recode(quant::CodecOf(TernaryLayout::kQ2_0),
                  [&](std::size_t r, std::size_t g) { return r == 5 && g == 1 ? bad : 0.5f; });
    const auto by_group = Findings(groups);
    ASSERT_EQ(by_group.size(), 14u);
    EXPECT_THAT(by_group[0], HasSubstr("row 5, column 64: expected a finite positive scale"));
  }
}

TEST(InspectFindings, Code3OfQ2_0IsTwiceTheScale) {
  SmallModel small;
  small.Recode(quant::CodecOf(TernaryLayout::kQ2_0));
  small.tensors.at("blk.0.ffn_up.weight").data[2] |= std::byte{3};  // behind a block's scale
  EXPECT_THAT(Findings(small),
              ElementsAre(HasSubstr("\"blk.0.ffn_up.weight\": 1 of 131072 weights have code 3, "
                                    "twice the scale")));
}

TEST(InspectFindings, TheScaleOfATensor) {
  SmallModel small;
  small.SetScale("blk.1.ffn_up.weight", NAN);
  EXPECT_THAT(Findings(small), ElementsAre("tensor \"blk.1.ffn_up.weight\": expected a finite "
                                           "positive scale, found nan"));
}

TEST(InspectFindings, PlainFloatsAreSaidOnce) {
  SmallModel small;
  small.AddFloats("blk.0.attn_q.weight", {256, 256}, 1);
  small.AddFloats("blk.1.attn_q.weight", {256, 256}, 1);
  EXPECT_THAT(Findings(small), ElementsAre(HasSubstr("these weights are not ternary")));
}

TEST(InspectFindings, TheVocabularyMustFitTheEmbedding) {
  EXPECT_THAT(Findings(SmallModel(), 299),
              ElementsAre("tokenizer.ggml.tokens has 299 tokens, but the embedding has 300 rows"));
}

TEST(InspectFindings, WhatTheNetworkLacks) {
  SmallModel small;
  small.tensors.erase("blk.1.attn_q.weight");
  small.SetFloat("token_embd.weight", 0, NAN);
  EXPECT_THAT(Findings(small), ElementsAre(HasSubstr("1 of 300 rows hold numbers that are not"),
                                           "tensor \"blk.1.attn_q.weight\" is missing"));
}

}  // namespace
}  // namespace bittern::report
