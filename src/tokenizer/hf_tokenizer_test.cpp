// SPDX-License-Identifier: Apache-2.0
// Tokenizers of Hugging Face folders against the same ones from GGUF keys: ids must be equal.
#include "formats/hf/hf_tokenizer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "base/json/json.hpp"
#include "formats/checkpoint.hpp"
#include "formats/pre_rules.hpp"
#include "tokenizer/regex/pcre2_oracle.hpp"
#include "tokenizer/test_vocabulary.hpp"
#include "tokenizer/texts_for_test.hpp"

namespace bittern::tokenizer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Tokenizer FromMetadata(const formats::Metadata& metadata) {
  Decisions decisions;
  auto tokenizer = Tokenizer::FromMetadata(metadata, &decisions);
  EXPECT_TRUE(tokenizer) << tokenizer.error().message;
  return *std::move(tokenizer);
}

void ExpectSameIds(const Tokenizer& a, const Tokenizer& b, int num_texts) {
  ASSERT_EQ(a.vocab_size(), b.vocab_size());
  EXPECT_EQ(a.bos_id(), b.bos_id());
  EXPECT_EQ(a.eos_id(), b.eos_id());
  EXPECT_EQ(a.adds_bos(), b.adds_bos());
  EXPECT_TRUE(std::ranges::equal(a.end_of_generation_ids(), b.end_of_generation_ids()));
  for (TokenId id = 0; id < a.vocab_size(); ++id) {
    ASSERT_EQ(a.TokenBytes(id, true), b.TokenBytes(id, true)) << id;
    ASSERT_EQ(a.IsControl(id), b.IsControl(id)) << id;
  }
  std::mt19937 random(3);
  const std::string_view words[] = {"And it came to pass", " the ", "In the beginning ",
                                    "<|eot_id|>",          "\n\n",  "1234567"};
  for (int i = 0; i < num_texts; ++i) {
    std::string text = RandomText(random);
    text += words[random() % std::size(words)];
    text += RandomText(random);
    for (const bool parse_special : {false, true}) {
      const EncodeOptions options{.parse_special = parse_special};
      ASSERT_EQ(a.Encode(text, options), b.Encode(text, options)) << Escaped(text);
    }
  }
}

