// SPDX-License-Identifier: Apache-2.0
// A Tokenizer with text and ids, on a small vocabulary.
#include "tokenizer/tokenizer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "base/utf8.hpp"
#include "tokenizer/test_vocabulary.hpp"
#include "tokenizer/token_text.hpp"

namespace bittern::tokenizer {
namespace {

/// A copy, since googletest 1.11 has no ElementsAre for spans.
std::vector<TokenId> EndIds(const Tokenizer& tokenizer) {
  const auto ids = tokenizer.end_of_generation_ids();
  return {ids.begin(), ids.end()};
}

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;

constexpr EncodeOptions kPlainEncode = {.add_bos = false};
constexpr EncodeOptions kSpecial = {.add_bos = false, .parse_special = true};

class SmallTokenizer : public ::testing::Test {
 protected:
  [[nodiscard]] TokenId Named(std::string_view spelling) const {
    const auto found = std::ranges::find(vocabulary_.tokens, spelling);
    return static_cast<TokenId>(found - vocabulary_.tokens.begin());
  }

  const TestVocabulary vocabulary_ = SmallVocabulary();
  const Tokenizer tokenizer_ = vocabulary_.Build().value();
  const TokenId bos_ = Named("<|begin_of_text|>");
  const TokenId eot_ = Named("<|eot_id|>");
};

TEST_F(SmallTokenizer, Properties) {
  EXPECT_EQ(tokenizer_.vocab_size(), static_cast<int>(vocabulary_.tokens.size()));
  EXPECT_EQ(tokenizer_.bos_id(), bos_);
  EXPECT_EQ(tokenizer_.eos_id(), Named("<|end_of_text|>"));
  EXPECT_TRUE(tokenizer_.adds_bos());
  EXPECT_TRUE(tokenizer_.IsControl(eot_));
  EXPECT_FALSE(tokenizer_.IsControl(0));
  EXPECT_FALSE(tokenizer_.IsControl(-1));
  EXPECT_FALSE(tokenizer_.IsControl(tokenizer_.vocab_size()));
}

TEST_F(SmallTokenizer, BosOnce) {
  const TokenId hello = Named("hello");
  EXPECT_THAT(tokenizer_.Encode("hello"), ElementsAre(bos_, hello));
  EXPECT_THAT(tokenizer_.Encode(""), ElementsAre(bos_));
  EXPECT_THAT(tokenizer_.Encode("", kPlainEncode), IsEmpty());
  EXPECT_THAT(tokenizer_.Encode("<|begin_of_text|>hello", {.parse_special = true}),
              ElementsAre(bos_, hello));
  EXPECT_THAT(tokenizer_.Encode("<|begin_of_text|>hello", kSpecial), ElementsAre(bos_, hello));
  // Only a BOS at the very start is the one that would be added.
  EXPECT_THAT(tokenizer_.Encode("hello<|begin_of_text|>", {.parse_special = true}),
              ElementsAre(bos_, hello, bos_));
  EXPECT_THAT(tokenizer_.Encode("<|begin_of_text|><|begin_of_text|>", {.parse_special = true}),
              ElementsAre(bos_, bos_));
}

TEST_F(SmallTokenizer, BosOnlyIfTheFileWantsIt) {
  TestVocabulary vocabulary = vocabulary_;
  vocabulary.add_bos = false;
  EXPECT_THAT(vocabulary.Build()->Encode("hello"), ElementsAre(Named("hello")));
  vocabulary.add_bos.reset();  // LLaMA-3's default
  EXPECT_THAT(vocabulary.Build()->Encode("hello"), ElementsAre(bos_, Named("hello")));
}

TEST_F(SmallTokenizer, SpecialsAreTextUnlessAsked) {
  EXPECT_THAT(tokenizer_.Encode("<|eot_id|>", kSpecial), ElementsAre(eot_));
  const auto plain = tokenizer_.Encode("<|eot_id|>", kPlainEncode);
  EXPECT_GT(plain.size(), 1u);
  for (const TokenId id : plain) EXPECT_FALSE(tokenizer_.IsControl(id));
  EXPECT_EQ(tokenizer_.Decode(plain), "<|eot_id|>");
  // Parts of a name are text in any case.
  const std::string_view part = "<|eot_id|<|eot_i";
  EXPECT_EQ(tokenizer_.Encode(part, kSpecial), tokenizer_.Encode(part, kPlainEncode));
}

/// A control token whose name the pre-tokenizer takes as one piece must not slip in as text.
TEST_F(SmallTokenizer, ControlTokensNeverComeFromPlainText) {
  TestVocabulary vocabulary = SmallVocabulary();
  const TokenId marker = vocabulary.AddToken("<||>", 3);
  const Tokenizer tokenizer = vocabulary.Build().value();
  EXPECT_THAT(tokenizer.Encode("<||>", kSpecial), ElementsAre(marker));
  EXPECT_THAT(tokenizer.Encode("<||>", kPlainEncode), Each(testing::Ne(marker)));
}

TEST_F(SmallTokenizer, LeftmostThenLongestSpecialWins) {
  TestVocabulary vocabulary = SmallVocabulary();
  const TokenId x = vocabulary.AddToken("<x>", 3);
  const TokenId xy = vocabulary.AddToken("<x>y", 3);
  const TokenId y_open = vocabulary.AddToken("y<", 3);
  const TokenId twin = vocabulary.AddToken("<x>", 3);
  const Tokenizer tokenizer = vocabulary.Build().value();
  EXPECT_THAT(tokenizer.Encode("<x><x>y", kSpecial), ElementsAre(x, xy));
  EXPECT_THAT(tokenizer.Encode("<x>y<x>", kSpecial), ElementsAre(xy, x));
  EXPECT_THAT(tokenizer.Encode("y<<x>", kSpecial), ElementsAre(y_open, x));
  EXPECT_EQ(tokenizer.Decode(std::vector<TokenId>{twin}, true), "<x>");
}

TEST_F(SmallTokenizer, UserDefinedTokensAreAlwaysWhole) {
  TestVocabulary vocabulary = SmallVocabulary();
  const TokenId tool = vocabulary.AddToken("[tool use]", 4);
  const Tokenizer tokenizer = vocabulary.Build().value();
  EXPECT_THAT(tokenizer.Encode("hello[tool use]hello", kPlainEncode),
              ElementsAre(Named("hello"), tool, Named("hello")));
  EXPECT_EQ(tokenizer.Decode(std::vector<TokenId>{tool}), "[tool use]");
  EXPECT_FALSE(tokenizer.IsControl(tool));
}

TEST_F(SmallTokenizer, TokensThatAreNeitherTextNorControl) {
  TestVocabulary vocabulary = SmallVocabulary();
  const TokenId unknown = vocabulary.AddToken("qq", 2);
  const TokenId unused = vocabulary.AddToken("qqq", 5);
  const Tokenizer tokenizer = vocabulary.Build().value();
  EXPECT_EQ(tokenizer.Encode("qq", kPlainEncode).size(), 2u);
  EXPECT_EQ(tokenizer.Encode("qqq", kSpecial).size(), 3u);
  EXPECT_EQ(tokenizer.Decode(std::vector<TokenId>{unknown, unused}), "");
  EXPECT_EQ(tokenizer.Decode(std::vector<TokenId>{unknown, unused}, true), "qqqqq");
}

TEST_F(SmallTokenizer, WholePiecesNeedNoMerges) {
  TestVocabulary vocabulary = SmallVocabulary();
  const TokenId whole = vocabulary.AddToken("xyzzy", 1);  // no merge makes it
  const Tokenizer tokenizer = vocabulary.Build().value();
  EXPECT_THAT(tokenizer.Encode("xyzzy", kPlainEncode), ElementsAre(whole));
  EXPECT_EQ(tokenizer.Encode("xyzzyx", kPlainEncode).size(), 6u);
}

TEST_F(SmallTokenizer, DecodeGivesBytesOfEveryToken) {
  EXPECT_EQ(tokenizer_.Decode(std::vector<TokenId>{bos_, Named("hello"), eot_}), "hello");
  EXPECT_EQ(tokenizer_.Decode(std::vector<TokenId>{bos_, Named("hello"), eot_}, true),
            "<|begin_of_text|>hello<|eot_id|>");
  EXPECT_EQ(tokenizer_.TokenBytes(Named("\u0120a")), " a");
  EXPECT_EQ(tokenizer_.TokenBytes(-1), "");
  EXPECT_EQ(tokenizer_.TokenBytes(tokenizer_.vocab_size()), "");
}

TEST_F(SmallTokenizer, InvalidBytesBecomeReplacementCharacters) {
  EXPECT_EQ(tokenizer_.Encode("a\xff\xe2\x82z", kPlainEncode),
            tokenizer_.Encode("a\ufffd\ufffdz", kPlainEncode));
}

TEST_F(SmallTokenizer, RoundTripOfRandomBytes) {
  std::mt19937 random(5);
  const std::string_view likely = "abc hello\n123 <|eot_id|>\xc3\xa9\xf0\x9f\x98\x80\xe2\x82";
  for (int i = 0; i < 50'000; ++i) {
    std::string text(random() % 40, ' ');
    for (char& c : text) {
      c = random() % 3 == 0 ? static_cast<char>(random() % 256) : likely[random() % likely.size()];
    }
    const EncodeOptions options = {.add_bos = random() % 2 == 0, .parse_special = false};
    ASSERT_EQ(tokenizer_.Decode(tokenizer_.Encode(text, options)), ReplaceInvalidUtf8(text));
    // With specials parsed, rendering them gives the text back.
    ASSERT_EQ(tokenizer_.Decode(tokenizer_.Encode(text, kSpecial), true), ReplaceInvalidUtf8(text));
  }
}

TEST_F(SmallTokenizer, EndOfGenerationByKeyAndByName) {
  EXPECT_THAT(EndIds(tokenizer_), ElementsAre(tokenizer_.eos_id(), eot_));
  TestVocabulary vocabulary = SmallVocabulary();
  const TokenId im_end = vocabulary.AddToken("<|im_end|>", 3);
  vocabulary.AddToken("<|endoftext|>", 1);  // not a control token: text that looks like one
  vocabulary.eos = 65;
  vocabulary.eot = 66;
  vocabulary.eom = 67;
  const Tokenizer tokenizer = vocabulary.Build().value();
  EXPECT_THAT(EndIds(tokenizer), ElementsAre(65, 66, 67, Named("<|end_of_text|>"), eot_, im_end));
  EXPECT_TRUE(tokenizer.IsEndOfGeneration(im_end));
  EXPECT_FALSE(tokenizer.IsEndOfGeneration(-1));
  EXPECT_FALSE(tokenizer.IsEndOfGeneration(0));
}

TEST_F(SmallTokenizer, SurvivesMoves) {
  Tokenizer first = SmallVocabulary().Build().value();
  const auto expected = first.Encode("hello abc 123");
  Tokenizer second = std::move(first);
  EXPECT_EQ(second.Encode("hello abc 123"), expected);
}

TEST(TokenizerTrusted, ControlTokensAreParsedWhereAllTheirBytesAreTrusted) {
  TestVocabulary vocabulary = SmallVocabulary();
  const TokenId end = vocabulary.AddToken("<|done|>", 3);
  const auto tokenizer = vocabulary.Build().value();
  const std::string text = "ab<|done|>ab<|done|>";
  const auto count = [&](std::string_view whole, const std::vector<ByteRange>& trusted) {
    const auto ids = tokenizer.EncodeTrusted(whole, trusted, /*add_bos=*/false);
    EXPECT_EQ(tokenizer.Decode(ids, true), ReplaceInvalidUtf8(whole));
    return std::ranges::count(ids, end);
  };
  EXPECT_EQ(count(text, {{0, text.size()}}), 2);
  EXPECT_EQ(count(text, {}), 0);
  EXPECT_EQ(count(text, {{2, 10}}), 1);
  EXPECT_EQ(count(text, {{12, 20}}), 1);
  EXPECT_EQ(count(text, {{0, 9}, {9, 19}}), 0);  // neither range holds a whole token
  EXPECT_EQ(count(text, {{0, 1}, {2, 10}, {11, 20}}), 2);
  // Bytes that are no characters move what comes after them.
  EXPECT_EQ(count("\xff<|done|>\xff\xff<|done|>", {{1, 9}, {11, 19}}), 2);
  EXPECT_EQ(count("\xff<|done|>\xff\xff<|done|>", {{11, 19}}), 1);
}

TEST(TokenizerTrusted, NoTokenCrossesACut) {
  const auto tokenizer = SmallVocabulary().Build().value();
  const auto encode = [&](std::string_view text) {
    return tokenizer.Encode(text, {.add_bos = false, .parse_special = true});
  };
  const std::string text = "hello<|eot_id|>hello hello\xff";
  const std::vector<ByteRange> all = {{0, text.size()}};
  for (std::size_t at = 0; at <= text.size(); ++at) {
    const std::vector<std::size_t> cuts = {at};
    const auto found = tokenizer.EncodeTrusted(text, all, /*add_bos=*/false, cuts);
    EXPECT_EQ(tokenizer.Decode(found, true), ReplaceInvalidUtf8(text)) << at;
    const bool in_special = at > 5 && at < 15;
    auto expected = encode(in_special ? text : text.substr(0, at));
    if (!in_special) std::ranges::copy(encode(text.substr(at)), std::back_inserter(expected));
    EXPECT_EQ(found, expected) << at;
  }
  const std::vector<std::size_t> many = {0, 1, 2, 2, 17, text.size()};
  EXPECT_GT(tokenizer.EncodeTrusted(text, all, false, many).size(), encode(text).size());
}

TEST(TokenizerTrusted, AllTrustedIsEncodeWithSpecialsParsed) {
  const auto tokenizer = SmallVocabulary().Build().value();
  for (const std::string text :
       {"", "a", "<|eot_id|>a b<|eot_id|><|begin_of_text|>", "<|begin_of_text|>x"}) {
    const std::vector<ByteRange> all = {{0, text.size()}};
    EXPECT_EQ(tokenizer.EncodeTrusted(text, all), tokenizer.Encode(text, {.parse_special = true}));
    EXPECT_EQ(tokenizer.EncodeTrusted(text, {}), tokenizer.Encode(text));
  }
}

TEST(LossText, SaysHowManyBytesAndTheirFate) {
  EXPECT_EQ(LossText({.num_bytes = 1, .first = "x"}),
            "1 byte of the text has no token and is left out (the first: \"x\")");
  EXPECT_EQ(LossText({.num_bytes = 2, .became_unknown = true, .first = "x"}),
            "2 bytes of the text have no token and became the unknown token (the first: \"x\")");
}

}  // namespace
}  // namespace bittern::tokenizer
