// SPDX-License-Identifier: Apache-2.0
// FromMetadata's decisions and refusals: one test for each rule of docs/tokenizer.md.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tokenizer/test_vocabulary.hpp"
#include "tokenizer/tokenizer.hpp"

namespace bittern::tokenizer {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr EncodeOptions kPlainLoad = {.add_bos = false};

void ExpectRefused(const TestVocabulary& vocabulary, ErrorCode code, const std::string& words) {
  const auto tokenizer = vocabulary.Build();
  ASSERT_FALSE(tokenizer.has_value()) << "expected: " << words;
  EXPECT_EQ(tokenizer.error().code, code);
  EXPECT_THAT(tokenizer.error().message + "; " + tokenizer.error().hint, HasSubstr(words));
}

Decisions DecisionsOf(const TestVocabulary& vocabulary) {
  Decisions decisions;
  const auto tokenizer = vocabulary.Build(&decisions);
  EXPECT_TRUE(tokenizer.has_value()) << tokenizer.error().message;
  return decisions;
}

auto IsDecision(const std::string& subject, const std::string& choice, bool notable) {
  return AllOf(Field(&Decision::subject, subject), Field(&Decision::choice, HasSubstr(choice)),
               Field(&Decision::notable, notable));
}

TEST(TokenizerLoad, ModelMustBeKnown) {
  TestVocabulary vocabulary = SmallVocabulary();
  vocabulary.model = "bert";
  ExpectRefused(vocabulary, ErrorCode::kUnsupported, "tokenizer.ggml.model is \"bert\"");
  vocabulary.model.reset();
  ExpectRefused(vocabulary, ErrorCode::kCorruptFile, "tokenizer.ggml.model is absent");
}

TEST(TokenizerLoad, PreNamesOfLlama3) {
  TestVocabulary vocabulary = SmallVocabulary();
  for (const char* name : {"llama-bpe", "llama3", "llama-v3"}) {
    vocabulary.pre = name;
    EXPECT_THAT(DecisionsOf(vocabulary),
                ElementsAre(IsDecision("pre-tokenizer", "llama-bpe", false)));
  }
  for (const char* name : {"deepseek", "", "LLAMA3"}) {
    vocabulary.pre = name;
    ExpectRefused(vocabulary, ErrorCode::kUnsupported, "names of docs/tokenizer.md");
  }
}

TEST(TokenizerLoad, MissingPreIsDecidedByBos) {
  TestVocabulary vocabulary = SmallVocabulary();
  EXPECT_THAT(DecisionsOf(vocabulary), ElementsAre(IsDecision("pre-tokenizer", "llama-bpe", true)));
  vocabulary.tokens[*vocabulary.bos] = "<|startoftext|>";
  ExpectRefused(vocabulary, ErrorCode::kUnsupported,
                "override_kv=tokenizer.ggml.pre=str:llama-bpe");
  vocabulary.pre = "llama-bpe";
  EXPECT_TRUE(vocabulary.Build().has_value());
}

/// A normal token of that name is text, no sign of LLaMA-3.
TEST(TokenizerLoad, MissingPreNeedsAControlTokenAsBos) {
  TestVocabulary vocabulary = SmallVocabulary();
  vocabulary.types[*vocabulary.bos] = 1;
  ExpectRefused(vocabulary, ErrorCode::kUnsupported, "tokenizer.ggml.pre is absent");
}

TEST(TokenizerLoad, MissingBosAndEosAreFoundByName) {
  TestVocabulary vocabulary = SmallVocabulary();
  const auto bos = static_cast<TokenId>(*vocabulary.bos);
  vocabulary.bos.reset();
  vocabulary.eos.reset();
  const Decisions decisions = DecisionsOf(vocabulary);
  EXPECT_THAT(decisions,
              Contains(IsDecision("tokenizer.ggml.bos_token_id", "<|begin_of_text|>", true)));
  EXPECT_THAT(decisions,
              Contains(IsDecision("tokenizer.ggml.eos_token_id", "<|end_of_text|>", true)));
  EXPECT_EQ(vocabulary.Build()->bos_id(), bos);
  EXPECT_EQ(vocabulary.Build()->eos_id(), bos + 1);
}

TEST(TokenizerLoad, NoBosMeansNoneIsAdded) {
  TestVocabulary vocabulary = SmallVocabulary();
  vocabulary.pre = "llama-bpe";
  vocabulary.tokens[*vocabulary.bos] = "<|other|>";
  vocabulary.bos.reset();
  EXPECT_THAT(DecisionsOf(vocabulary), Contains(IsDecision("BOS", "none is added", true)));
  const Tokenizer tokenizer = vocabulary.Build().value();
  EXPECT_EQ(tokenizer.bos_id(), -1);
  EXPECT_FALSE(tokenizer.adds_bos());
  EXPECT_THAT(tokenizer.Encode(""), IsEmpty());
}

TEST(TokenizerLoad, TablesMustBeThere) {
  TestVocabulary vocabulary = SmallVocabulary();
  vocabulary.merges.clear();
  ExpectRefused(vocabulary, ErrorCode::kCorruptFile, "tokenizer.ggml.merges is absent or empty");
  vocabulary = SmallVocabulary();
  vocabulary.tokens.clear();
  ExpectRefused(vocabulary, ErrorCode::kCorruptFile, "tokenizer.ggml.tokens is absent or empty");
}

TEST(TokenizerLoad, SearchedTokensAreShort) {
  for (const int type : {1, 3, 4}) {  // normal, control, user-defined
    TestVocabulary vocabulary = SmallVocabulary();
    vocabulary.pre = "llama-bpe";
    vocabulary.tokens.push_back(std::string(1024, 'a'));
    vocabulary.types.push_back(type);
    EXPECT_TRUE(vocabulary.Build().has_value());
    vocabulary.tokens.back() += 'a';
    if (type == 1) {
      EXPECT_TRUE(vocabulary.Build().has_value());
    } else {
      ExpectRefused(vocabulary, ErrorCode::kUnsupported, "at most 1024 bytes expected");
    }
  }
}

TEST(TokenizerLoad, TablesMustHaveOneLength) {
  TestVocabulary vocabulary = SmallVocabulary();
  vocabulary.types.pop_back();
  ExpectRefused(vocabulary, ErrorCode::kCorruptFile, "tokenizer.ggml.token_type has 284 entries");
  vocabulary = SmallVocabulary();
  vocabulary.scores.assign(vocabulary.tokens.size() + 1, 0.0F);
  ExpectRefused(vocabulary, ErrorCode::kCorruptFile, "tokenizer.ggml.scores has 286 entries");
}

TEST(TokenizerLoad, TypesMustBeKnown) {
  for (const std::int32_t bad : {7, -1, 1 << 30}) {
    TestVocabulary vocabulary = SmallVocabulary();
    vocabulary.types[3] = bad;
    ExpectRefused(vocabulary, ErrorCode::kCorruptFile, "tokenizer.ggml.token_type[3] is");
  }
  TestVocabulary vocabulary = SmallVocabulary();
  vocabulary.types[3] = 0;
  EXPECT_TRUE(vocabulary.Build().has_value());
}

TEST(TokenizerLoad, MissingTypesAreGuessedFromTheForm) {
  TestVocabulary vocabulary = SmallVocabulary();
  vocabulary.types.clear();
  EXPECT_THAT(DecisionsOf(vocabulary), Contains(IsDecision("vocabulary", "<|...|>", true)));
  const Tokenizer tokenizer = vocabulary.Build().value();
  EXPECT_TRUE(tokenizer.IsControl(tokenizer.bos_id()));
  EXPECT_EQ(tokenizer.end_of_generation_ids().size(), 2u);
  EXPECT_FALSE(tokenizer.IsControl(0));
}

TEST(TokenizerLoad, SpecialIdsMustBeInTheVocabulary) {
  const auto size = static_cast<std::uint64_t>(SmallVocabulary().tokens.size());
  for (const std::uint64_t bad : {size, std::uint64_t{0xffffffff}, ~std::uint64_t{0}}) {
    for (const auto member :
         {&TestVocabulary::bos, &TestVocabulary::eos, &TestVocabulary::eot, &TestVocabulary::eom}) {
      TestVocabulary vocabulary = SmallVocabulary();
      vocabulary.*member = bad;
      ExpectRefused(vocabulary, ErrorCode::kCorruptFile, "but the vocabulary has 285 tokens");
    }
  }
}

/// Takes the token of `byte` away: its place is a token that no text becomes.
void RemoveByte(unsigned char byte, TestVocabulary* vocabulary) {
  std::string spelling;
  AppendUtf8(ByteAlphabet()[byte], &spelling);
  const auto found = std::ranges::find(vocabulary->tokens, spelling);
  vocabulary->types[static_cast<std::size_t>(found - vocabulary->tokens.begin())] = 5;
}

TEST(TokenizerLoad, BytesThatNoUtf8HasMayBeMissing) {
  TestVocabulary vocabulary = SmallVocabulary();
  vocabulary.pre = "llama-bpe";
  for (unsigned byte = 0xf5; byte < 0x100; ++byte) {
    RemoveByte(static_cast<unsigned char>(byte), &vocabulary);
  }
  RemoveByte(0xc0, &vocabulary);
  RemoveByte(0xc1, &vocabulary);
  EXPECT_THAT(DecisionsOf(vocabulary), Not(Contains(IsDecision("vocabulary", "no token", true))));
  const Tokenizer tokenizer = vocabulary.Build().value();
  EncodeLoss loss;
  const std::string text = "a\xff\xc0 \U0010ffff";
  EXPECT_EQ(tokenizer.Decode(tokenizer.Encode(text, {}, &loss)), ReplaceInvalidUtf8(text));
  EXPECT_EQ(loss.num_bytes, 0u);
}

TEST(TokenizerLoad, OtherMissingBytesAreSaidAndLeftOut) {
  TestVocabulary vocabulary = SmallVocabulary();
  vocabulary.pre = "llama-bpe";
  RemoveByte(0x07, &vocabulary);
  EXPECT_THAT(DecisionsOf(vocabulary), Contains(IsDecision("vocabulary", "1 bytes have no", true)));
  RemoveByte('q', &vocabulary);
  const Tokenizer tokenizer = vocabulary.Build().value();
  EncodeLoss loss;
  EXPECT_EQ(tokenizer.Decode(tokenizer.Encode("a\abqq b", {}, &loss)), "ab b");
  EXPECT_EQ(loss.num_bytes, 3u);
  EXPECT_EQ(loss.first, "\a");
  EXPECT_FALSE(loss.became_unknown);
  // Texts on both sides of it do not merge ("ab" is a token).
  EXPECT_EQ(tokenizer.Encode("a\ab", kPlainLoad).size(), 2u);
}

TEST(TokenizerLoad, MissingBytesBecomeTheUnknownTokenOfAFolder) {
  TestVocabulary vocabulary = SmallVocabulary();
  RemoveByte('q', &vocabulary);
  const TokenId unknown = vocabulary.AddToken("<unk>", 3);
  for (const bool fuses : {false, true}) {
    formats::Metadata metadata = vocabulary.ToMetadata();
    ASSERT_TRUE(metadata.AddUint("bittern.tokenizer.unknown_token_id",
                                 static_cast<std::uint32_t>(unknown)));
    ASSERT_TRUE(metadata.AddBool("bittern.tokenizer.fuse_unknown", fuses));
    Decisions decisions;
    const Tokenizer tokenizer = Tokenizer::FromMetadata(metadata, &decisions).value();
    EncodeLoss loss;
    const auto ids = tokenizer.Encode("qqq1q", kPlainLoad, &loss);
    EXPECT_EQ(std::ranges::count(ids, unknown), fuses ? 2 : 4);
    EXPECT_EQ(ids.size(), fuses ? 3u : 5u);
    EXPECT_EQ(loss.num_bytes, 4u);
    EXPECT_TRUE(loss.became_unknown);
  }
}

TEST(TokenizerLoad, SomeByteNeedsAToken) {
  TestVocabulary vocabulary = SmallVocabulary();
  for (unsigned byte = 0; byte < 256; ++byte) {
    RemoveByte(static_cast<unsigned char>(byte), &vocabulary);
  }
  ExpectRefused(vocabulary, ErrorCode::kCorruptFile, "no token for any single byte");
}

TEST(TokenizerLoad, MergesMustSplitIntoTokens) {
  const auto with_merge = [](std::string merge) {
    TestVocabulary vocabulary = SmallVocabulary();
    vocabulary.merges[5] = std::move(merge);
    return vocabulary;
  };
  const auto refused = [&](std::string merge, const std::string& words) {
    ExpectRefused(with_merge(std::move(merge)), ErrorCode::kCorruptFile, words);
  };
  refused("", "tokenizer.ggml.merges[5] has no space");
  refused("ab", "tokenizer.ggml.merges[5] has no space");
  refused(" ab", "tokenizer.ggml.merges[5] has no space");
  refused("zz a", "the left half of tokenizer.ggml.merges[5]");
  refused("a zz", "the right half of tokenizer.ggml.merges[5]");
  refused("a ", "the right half of tokenizer.ggml.merges[5]");
  refused("a b c", "the right half of tokenizer.ggml.merges[5]");
  refused("  a", "the left half of tokenizer.ggml.merges[5]");
  refused("z z", "the result of tokenizer.ggml.merges[5]");
  refused("a \xff", "the right half of tokenizer.ggml.merges[5]");
  refused("<|eot_id|> a", "the left half of tokenizer.ggml.merges[5]");
}

TEST(TokenizerLoad, RepeatedMergesKeepTheFirstRank) {
  TestVocabulary vocabulary = SmallVocabulary();
  const Tokenizer before = vocabulary.Build().value();
  vocabulary.merges.push_back(vocabulary.merges.front());
  EXPECT_THAT(DecisionsOf(vocabulary), Contains(IsDecision("merges", "the first of 1", true)));
  EXPECT_EQ(vocabulary.Build()->Encode("ababcbc aab"), before.Encode("ababcbc aab"));
}

TEST(TokenizerLoad, OfEqualTokensTheLowestIdWins) {
  TestVocabulary vocabulary = SmallVocabulary();
  const TokenId twin = vocabulary.AddToken("hello", 1);
  EXPECT_THAT(DecisionsOf(vocabulary),
              Contains(IsDecision("vocabulary", "the lowest id wins for 1", true)));
  const Tokenizer tokenizer = vocabulary.Build().value();
  EXPECT_THAT(tokenizer.Encode("hello", kPlainLoad), Not(Contains(twin)));
  EXPECT_EQ(tokenizer.TokenBytes(twin), "hello");
}

/// Files exist whose added tokens are raw text marked as normal. They decode as written.
TEST(TokenizerLoad, NormalTokensOutsideTheAlphabetAreOnlyDecoded) {
  TestVocabulary vocabulary = SmallVocabulary();
  const TokenId raw = vocabulary.AddToken("two words", 1);
  const TokenId bad = vocabulary.AddToken("\xff\xfe", 1);
  EXPECT_THAT(DecisionsOf(vocabulary),
              Contains(IsDecision("vocabulary", "2 tokens are only decoded", true)));
  const Tokenizer tokenizer = vocabulary.Build().value();
  EXPECT_EQ(tokenizer.TokenBytes(raw), "two words");
  EXPECT_EQ(tokenizer.TokenBytes(bad), "\xff\xfe");
  EXPECT_THAT(tokenizer.Encode("two words", {.add_bos = false, .parse_special = true}),
              Not(Contains(raw)));
}

TEST(TokenizerLoad, EmptyAndBrokenSpecialsNeverMatch) {
  TestVocabulary vocabulary = SmallVocabulary();
  const TokenId empty = vocabulary.AddToken("", 3);
  vocabulary.AddToken("", 1);
  vocabulary.AddToken("", 4);
  const TokenId continuation = vocabulary.AddToken("\xa9", 3);
  const Tokenizer tokenizer = vocabulary.Build().value();
  const auto ids = tokenizer.Encode("a\u00e9b", {.add_bos = false, .parse_special = true});
  EXPECT_THAT(ids, Not(Contains(empty)));
  EXPECT_THAT(ids, Not(Contains(continuation)));
  EXPECT_EQ(tokenizer.Decode(ids), "a\u00e9b");
}

/// Values of the wrong type are refused by Metadata; the tokenizer must pass that on.
TEST(TokenizerLoad, WrongTypesAreRefused) {
  const TestVocabulary vocabulary = SmallVocabulary();
  for (const char* key : {"pre", "add_bos_token", "eom_token_id"}) {
    formats::Metadata metadata = vocabulary.ToMetadata();
    if (metadata.Find(std::string("tokenizer.ggml.") + key) != nullptr) continue;
    formats::MetaArray array;
    array.element_type = formats::MetaType::kF32;
    ASSERT_TRUE(metadata
                    .Add(std::string("tokenizer.ggml.") + key,
                         {formats::MetaType::kArray, std::move(array)})
                    .has_value());
    Decisions decisions;
    const auto tokenizer = Tokenizer::FromMetadata(metadata, &decisions);
    ASSERT_FALSE(tokenizer.has_value()) << key;
    EXPECT_THAT(tokenizer.error().message, HasSubstr(key));
  }
}

}  // namespace
}  // namespace bittern::tokenizer
