// SPDX-License-Identifier: Apache-2.0
// Streams of tokens whose bytes are cut at every place must join to the decoded text.
#include "tokenizer/detokenizer.hpp"

#include <gtest/gtest.h>

#include <random>

#include "base/utf8.hpp"
#include "tokenizer/test_vocabulary.hpp"

namespace bittern::tokenizer {
namespace {

class Detokenizer : public ::testing::Test {
 protected:
  /// The token of each byte of `bytes`.
  [[nodiscard]] std::vector<TokenId> ByteTokens(std::string_view bytes) const {
    std::vector<TokenId> ids;
    for (const char c : bytes) {
      const TokenId id = byte_ids_[static_cast<unsigned char>(c)];
      ids.push_back(id);
    }
    return ids;
  }

  /// The output of a stream; every part must be whole characters.
  [[nodiscard]] std::string Stream(std::span<const TokenId> ids,
                                   bool render_special = false) const {
    StreamingDetokenizer detokenizer(tokenizer_, render_special);
    std::string joined;
    const auto take = [&joined](const std::string& part) {
      EXPECT_EQ(part, ReplaceInvalidUtf8(part));
      joined += part;
    };
    for (const TokenId id : ids) take(detokenizer.Push(id));
    take(detokenizer.Finish());
    EXPECT_EQ(detokenizer.Finish(), "");
    return joined;
  }

  const TestVocabulary vocabulary_ = SmallVocabulary();
  const Tokenizer tokenizer_ = vocabulary_.Build().value();
  const std::vector<TokenId> byte_ids_ = [this] {
    std::vector<TokenId> ids(256, -1);
    for (TokenId id = 0; id < 256; ++id) {
      ids[static_cast<unsigned char>(tokenizer_.TokenBytes(id)[0])] = id;
    }
    return ids;
  }();
};

TEST_F(Detokenizer, HoldsBackUntilTheCharacterIsWhole) {
  StreamingDetokenizer detokenizer(tokenizer_);
  const auto ids = ByteTokens("é😀");
  EXPECT_EQ(detokenizer.Push(ids[0]), "");
  EXPECT_EQ(detokenizer.Push(ids[1]), "é");
  EXPECT_EQ(detokenizer.Push(ids[2]), "");
  EXPECT_EQ(detokenizer.Push(ids[3]), "");
  EXPECT_EQ(detokenizer.Push(ids[4]), "");
  EXPECT_EQ(detokenizer.Push(ids[5]), "😀");
  EXPECT_EQ(detokenizer.Finish(), "");
}

TEST_F(Detokenizer, BadBytesComeOutAtOnce) {
  StreamingDetokenizer detokenizer(tokenizer_);
  const auto ids = ByteTokens("\xe2\x82z\xff\xf0\x9f");
  EXPECT_EQ(detokenizer.Push(ids[0]), "");
  EXPECT_EQ(detokenizer.Push(ids[1]), "");
  EXPECT_EQ(detokenizer.Push(ids[2]), "\ufffdz");
  EXPECT_EQ(detokenizer.Push(ids[3]), "\ufffd");
  EXPECT_EQ(detokenizer.Push(ids[4]), "");
  EXPECT_EQ(detokenizer.Push(ids[5]), "");
  EXPECT_EQ(detokenizer.Finish(), "\ufffd");
}

/// The text cut into two tokens of bytes at every place: its own vocabulary for each cut.
TEST_F(Detokenizer, TokensCutAtEveryByte) {
  const std::string text = "aé日😀\xe2\x82\xf0\x9f\x98z\xc3";
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    TestVocabulary vocabulary = SmallVocabulary();
    std::string left, right;
    AppendSpelling(std::string_view(text).substr(0, cut), &left);
    AppendSpelling(std::string_view(text).substr(cut), &right);
    const std::vector<TokenId> ids = {vocabulary.AddToken(left, 1), vocabulary.AddToken(right, 1)};
    const Tokenizer tokenizer = vocabulary.Build().value();
    StreamingDetokenizer detokenizer(tokenizer);
    std::string joined = detokenizer.Push(ids[0]);
    EXPECT_EQ(joined, ReplaceInvalidUtf8(joined));
    joined += detokenizer.Push(ids[1]);
    joined += detokenizer.Finish();
    EXPECT_EQ(joined, ReplaceInvalidUtf8(text)) << cut;
  }
}

TEST_F(Detokenizer, RandomIdsJoinToTheDecodedText) {
  std::mt19937 random(4);
  for (int i = 0; i < 20'000; ++i) {
    std::vector<TokenId> ids(random() % 40);
    for (TokenId& id : ids) {
      // A few outside the vocabulary, which give nothing.
      id = static_cast<TokenId>(random() % (vocabulary_.tokens.size() + 4)) - 2;
    }
    const bool render_special = random() % 2 == 0;
    ASSERT_EQ(Stream(ids, render_special),
              ReplaceInvalidUtf8(tokenizer_.Decode(ids, render_special)));
  }
}

TEST_F(Detokenizer, ControlTokensOnlyWhenAsked) {
  const std::vector<TokenId> ids = tokenizer_.Encode("<|eot_id|>a", {.parse_special = true});
  ASSERT_EQ(ids.size(), 3u);
  EXPECT_EQ(Stream(ids), "a");
  EXPECT_EQ(Stream(ids, true), "<|begin_of_text|><|eot_id|>a");
}

}  // namespace
}  // namespace bittern::tokenizer
