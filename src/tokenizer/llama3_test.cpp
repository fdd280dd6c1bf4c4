// SPDX-License-Identifier: Apache-2.0
// The real LLaMA-3 vocabulary: ids that other implementations gave for chosen and random texts.
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>

#include "base/utf8.hpp"
#include "tokenizer/test_vocabulary.hpp"
#include "tokenizer/tokenizer.hpp"

namespace bittern::tokenizer {
namespace {

using Ids = std::vector<TokenId>;

class Llama3 : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (const auto vocabulary = Llama3Vocabulary()) {
      num_merges_ = vocabulary->merges.size();
      const formats::Metadata metadata = vocabulary->ToMetadata();
      Decisions decisions;
      const auto start = std::chrono::steady_clock::now();
      tokenizer_ =
          std::make_unique<Tokenizer>(Tokenizer::FromMetadata(metadata, &decisions).value());
      load_s_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    }
  }
  static void TearDownTestSuite() { tokenizer_.reset(); }

  void SetUp() override {
    if (tokenizer_ == nullptr) {
      GTEST_SKIP() << "no data/llama3-tokenizer.model in " << SharedFolder();
    }
  }

  static Ids Plain(std::string_view text) {
    return tokenizer_->Encode(text, {.add_bos = false, .parse_special = true});
  }

  static std::unique_ptr<Tokenizer> tokenizer_;
  static std::size_t num_merges_;
  static double load_s_;
};

std::unique_ptr<Tokenizer> Llama3::tokenizer_;
std::size_t Llama3::num_merges_ = 0;
double Llama3::load_s_ = 0;

struct Vector {
  std::string_view text;
  Ids ids;
};

const std::vector<Vector>& Vectors() {
  static const std::vector<Vector> vectors = {
      {"Hello, world!", {9906, 11, 1917, 0}},
      {"The capital of France is", {791, 6864, 315, 9822, 374}},
      {"The future of artificial intelligence is", {791, 3938, 315, 21075, 11478, 374}},
      {"Hello, my name is", {9906, 11, 856, 836, 374}},
      {"Once upon a time", {12805, 5304, 264, 892}},
      {"Microsoft Corporation is an American multinational", {13068, 13332, 374, 459, 3778, 69026}},
      {"In the year 2025, artificial intelligence",
       {644, 279, 1060, 220, 2366, 20, 11, 21075, 11478}},
      {"The theory of relativity states that", {791, 10334, 315, 1375, 44515, 5415, 430}},
      {"Once upon a time in a small village", {12805, 5304, 264, 892, 304, 264, 2678, 14458}},
      {" leading space", {6522, 3634}},
      {"a   b", {64, 256, 293}},
      {"  two spaces", {220, 1403, 12908}},
      {"1234567890", {4513, 10961, 16474, 15}},
      {"12345", {4513, 1774}},
      {"3.14159", {18, 13, 9335, 2946}},
      {"they're THEY'RE it's I'LL", {20670, 2351, 63593, 95253, 433, 596, 358, 6, 4178}},
      {"I'm", {40, 2846}},
      {"I'M", {40, 28703}},
      {"don't", {15357, 956}},
      {"\n\n\n", {1432}},
      {"\r\n\r\n", {881}},
      {" \n", {720}},
      {" \n \n", {33006}},
      {"\t\tx", {197, 10436}},
      {"a\tb", {64, 2282}},
      {"a\r\nb", {64, 319, 65}},
      {"  \n  x", {2355, 220, 865}},
      {"   \n\n  x", {35033, 220, 865}},
      {"x = 1\n    y", {87, 284, 220, 16, 198, 262, 379}},
      {"trailing   ", {376, 14612, 262}},
      {"  ", {256}},
      {"    ", {257}},
      {"     ", {415}},
      {"a + b = c", {64, 489, 293, 284, 272}},
      {"%!", {90520}},
      {"foo_bar-baz", {8134, 14725, 1481, 1394}},
      {"http://a.b/c?d=e&f", {1277, 1129, 64, 960, 2971, 30, 67, 41491, 5, 69}},
      {"café naïve", {936, 59958, 95980, 588}},
      {"\u00e9", {978}},
      {"e\u0301", {68, 54939}},
      {"日本語のテキスト", {102433, 102158, 16144, 57933, 62903, 71634}},
      {"你好，世界", {57668, 53901, 3922, 102616}},
      {"Привет мир", {54745, 28089, 8341, 115388}},
      {"한국어 텍스트", {112699, 32179, 10997, 45204, 54289}},
      {"हिन्दी", {95048, 100556, 101102, 44747}},
      {"ไทย", {102938}},
      {"العربية", {107659, 124368}},
      {"😀😀", {76460, 222, 76460, 222}},
      {"🚀 emoji \U0001f636\u200d\U0001f32b\ufe0f",
       {9468, 248, 222, 43465, 27623, 114, 102470, 9468, 234, 104, 31643}},
      {"\u00a0nbsp", {4194, 5792}},
      {"１２３", {20713, 25963, 34617}},
      {"½", {27154}},
      {"\u200b", {16067}},
      {"x\u2028y", {87, 378, 101, 88}},
      {"#include <stdio.h>\nint main(void)\n{\n    return 0;\n}\n",
       {1085, 366, 10558, 870, 397, 396, 1925, 4431, 340, 517, 262, 471, 220, 15, 280, 534}},
      {" Paris", {12366}},
      {"Paris", {60704}},
      {"The", {791}},
      {",", {11}},
      {" is", {374}},
      {"adoo", {78212}},
      {" việc", {100769}},  // by merges alone: 3355 26298 66
  };
  return vectors;
}

