// SPDX-License-Identifier: Apache-2.0
// SentencePiece models: small real ones (testdata/, made by tools/make_sentencepiece_fixtures.py)
// against what the real library made of texts, and against the library itself where it is there.
#include "tokenizer/sentencepiece.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "base/json/json.hpp"
#include "formats/hf/hf_tokenizer.hpp"
#include "tokenizer/detokenizer.hpp"
#include "tokenizer/texts_for_test.hpp"
#include "tokenizer/tokenizer.hpp"
#ifdef BITTERN_HAVE_SENTENCEPIECE
#include <sentencepiece_processor.h>
#endif

namespace bittern::tokenizer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr EncodeOptions kPlain = {.add_bos = false};
constexpr const char* kModels[] = {"spm_bytes", "spm_unknown"};
constexpr const char* kFolder = BITTERN_SOURCE_DIR "/src/tokenizer/testdata/";

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

Tokenizer Load(const std::string& name) {
  const std::string model = ReadFile(kFolder + name + ".model");
  formats::HfTokenizerTexts texts;
  texts.tokenizer_model = model;
  formats::Metadata metadata;
  const auto read = formats::ReadHfTokenizer(texts, Json(), 700, &metadata);
  EXPECT_TRUE(read) << read.error().message;
  Decisions decisions;
  auto tokenizer = Tokenizer::FromMetadata(metadata, &decisions);
  EXPECT_TRUE(tokenizer) << tokenizer.error().message;
  return *std::move(tokenizer);
}

std::string FromHex(std::string_view hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes.push_back(static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16)));
  }
  return bytes;
}

std::string Streamed(const Tokenizer& tokenizer, std::span<const TokenId> ids) {
  StreamingDetokenizer stream(tokenizer, /*render_special=*/false, /*from_start=*/true);
  std::string text;
  for (const TokenId id : ids) text += stream.Push(id);
  return text + stream.Finish();
}

TEST(SentencePiece, GoldenIdsAndTexts) {
  for (const char* name : kModels) {
    const Tokenizer tokenizer = Load(name);
    std::ifstream golden(kFolder + std::string(name) + ".golden");
    int lines = 0;
    for (std::string line; std::getline(golden, line); ++lines) {
      const std::size_t first = line.find('\t'), second = line.rfind('\t');
      const std::string text = FromHex(line.substr(0, first));
      std::istringstream numbers(line.substr(first, second - first));
      std::vector<TokenId> expected;
      for (TokenId id = 0; numbers >> id;) expected.push_back(id);
      ASSERT_EQ(tokenizer.Encode(text, kPlain), expected) << name << ": " << text;
      if (std::ranges::find(expected, 0) != expected.end()) continue;  // <unk> has no text
      const std::string decoded = FromHex(line.substr(second + 1));
      ASSERT_EQ(tokenizer.Decode(expected), decoded) << name;
      ASSERT_EQ(Streamed(tokenizer, expected), decoded) << name;
    }
    EXPECT_EQ(lines, 200);
  }
}

TEST(SentencePiece, BosAndEos) {
  const Tokenizer tokenizer = Load("spm_bytes");
  EXPECT_EQ(tokenizer.bos_id(), 1);
  EXPECT_EQ(tokenizer.eos_id(), 2);
  EXPECT_TRUE(tokenizer.adds_bos());
  EXPECT_TRUE(tokenizer.IsEndOfGeneration(2));
  EXPECT_THAT(tokenizer.Encode(""), ElementsAre(1));
  EXPECT_THAT(tokenizer.Encode("", kPlain), IsEmpty());
  EXPECT_FALSE(tokenizer.adds_eos());
}

// Hugging Face puts the space in front of what follows a special token, too.
TEST(SentencePiece, SpecialTokensOnlyWhereAsked) {
  const Tokenizer tokenizer = Load("spm_bytes");
  const auto parsed = tokenizer.Encode("</s>a", {.add_bos = false, .parse_special = true});
  EXPECT_EQ(parsed[0], 2);
  EXPECT_EQ(std::vector<TokenId>(parsed.begin() + 1, parsed.end()), tokenizer.Encode("a", kPlain));
  EXPECT_GT(tokenizer.Encode("</s>a", kPlain).size(), parsed.size());
  EXPECT_EQ(tokenizer.Decode(tokenizer.Encode("</s>a")), "</s>a");
}

// "</s>" stands for any control token that asks for an answer; what a model says begins with a
// space.
TEST(SentencePiece, AnAnswerHasTheTokensThatItWasMadeOf) {
  const Tokenizer tokenizer = Load("spm_bytes");
  const auto encode = [&](std::string_view text, std::vector<std::size_t> cuts) {
    const std::vector<ByteRange> all = {{0, text.size()}};
    return tokenizer.EncodeTrusted(text, all, /*add_bos=*/false, cuts);
  };
  const auto the = tokenizer.Encode("the", kPlain);  // with the space of its beginning
  const auto joined = [](std::vector<TokenId> first, std::span<const TokenId> second) {
    first.insert(first.end(), second.begin(), second.end());
    return first;
  };
  EXPECT_EQ(encode("</s> the", {4}), joined(encode("</s>", {}), the));
  EXPECT_EQ(encode("</s>the", {4}), joined(encode("</s>", {}), the));
  EXPECT_EQ(encode("</s>ask: the", {8}), joined(encode("</s>ask:", {}), the));
  EXPECT_NE(encode("</s> the", {}), joined(encode("</s>", {}), the));
}