TEST(HfTokenizerIds, KjvFoldersAndGguf) {
  const auto folder = SharedFolder() / "models" / "kjv-5m";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no models/kjv-5m under BITTERN_SHARED";
  const auto gguf = formats::Checkpoint::Open(folder / "kjv-5m-i2s.gguf");
  ASSERT_TRUE(gguf) << gguf.error().message;
  for (const char* name : {"hf-packed", "hf-bf16"}) {
    const auto hf = formats::Checkpoint::Open(folder / name);
    ASSERT_TRUE(hf) << hf.error().message;
    ExpectSameIds(FromMetadata(hf->metadata()), FromMetadata(gguf->metadata()), 10'000);
  }
}

TEST(HfTokenizerIds, Llama3RankFile) {
  std::ifstream file(SharedFolder() / "data" / "llama3-tokenizer.model", std::ios::binary);
  const auto expected = Llama3Vocabulary();
  if (!file || !expected) GTEST_SKIP() << "no data/llama3-tokenizer.model under BITTERN_SHARED";
  std::ostringstream ranks;
  ranks << file.rdbuf();
  const std::string bytes = ranks.str();
  formats::HfTokenizerTexts texts;
  texts.tokenizer_model = bytes;
  formats::Metadata metadata;
  const auto read = formats::ReadHfTokenizer(texts, Json(), 128256, &metadata);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(metadata.GetStrings("tokenizer.ggml.merges").value()->size(), 280147u);
  ExpectSameIds(FromMetadata(metadata), expected->Build().value(), 20'000);
}

/// The small vocabulary under other rules; texts that tell them apart.
Tokenizer Small(const char* pre, std::optional<bool> ignore_merges = std::nullopt,
                std::optional<bool> nfc = std::nullopt) {
  TestVocabulary vocabulary = SmallVocabulary();
  vocabulary.pre = pre;
  vocabulary.add_bos.reset();
  formats::Metadata metadata = vocabulary.ToMetadata();
  if (ignore_merges) {
    EXPECT_TRUE(metadata.AddBool("bittern.tokenizer.ignore_merges", *ignore_merges));
  }
  if (nfc) {
    EXPECT_TRUE(metadata.AddBool("bittern.tokenizer.nfc", *nfc));
  }
  return FromMetadata(metadata);
}

std::vector<std::string> Parts(const Tokenizer& tokenizer, std::string_view text) {
  std::vector<std::string> parts;
  for (const TokenId id : tokenizer.Encode(text, {.add_bos = false})) {
    parts.emplace_back(tokenizer.TokenBytes(id));
  }
  return parts;
}

TEST(TokenizerRules, DigitsTellTheRulesApart) {
  EXPECT_THAT(Parts(Small("llama-bpe"), "1234"), ElementsAre("123", "4"));
  EXPECT_THAT(Parts(Small("gpt-2"), "a12312"), ElementsAre("a", "123", "12"));
  EXPECT_THAT(Parts(Small("qwen2"), "1234"), ElementsAre("1", "2", "3", "4"));
  EXPECT_THAT(Parts(Small("falcon3"), "1234"), ElementsAre("1", "2", "3", "4"));
  EXPECT_THAT(Parts(Small("falcon_e"), "12"), ElementsAre("1", "2"));
  EXPECT_THAT(Parts(Small("falcon"), "12312"), ElementsAre("123", "12"));
  EXPECT_THAT(Parts(Small("default"), "12312"), ElementsAre("123", "12"));
  EXPECT_THAT(Parts(Small("hf:Digits(individual);ByteLevel"), "12"), ElementsAre("1", "2"));
  EXPECT_THAT(Parts(Small("hf:ByteLevel(regex);Split([0-9][0-9][0-9])"), "1231"),
              ElementsAre("123", "1"));
}

TEST(TokenizerRules, BosByDefaultForLlama3Only) {
  for (const char* pre : {"gpt-2", "qwen2", "falcon", "falcon3", "default", "hf:ByteLevel"}) {
    EXPECT_FALSE(Small(pre).adds_bos()) << pre;
  }
  EXPECT_TRUE(Small("llama-bpe").adds_bos());
}

TEST(TokenizerRules, WholePiecesOnlyWhereMergesAreIgnored) {
  TestVocabulary vocabulary = SmallVocabulary();
  vocabulary.AddToken("xyz", 1);  // no merge makes it
  vocabulary.pre = "gpt-2";
  const auto parts = [&](std::optional<bool> ignore_merges) {
    formats::Metadata metadata = vocabulary.ToMetadata();
    if (ignore_merges) {
      EXPECT_TRUE(metadata.AddBool("bittern.tokenizer.ignore_merges", *ignore_merges));
    }
    return Parts(FromMetadata(metadata), "xyz");
  };
  EXPECT_THAT(parts(std::nullopt), ElementsAre("x", "y", "z"));
  EXPECT_THAT(parts(true), ElementsAre("xyz"));
  vocabulary.pre = "llama-bpe";
  EXPECT_THAT(parts(std::nullopt), ElementsAre("xyz"));
  EXPECT_THAT(parts(false), ElementsAre("x", "y", "z"));
}

TEST(TokenizerRules, ComposedCharactersForQwen2) {
  const std::string apart = "e\u0301", composed = "\u00e9";
  EXPECT_THAT(Parts(Small("qwen2"), apart), ElementsAre(composed));
  EXPECT_THAT(Parts(Small("qwen2", std::nullopt, false), apart), ElementsAre("e", "\xcc", "\x81"));
  EXPECT_THAT(Parts(Small("gpt-2", std::nullopt, true), apart), ElementsAre(composed));
  EXPECT_THAT(Parts(Small("gpt-2"), composed), ElementsAre(composed));
}

TEST(TokenizerRules, UnknownStepsAreRefused) {
  std::string many = "hf:Digits";
  for (int i = 0; i < 16; ++i) many += ";Digits";
  for (const std::string& pre :
       {std::string("hf:ByteLevel;Punctuation(Odd)"), std::string("hf:Whitespace"),
        std::string("hf:ByteLevel(regex);ByteLevel(regex)"), std::string("hf:ByteLevel;ByteLevel"),
        std::string("hf:Split()"), std::string("hf:Split:Odd(a)"), std::string("hf:Splitter(a)"),
        many}) {
    TestVocabulary vocabulary = SmallVocabulary();
    vocabulary.pre = pre;
    const auto tokenizer = vocabulary.Build();
    ASSERT_FALSE(tokenizer) << pre;
    EXPECT_THAT(tokenizer.error().message, HasSubstr("is not supported there"));
  }
}

TEST(TokenizerRules, RegularExpressionsThatAreNotKnownAreRefused) {
  TestVocabulary vocabulary = SmallVocabulary();
  vocabulary.pre = "hf:Split((?<=a)b);ByteLevel";
  const auto tokenizer = vocabulary.Build();
  ASSERT_FALSE(tokenizer);
  EXPECT_THAT(tokenizer.error().message, HasSubstr("a group of an unknown kind at byte 1"));
}

/// From a name to ids: those of the pieces that PCRE2 cuts, each merged alone.
TEST(TokenizerRules, EveryNameGivesTheIdsOfItsPieces) {
  const Tokenizer uncut = Small("hf:ByteLevel", false, false);
  std::mt19937 random(5);
  for (const formats::PreRules& rules : formats::AllPreRules()) {
    std::vector<Pcre2Pattern> oracles;
    for (const std::string_view pattern : rules.patterns) oracles.emplace_back(ForPcre2(pattern));
    for (const std::string_view name : rules.names) {
      const Tokenizer tokenizer = Small(std::string(name).c_str(), false, false);
      EXPECT_EQ(tokenizer.adds_bos(), rules.adds_bos) << name;
      for (int i = 0; i < 50; ++i) {
        const std::string text = "hello 12312 aab  a\n" + RandomText(random) + "abc123 hello";
        std::vector<TokenId> expected;
        for (const std::string& piece : OraclePieces(oracles, text)) {
          const auto ids = uncut.Encode(piece, {.add_bos = false});
          expected.insert(expected.end(), ids.begin(), ids.end());
        }
        ASSERT_EQ(tokenizer.Encode(text, {.add_bos = false}), expected) << name << Escaped(text);
      }
    }
  }
}

TEST(TokenizerRules, SplitsOfFolders) {
  EXPECT_THAT(Parts(Small("hf:Split( +|[a-z]+);ByteLevel"), "ab  12"),
              ElementsAre("ab", "  ", "12"));
  EXPECT_THAT(Parts(Small("hf:Split:Removed( );ByteLevel"), "a b"), ElementsAre("a", "b"));
  EXPECT_THAT(Parts(Small("hf:Split:Removed:invert([^ ]+);ByteLevel"), "a b"),
              ElementsAre("a", "b"));
  EXPECT_THAT(Parts(Small("hf:Split([\\x3b1]);ByteLevel"), "12"), ElementsAre("1", "2"));
  EXPECT_THAT(Parts(Small("hf:WhitespaceSplit;ByteLevel(prefix,regex)"), "a \n b"),
              ElementsAre(" a", " ", "b"));
}

TEST(TokenizerRules, Falcon3IsNotedSinceToolsDisagree) {
  TestVocabulary vocabulary = SmallVocabulary();
  vocabulary.pre = "falcon3";
  Decisions decisions;
  ASSERT_TRUE(vocabulary.Build(&decisions));
  const auto found = std::ranges::find(decisions, "pre-tokenizer", &Decision::subject);
  ASSERT_NE(found, decisions.end());
  EXPECT_TRUE(found->notable);
  EXPECT_THAT(found->reason, HasSubstr("as bitnet.cpp does"));
}

TEST(TokenizerRules, EosOnlyWhereFileAndCallerWantIt) {
  TestVocabulary vocabulary = SmallVocabulary();
  formats::Metadata metadata = vocabulary.ToMetadata();
  EXPECT_TRUE(metadata.AddBool("tokenizer.ggml.add_eos_token", true));
  const Tokenizer tokenizer = FromMetadata(metadata);
  EXPECT_TRUE(tokenizer.adds_eos());
  EXPECT_EQ(tokenizer.Encode("a", {.add_eos = true}).back(), tokenizer.eos_id());
  EXPECT_NE(tokenizer.Encode("a").back(), tokenizer.eos_id());
  const Tokenizer other = vocabulary.Build().value();
  EXPECT_FALSE(other.adds_eos());
  EXPECT_NE(other.Encode("a", {.add_eos = true}).back(), other.eos_id());
}

TEST(TokenizerRules, ListedEndTokens) {
  TestVocabulary vocabulary = SmallVocabulary();
  formats::Metadata metadata = vocabulary.ToMetadata();
  EXPECT_TRUE(metadata.AddInts("bittern.end_token_ids", std::vector<std::int32_t>{7, 3}));
  EXPECT_TRUE(FromMetadata(metadata).IsEndOfGeneration(7));
  formats::Metadata bad = vocabulary.ToMetadata();
  EXPECT_TRUE(bad.AddInts("bittern.end_token_ids", std::vector<std::int32_t>{99999}));
  Decisions decisions;
  const auto refused = Tokenizer::FromMetadata(bad, &decisions);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("bittern.end_token_ids has 99999"));
}

}  // namespace
}  // namespace bittern::tokenizer