TEST_F(Llama3, VerifiedVectors) {
  for (const Vector& vector : Vectors()) EXPECT_EQ(Plain(vector.text), vector.ids) << vector.text;
}

TEST_F(Llama3, VerifiedChatPrompts) {
  const EncodeOptions options = {.add_bos = true, .parse_special = true};
  EXPECT_EQ(tokenizer_->Encode("User: How are you?<|eot_id|>Assistant: ", options),
            (Ids{128000, 1502, 25, 2650, 527, 499, 30, 128009, 72803, 25, 220}));
  EXPECT_EQ(tokenizer_->Encode("System: You are a helpful assistant<|eot_id|>User: "
                               "Hi<|eot_id|>Assistant: ",
                               options),
            (Ids{128000, 2374, 25, 1472, 527, 264, 11190, 18328, 128009, 1502, 25, 21694, 128009,
                 72803, 25, 220}));
  EXPECT_EQ(tokenizer_->Encode("User: Hello<|eot_id|>Assistant: ", options),
            (Ids{128000, 1502, 25, 22691, 128009, 72803, 25, 220}));
}

TEST_F(Llama3, SpecialsAsText) {
  EXPECT_EQ(tokenizer_->Encode("<|eot_id|>", {.add_bos = false}),
            (Ids{27, 91, 68, 354, 851, 91, 29}));
}

TEST_F(Llama3, Properties) {
  EXPECT_EQ(num_merges_, 280'147u);
  EXPECT_EQ(tokenizer_->vocab_size(), 128'256);
  EXPECT_EQ(tokenizer_->bos_id(), 128'000);
  EXPECT_EQ(tokenizer_->eos_id(), 128'001);
  EXPECT_TRUE(tokenizer_->IsEndOfGeneration(128'001));
  EXPECT_TRUE(tokenizer_->IsEndOfGeneration(128'009));
  EXPECT_EQ(tokenizer_->end_of_generation_ids().size(), 2u);
  EXPECT_TRUE(tokenizer_->IsControl(128'255));
  EXPECT_FALSE(tokenizer_->IsControl(127'999));
}

/// Every token's text encodes to that token, if its bytes are text and one piece.
TEST_F(Llama3, EveryTokenRoundTrips) {
  int whole = 0;
  for (TokenId id = 0; id < 128'000; ++id) {
    const std::string text(tokenizer_->TokenBytes(id));
    const Ids ids = tokenizer_->Encode(text, {.add_bos = false});
    ASSERT_EQ(tokenizer_->Decode(ids), ReplaceInvalidUtf8(text)) << id;
    if (ids == Ids{id}) ++whole;
  }
  EXPECT_GT(whole, 126'000);
}

TEST_F(Llama3, GoldenFile) {
  std::ifstream file(SharedFolder() / "golden" / "llama3-tokens.jsonl");
  if (!file) GTEST_SKIP() << "no golden/llama3-tokens.jsonl in " << SharedFolder();
  int compared = 0;
  for (std::string line; std::getline(file, line);) {
    const auto json = nlohmann::json::parse(line);
    const auto text = json.at("text").get<std::string>();
    ASSERT_EQ(tokenizer_->Encode(text, {.add_bos = false}), json.at("ids").get<Ids>()) << text;
    ++compared;
  }
  EXPECT_EQ(compared, 1500);
}

TEST_F(Llama3, RoundTripOfRandomText) {
  std::mt19937 random(6);
  for (int i = 0; i < 20'000; ++i) {
    std::string text;
    for (unsigned length = random() % 30; length > 0; --length) {
      switch (random() % 4) {
        case 0:
          text += static_cast<char>(random() % 256);
          break;
        case 1:
          AppendUtf8(static_cast<char32_t>(random() % 0xd800), &text);
          break;
        default:
          text += tokenizer_->TokenBytes(static_cast<TokenId>(random() % 128'000));
      }
    }
    ASSERT_EQ(tokenizer_->Decode(tokenizer_->Encode(text)), ReplaceInvalidUtf8(text));
  }
}

/// Loose bounds that a quadratic algorithm or a slow table would break, also under sanitizers.
TEST_F(Llama3, LoadsAndEncodesFast) {
  std::string text;
  while (text.size() < 4'000'000) {
    for (const Vector& vector : Vectors()) {
      if (vector.text[0] >= 'A' && vector.text[0] <= 'T') (text += vector.text) += ". ";
    }
  }
  const auto start = std::chrono::steady_clock::now();
  const Ids ids = tokenizer_->Encode(text);
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::printf("tables built in %.0f ms; %.1f MB/s, %zu tokens\n", load_s_ * 1e3,
              static_cast<double>(text.size()) / seconds / 1e6, ids.size());
  EXPECT_LT(load_s_, 5.0);
  EXPECT_LT(seconds, 20.0);
}

}  // namespace
}  // namespace bittern::tokenizer
