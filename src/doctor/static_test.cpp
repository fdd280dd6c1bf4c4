// SPDX-License-Identifier: Apache-2.0
// Faults that are seen without a run: merges out of order or missing, a matrix that does not go
// with its partners or holds nothing. A healthy file has none of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <vector>

#include "doctor/diagnose.hpp"
#include "doctor/likeness.hpp"
#include "doctor/proof.hpp"
#include "doctor/static_checks.hpp"
#include "model/small_model_for_test.hpp"

namespace bittern::doctor {
namespace {

constexpr const char* kMergesKey = "tokenizer.ggml.merges";

formats::Checkpoint OpenBuilt() {
  return formats::Checkpoint::Open(std::string(BITTERN_SOURCE_DIR) + "/models/kjv-5m-i2s.gguf")
      .value();
}

std::vector<std::string> StringsOf(const formats::Checkpoint& file, std::string_view key) {
  const auto strings = file.metadata().GetStrings(key).value().value();
  return {strings.begin(), strings.end()};
}

void SetStrings(const std::string& key, const std::vector<std::string>& strings,
                formats::Checkpoint* file) {
  file->metadata().Remove(key);
  ASSERT_TRUE(file->metadata().AddStrings(key, strings));
}

std::vector<std::string> MergesOf(const formats::Checkpoint& file) {
  return StringsOf(file, kMergesKey);
}

void SetMerges(const std::vector<std::string>& merges, formats::Checkpoint* file) {
  SetStrings(kMergesKey, merges, file);
}

/// `text` with `to` in place of `from`.
std::string Replaced(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
  return text;
}

/// "\u0120\u00e2\u0122" is a space and two bytes of another letter: with a plain space the rest is
/// in the byte alphabet still.
TEST(Vocabulary, WrongSpacesAreMended) {
  constexpr const char* kTokens = "tokenizer.ggml.tokens";
  const auto pocket =
      formats::Checkpoint::Open(std::string(BITTERN_SOURCE_DIR) + "/models/pocket-3-i2s.gguf");
  const auto healthy = StringsOf(*pocket, kTokens);
  EXPECT_TRUE(std::ranges::count(healthy, "\u0120\u00e2\u0122"));
  for (const std::string_view space : {" ", "\u2581"}) {
    auto file =
        formats::Checkpoint::Open(std::string(BITTERN_SOURCE_DIR) + "/models/pocket-3-i2s.gguf")
            .value();
    auto tokens = healthy;
    for (std::string& token : tokens) token = Replaced(token, "\u0120", space);
    SetStrings(kTokens, tokens, &file);
    const auto cures = CheckVocabulary(file);
    ASSERT_EQ(cures.size(), 1u);
    EXPECT_EQ(cures[0].finding.id, "vocabulary_spelling");
    ASSERT_TRUE(cures[0].edits[0](&file));
    EXPECT_EQ(StringsOf(file, kTokens), healthy);
  }
}

/// Tokens that are texts, with a letter that the byte alphabet has not.
TEST(Vocabulary, TextsAreSpelledInBytes) {
  constexpr const char* kTokens = "tokenizer.ggml.tokens";
  auto file = OpenBuilt();
  auto tokens = StringsOf(file, kTokens);
  ASSERT_GT(tokens.size(), 303u);
  tokens[300] = " \u20ac";
  tokens[301] = " a";
  tokens[302] = " b";
  SetStrings(kTokens, tokens, &file);
  const auto cures = CheckVocabulary(file);
  ASSERT_FALSE(cures.empty());
  ASSERT_TRUE(cures[0].edits[0](&file));
  EXPECT_EQ(StringsOf(file, kTokens)[300], "\u0120\u00e2\u0124\u00ac");
}

TEST(Merges, AreFoundAndMended) {
  const auto healthy = MergesOf(OpenBuilt());
  EXPECT_TRUE(CheckMerges(OpenBuilt()).empty());
  auto reversed = healthy, half = healthy;
  std::ranges::reverse(reversed);
  half.resize(half.size() / 2);
  for (const auto& merges : {reversed, half}) {
    auto file = OpenBuilt();
    SetMerges(merges, &file);
    const auto cures = CheckMerges(file);
    ASSERT_FALSE(cures.empty());
    for (const Cure& cure : cures) {
      EXPECT_EQ(cure.finding.id, "merges");
      ASSERT_EQ(cure.edits.size(), 1u);
      ASSERT_TRUE(cure.edits[0](&file));
    }
    EXPECT_EQ(MergesOf(file), healthy);
  }
}

TEST(Keys, GemmaIsKnownByItsNormsBehindProjections) {
  const auto said = [](const model::SmallModel& small) {
    const auto path = small.Write();
    std::string all;
    for (const Cure& cure : CheckKeys(formats::Checkpoint::Open(path).value())) {
      all += cure.finding.evidence + "\n";
    }
    std::filesystem::remove(path);
    return all;
  };
  model::SmallModel small("qwen3");
  EXPECT_EQ(said(small).find("By its tensors"), std::string::npos);
  small.AddFloats("blk.0.post_ffw_norm.weight", {model::SmallModel::kHidden}, 0.1f, 1);
  EXPECT_NE(said(small).find("By its tensors it is gemma3"), std::string::npos) << said(small);
}

/// A copy of the matrix with its codes moved by some bytes.
Edit Shift(const std::string& name, std::ptrdiff_t bytes) {
  return [=](formats::Checkpoint* file) -> Result<void> {
    std::vector<formats::Tensor> tensors(file->tensors().begin(), file->tensors().end());
    std::vector<std::vector<std::byte>> memory;
    for (formats::Tensor& tensor : tensors) {
      if (tensor.name != name) continue;
      memory.emplace_back(tensor.bytes.begin(), tensor.bytes.end());
      const auto codes = static_cast<std::ptrdiff_t>(tensor.num_elements() / 4);
      std::rotate(memory.back().begin(), memory.back().begin() + bytes,
                  memory.back().begin() + codes);
      tensor.bytes = memory.back();
    }
    file->ReplaceTensors(std::move(tensors), std::move(memory));
    return {};
  };
}

TEST(Partners, AShiftedMatrixIsNamed) {
  EXPECT_TRUE(CheckPartners(OpenBuilt()).empty());
  for (const char* kind : {"ffn_gate", "ffn_up"}) {
    auto file = OpenBuilt();
    const std::string name = std::string("blk.2.") + kind;
    ASSERT_TRUE(Shift(name + ".weight", 48)(&file));
    const auto cures = CheckPartners(file);
    ASSERT_EQ(cures.size(), 1u);
    EXPECT_EQ(cures[0].finding.id, "foreign_matrix");
    EXPECT_NE(cures[0].finding.cause.find(name), std::string::npos) << cures[0].finding.cause;
  }
}

TEST(Tensors, AMatrixOfZerosIsNamed) {
  auto file = OpenBuilt();
  ASSERT_TRUE(MapCodes(
      {1, 1, 1, 1}, [](const std::string& name) { return name == "blk.3.attn_k.weight"; })(&file));
  const auto cures = CheckTensors(file);
  ASSERT_EQ(cures.size(), 1u);
  EXPECT_EQ(cures[0].finding.id, "empty_matrix");
}

/// A probe of one text of a hundred tokens.
Probe Costing(double nats, double expected) {
  Probe probe{.texts = {}, .uniform = 8};
  probe.texts[0] = {std::vector<double>(100, nats), 300, std::vector<double>(100, expected)};
  return probe;
}

TEST(Proof, ACureGainsNearlyAllAtOnceAndEndsRight) {
  const Probe bad = Costing(5, 4), good = Costing(3, 3);
  EXPECT_EQ(DoubtAbout({{bad, good, false, {}}}, {}), "");
  // Small gains, one after the other.
  std::vector<Step> stack;
  for (double nats = 5; nats > 3.1; nats -= 0.3) {
    stack.push_back({Costing(nats, 3), Costing(nats - 0.3, 3), false, {}});
  }
  EXPECT_NE(DoubtAbout(stack, {}), "");
  // All in one step, but the model is still surer than right.
  EXPECT_NE(DoubtAbout({{bad, Costing(4, 3), false, {}}}, {}), "");
  // The part that was put right is worth nothing.
  const std::vector<PartCost> costs = {{{1, false}, Costing(3, 3), 0.0}};
  EXPECT_NE(DoubtAbout({{bad, good, false, {{1, false}}}}, costs), "");
  EXPECT_EQ(DoubtAbout({{bad, good, false, {{2, false}}}}, costs), "");
}

TEST(Verdict, HealthyIsSaidOnlyBesideAHealthyFile) {
  Diagnosis found;
  found.verdict = Verdict::kNothingFound;
  Likeness likeness;
  likeness.path = "good.gguf";
  likeness.tensors = likeness.equal = 3;
  ConfirmBy(likeness, &found);
  EXPECT_EQ(found.verdict, Verdict::kHealthy);
  found.verdict = Verdict::kNothingFound;
  likeness.unlike_keys = {{"rope.freq_base", "another"}};
  ConfirmBy(likeness, &found);
  EXPECT_EQ(found.verdict, Verdict::kNothingFound);
  found.verdict = Verdict::kIncurable;
  likeness.unlike_keys.clear();
  ConfirmBy(likeness, &found);
  EXPECT_EQ(found.verdict, Verdict::kIncurable);
}

}  // namespace
}  // namespace bittern::doctor