TEST(SentencePiece, StreamsKeepTheSpaceOfAContinuation) {
  const Tokenizer tokenizer = Load("spm_bytes");
  const auto ids = tokenizer.Encode("the cat", kPlain);
  StreamingDetokenizer continued(tokenizer);
  std::string text;
  for (const TokenId id : ids) text += continued.Push(id);
  EXPECT_EQ(text + continued.Finish(), " the cat");
  EXPECT_EQ(Streamed(tokenizer, ids), "the cat");
  EXPECT_EQ(tokenizer.Decode(ids), "the cat");
}

TEST(SentencePiece, BytesThatAreNoCharacterBecomeReplacements) {
  const Tokenizer tokenizer = Load("spm_bytes");
  const TokenId e2 = 5 + 0xe2, x82 = 5 + 0x82, xac = 5 + 0xac;
  EXPECT_EQ(Streamed(tokenizer, std::vector{e2, x82, xac}), "\u20ac");
  EXPECT_EQ(Streamed(tokenizer, std::vector{xac, e2, x82, xac}), "\ufffd\u20ac");
  EXPECT_EQ(Streamed(tokenizer, std::vector{e2, x82}), "\ufffd");
}

TEST(SentencePiece, LongTextsTakeNoQuadraticTime) {
  const Tokenizer tokenizer = Load("spm_bytes");
  for (const char* unit : {"a", "the ", "\u65e5"}) {
    std::string text;
    while (text.size() < 1'000'000) text += unit;
    EXPECT_EQ(tokenizer.Decode(tokenizer.Encode(text)), text);
  }
}

TEST(SentencePiece, RefusesTablesThatContradictEachOther) {
  const std::vector<std::string> tokens = {"<unk>", "a", "<0x00>"};
  const auto refusal = [&](const std::vector<std::int32_t>& types,
                           const std::vector<float>& scores) {
    formats::Metadata metadata;
    EXPECT_TRUE(metadata.AddString("tokenizer.ggml.model", "llama"));
    EXPECT_TRUE(metadata.AddStrings("tokenizer.ggml.tokens", tokens));
    EXPECT_TRUE(metadata.AddInts("tokenizer.ggml.token_type", types));
    EXPECT_TRUE(metadata.AddFloats("tokenizer.ggml.scores", scores));
    Decisions decisions;
    const auto tokenizer = Tokenizer::FromMetadata(metadata, &decisions);
    return tokenizer ? std::string("built") : tokenizer.error().message;
  };
  EXPECT_EQ(refusal({2, 1, 1}, {0, 0, 0}), "built");
  EXPECT_THAT(refusal({2, 1, 6}, {0, 0, 0}), HasSubstr("for 1 of 256 bytes"));
  EXPECT_THAT(refusal({1, 1, 1}, {0, 0, 0}), HasSubstr("neither the 256 byte tokens nor"));
  EXPECT_THAT(refusal({2, 1, 1}, {0, 0, NAN}), HasSubstr("scores[2] is not a number"));
  EXPECT_THAT(refusal({2, 1, 1}, {0, 0}), HasSubstr("has 2 entries, but there are 3"));
}

TEST(SentencePieceAgainstTheLibrary, RandomTexts) {
#ifndef BITTERN_HAVE_SENTENCEPIECE
  GTEST_SKIP() << "libsentencepiece-dev is not installed";
#else
  for (const char* name : kModels) {
    const Tokenizer tokenizer = Load(name);
    sentencepiece::SentencePieceProcessor oracle;
    ASSERT_TRUE(oracle.Load(kFolder + std::string(name) + ".model").ok());
    std::mt19937 random(5);
    const std::vector<std::string> words = {"the",  " ",    "return ", "  ",     "std::", "\n",
                                            "<ud>", "ab c", "\u2581",  "const ", "a",     "Result"};
    for (int i = 0; i < 20'000; ++i) {
      std::string text;
      for (unsigned parts = random() % 5; parts > 0; --parts) {
        text += random() % 2 == 0 ? RandomText(random) : words[random() % words.size()];
      }
      std::vector<int> expected;
      ASSERT_TRUE(oracle.Encode(text, &expected).ok());
      ASSERT_EQ(tokenizer.Encode(text, kPlain), expected) << name << ": " << Escaped(text);
      std::string decoded;
      ASSERT_TRUE(oracle.Decode(expected, &decoded).ok());
      if (std::ranges::find(expected, 0) == expected.end()) {
        ASSERT_EQ(tokenizer.Decode(expected), decoded) << name << ": " << Escaped(text);
      }
    }
  }
#endif
}

}  // namespace
}  // namespace bittern::tokenizer
