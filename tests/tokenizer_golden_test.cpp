// SPDX-License-Identifier: Apache-2.0
// The tokenizer of a real model file against ids that another program made: prompts, and 123 KB
// of held-out text.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "formats/checkpoint.hpp"
#include "tokenizer/detokenizer.hpp"
#include "tokenizer/tokenizer.hpp"

namespace bittern::tokenizer {
namespace {

using Ids = std::vector<TokenId>;

std::filesystem::path Shared() {
  const char* folder = std::getenv("BITTERN_SHARED");
  if (folder != nullptr) return folder;
  return std::filesystem::path(BITTERN_SOURCE_DIR) / ".." / "shared";
}

std::optional<std::string> ReadFile(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

class KjvTokenizer : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto path = Shared() / "models" / "kjv-5m" / "kjv-5m-i2s.gguf";
    if (!std::filesystem::exists(path)) GTEST_SKIP() << "no " << path;
    const auto checkpoint = formats::Checkpoint::Open(path);
    ASSERT_TRUE(checkpoint.has_value()) << checkpoint.error().message;
    auto tokenizer = Tokenizer::FromMetadata(checkpoint->metadata(), &decisions_);
    ASSERT_TRUE(tokenizer.has_value()) << tokenizer.error().message;
    // The checkpoint is closed here: a tokenizer does not view into its file.
    tokenizer_ = std::make_unique<Tokenizer>(*std::move(tokenizer));
  }

  std::unique_ptr<Tokenizer> tokenizer_;
  Decisions decisions_;
};

TEST_F(KjvTokenizer, PropertiesOfASmallLlama3Vocabulary) {
  EXPECT_EQ(tokenizer_->vocab_size(), 4096);
  EXPECT_EQ(tokenizer_->bos_id(), 4080);
  EXPECT_EQ(tokenizer_->eos_id(), 4081);
  EXPECT_TRUE(tokenizer_->IsEndOfGeneration(4081));
  EXPECT_TRUE(tokenizer_->IsEndOfGeneration(4089));
  EXPECT_EQ(tokenizer_->end_of_generation_ids().size(), 2u);
  // The file has no tokenizer.ggml.pre, which a user should see.
  ASSERT_EQ(decisions_.size(), 1u);
  EXPECT_EQ(decisions_[0].subject, "pre-tokenizer");
  EXPECT_EQ(decisions_[0].choice, "llama-bpe");
  EXPECT_TRUE(decisions_[0].notable);
}

TEST_F(KjvTokenizer, PromptsOfTheReference) {
  const auto text = ReadFile(Shared() / "golden" / "kjv-5m-greedy.json");
  if (!text) GTEST_SKIP() << "no golden/kjv-5m-greedy.json in " << Shared();
  const auto json = nlohmann::json::parse(*text);
  ASSERT_EQ(json.size(), 16u);
  for (const auto& entry : json) {
    const auto prompt = entry.at("prompt").get<std::string>();
    EXPECT_EQ(tokenizer_->Encode(prompt), entry.at("prompt_ids").get<Ids>()) << prompt;
  }
}

/// Documents are separated by an empty line; each was encoded as BOS, text, newline.
TEST_F(KjvTokenizer, HeldOutText) {
  auto text = ReadFile(Shared() / "golden" / "kjv-5m-heldout.txt");
  const auto json = ReadFile(Shared() / "golden" / "kjv-5m-heldout-ids.json");
  if (!text || !json) GTEST_SKIP() << "no golden/kjv-5m-heldout files in " << Shared();
  const Ids expected = nlohmann::json::parse(*json).get<Ids>();
  Ids ids;
  std::string decoded;
  for (std::size_t begin = 0; begin < text->size();) {
    const std::size_t end = std::min(text->find("\n\n", begin), text->size() - 1);
    const std::string document = text->substr(begin, end + 1 - begin);
    const Ids encoded = tokenizer_->Encode(document);
    EXPECT_EQ(tokenizer_->Decode(encoded), document);
    ids.insert(ids.end(), encoded.begin(), encoded.end());
    begin = end + 2;
  }
  EXPECT_EQ(ids.size(), 30'854u);
  EXPECT_EQ(ids, expected);
}

TEST_F(KjvTokenizer, StreamedContinuations) {
  const auto text = ReadFile(Shared() / "golden" / "kjv-5m-greedy.json");
  if (!text) GTEST_SKIP() << "no golden/kjv-5m-greedy.json in " << Shared();
  for (const auto& entry : nlohmann::json::parse(*text)) {
    const Ids ids = entry.at("greedy_f64").get<Ids>();
    StreamingDetokenizer stream(*tokenizer_);
    std::string streamed;
    for (const TokenId id : ids) streamed += stream.Push(id);
    streamed += stream.Finish();
    EXPECT_EQ(streamed, entry.at("text").get<std::string>());
  }
}

}  // namespace
}  // namespace bittern::tokenizer
