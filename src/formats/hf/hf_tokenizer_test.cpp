// SPDX-License-Identifier: Apache-2.0
// Tokenizer files of every kind as GGUF's keys, which file is believed, and what is refused.
#include "formats/hf/hf_tokenizer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "base/byte_alphabet.hpp"
#include "base/json/json.hpp"
#include "formats/hf/hf_vocabulary.hpp"

namespace bittern::formats {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::string_view kByteLevel =
    R"({"added_tokens":[{"id":5,"content":"<|end|>","special":true},)"
    R"({"id":6,"content":"<tool>","special":false}],)"
    R"("normalizer":null,"pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false},)"
    R"("post_processor":null,"decoder":{"type":"ByteLevel"},)"
    R"("model":{"type":"BPE","vocab":{"a":0,"b":1,"c":2,"ab":3,"abc":4},)"
    R"("merges":["a b",["ab","c"]]}})";

/// BPE over U+2581 as converted from a SentencePiece model: all pairs, in the order of scores.
constexpr std::string_view kUnderline =
    R"({"added_tokens":[{"id":0,"content":"<unk>","special":true},)"
    R"({"id":1,"content":"<s>","special":true}],)"
    "\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"Prepend\","
    "\"prepend\":\"\u2581\"},{\"type\":\"Replace\",\"pattern\":{\"String\":\" \"},"
    "\"content\":\"\u2581\"}]},"
    R"("pre_tokenizer":null,"post_processor":{"type":"TemplateProcessing","single":[)"
    R"({"SpecialToken":{"id":"<s>"}},{"Sequence":{"id":"A"}}],)"
    R"("special_tokens":{"<s>":{"id":"<s>","ids":[1]}}},)"
    R"("decoder":{"type":"Sequence","decoders":[{"type":"Replace"},{"type":"ByteFallback"},)"
    R"({"type":"Fuse"},{"type":"Strip"}]},)"
    R"("model":{"type":"BPE","unk_token":"<unk>","byte_fallback":true,)"
    "\"vocab\":{\"<unk>\":0,\"<s>\":1,\"<0x41>\":2,\"\u2581\":3,\"a\":4,\"b\":5,\"ab\":6,"
    "\"\u2581a\":7,\"\u2581ab\":8},"
    "\"merges\":[\"a b\",\"\u2581 a\",\"\u2581 ab\",\"\u2581a b\"]}}";

std::string Replaced(std::string_view text, std::string_view from, std::string_view to) {
  std::string out(text);
  const std::size_t at = out.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  out.replace(at, from.size(), to);
  return out;
}

struct Outcome {
  Metadata metadata;
  std::string error;
  [[nodiscard]] std::string Text(std::string_view key) const {
    return std::string(metadata.GetString(key).value().value_or("(none)"));
  }
  [[nodiscard]] std::uint64_t Uint(std::string_view key) const {
    return metadata.GetUint(key).value().value_or(999);
  }
  [[nodiscard]] std::vector<std::string> Strings(std::string_view key) const {
    const auto strings = metadata.GetStrings(key).value();
    if (!strings) return {"(none)"};
    return {strings->begin(), strings->end()};
  }
};

Outcome Read(const HfTokenizerTexts& texts, std::uint64_t vocab_size = 8,
             std::string_view config = "{}") {
  Outcome outcome;
  const auto read =
      ReadHfTokenizer(texts, Json::Parse(config, {}).value(), vocab_size, &outcome.metadata);
  if (!read) outcome.error = read.error().message;
  return outcome;
}

Outcome ReadJson(std::string_view tokenizer_json, std::uint64_t vocab_size = 8) {
  return Read({.tokenizer_json = tokenizer_json}, vocab_size);
}

std::string Refusal(std::string_view from, std::string_view to) {
  return ReadJson(Replaced(kByteLevel, from, to)).error;
}

TEST(HfTokenizer, ByteLevel) {
  const Outcome outcome = ReadJson(kByteLevel);
  ASSERT_EQ(outcome.error, "");
  EXPECT_EQ(outcome.Text("tokenizer.ggml.model"), "gpt2");
  EXPECT_EQ(outcome.Text("tokenizer.ggml.pre"), "gpt-2");
  EXPECT_THAT(outcome.Strings("tokenizer.ggml.tokens"),
              ElementsAre("a", "b", "c", "ab", "abc", "<|end|>", "<tool>", "[PAD7]"));
  EXPECT_THAT(*outcome.metadata.GetInts("tokenizer.ggml.token_type").value(),
              ElementsAre(1, 1, 1, 1, 1, 3, 4, 5));
  EXPECT_THAT(outcome.Strings("tokenizer.ggml.merges"), ElementsAre("a b", "ab c"));
  EXPECT_EQ(outcome.metadata.GetBool("tokenizer.ggml.add_bos_token").value(), false);
  EXPECT_EQ(outcome.metadata.GetBool("bittern.tokenizer.ignore_merges").value(), false);
  EXPECT_EQ(outcome.metadata.GetBool("bittern.tokenizer.nfc").value(), false);
}

TEST(HfTokenizer, NothingWhereThereIsNoTokenizer) {
  const Outcome outcome = Read({.tokenizer_config = R"({"bos_token":"<s>"})"});
  EXPECT_EQ(outcome.error, "");
  EXPECT_TRUE(outcome.metadata.entries().empty());
}

TEST(HfTokenizer, PreTokenizersByTheirSteps) {
  const auto pre = [](std::string_view steps) {
    const Outcome outcome =
        ReadJson(Replaced(kByteLevel, R"({"type":"ByteLevel","add_prefix_space":false})", steps));
    return outcome.error.empty() ? outcome.Text("tokenizer.ggml.pre") : outcome.error;
  };
  const auto split = [&pre](std::string_view regex) {
    return pre(R"({"type":"Sequence","pretokenizers":[{"type":"Split","behavior":"Isolated",)"
               R"("invert":false,"pattern":{"Regex":")" +
               std::string(regex) +
               R"("}},{"type":"ByteLevel","add_prefix_space":false,"use_regex":false}]})");
  };
  EXPECT_EQ(split(R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?)"
                  R"([^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+)"),
            "qwen2");
  EXPECT_EQ(split(R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?)"
                  R"([^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+)"),
            "llama-bpe");
  EXPECT_EQ(split("[;a]\\\\;+"), "hf:Split([\\x3ba]\\x3b+);ByteLevel");
  EXPECT_EQ(pre(R"({"type":"Sequence","pretokenizers":[{"type":"Split","behavior":"Removed",)"
                R"("invert":true,"pattern":{"String":"a."}},{"type":"WhitespaceSplit"},)"
                R"({"type":"ByteLevel","add_prefix_space":true}]})"),
            "hf:Split:Removed:invert(a\\x2e);WhitespaceSplit;ByteLevel(prefix,regex)");
  EXPECT_EQ(pre(R"({"type":"Sequence","pretokenizers":[)"
                R"({"type":"Punctuation","behavior":"Contiguous"},)"
                R"({"type":"ByteLevel","add_prefix_space":false},)"
                R"({"type":"Digits","individual_digits":true}]})"),
            "hf:Punctuation(Contiguous);ByteLevel(regex);Digits(individual)");
  EXPECT_EQ(pre(R"({"type":"ByteLevel","add_prefix_space":true,"use_regex":false})"),
            "hf:ByteLevel(prefix)");
  EXPECT_THAT(pre(R"({"type":"Split","behavior":"Odd","pattern":{"String":" "}})"),
              HasSubstr("Split with behavior Odd"));
  EXPECT_THAT(pre(R"({"type":"Split","behavior":"Removed"})"),
              HasSubstr("Split without a pattern"));
  EXPECT_THAT(pre(R"({"type":"Whitespace"})"), HasSubstr("pre_tokenizer \"Whitespace\""));
  EXPECT_THAT(pre(R"({"type":"Sequence"})"), HasSubstr("pretokenizers is missing"));
  EXPECT_THAT(pre("[]"), HasSubstr("a step without a type"));
}

TEST(HfTokenizer, RefusesByName) {
  EXPECT_THAT(Refusal("\"normalizer\":null", "\"normalizer\":{\"type\":\"Lowercase\"}"),
              HasSubstr("tokenizer.json: normalizer \"Lowercase\" is not supported"));
  EXPECT_THAT(Refusal("\"type\":\"BPE\"", "\"type\":\"WordPiece\""), HasSubstr("\"WordPiece\""));
  EXPECT_THAT(Refusal("\"type\":\"BPE\"", "\"end_of_word_suffix\":\"</w>\""),
              HasSubstr("model.end_of_word_suffix"));
  EXPECT_THAT(Refusal("\"decoder\":{\"type\":\"ByteLevel\"}", "\"decoder\":{\"type\":\"CTC\"}"),
              HasSubstr("decoder \"CTC\""));
  EXPECT_THAT(Refusal("\"post_processor\":null", "\"post_processor\":{\"type\":\"Bert\"}"),
              HasSubstr("post_processor \"Bert\""));
  EXPECT_THAT(Refusal("\"special\":false", "\"special\":false,\"lstrip\":true"),
              HasSubstr("added_tokens[1]: token \"<tool>\": lstrip"));
}

TEST(HfTokenizer, RefusesWhatContradictsItself) {
  EXPECT_THAT(Refusal("\"b\":1", "\"b\":0"), HasSubstr("id 0 belongs to \"a\" and to \"b\""));
  EXPECT_THAT(Refusal("{\"id\":5", "{\"id\":-5"),
              HasSubstr("added_tokens[0]: an id expected, -5 found"));
  EXPECT_THAT(Refusal("\"b\":1", "\"b\":-1"), HasSubstr("an id expected, -1 found"));
  EXPECT_THAT(Refusal("\"b\":1", "\"b\":4194304"), HasSubstr("an id below 4194304"));
  EXPECT_THAT(Refusal("\"b\":1", "\"a\":1"), HasSubstr("key \"a\" appears twice"));
  EXPECT_THAT(Refusal("\"id\":5", "\"id\":3"), HasSubstr("id 3 belongs to \"ab\""));
  EXPECT_THAT(Refusal("\"id\":5", "\"id\":8"),
              HasSubstr("vocab_size is 8, but the tokenizer has 9"));
  EXPECT_THAT(Refusal("\"a b\"", "\"ab\""), HasSubstr("model.merges[0]: two texts expected"));
  EXPECT_THAT(Refusal("[\"ab\",\"c\"]", "[\"ab\"]"), HasSubstr("model.merges[1]: two texts"));
  EXPECT_THAT(Refusal("[\"ab\",\"c\"]", "[\"a b\",\"c\"]"), HasSubstr("a space inside"));
  EXPECT_THAT(Refusal("\"merges\"", "\"others\""), HasSubstr("model.merges is missing"));
  EXPECT_THAT(Refusal("\"vocab\"", "\"words\""), HasSubstr("model.vocab is missing"));
  EXPECT_THAT(Refusal("\"model\"", "\"brain\""), HasSubstr("model is missing"));
  EXPECT_THAT(ReadJson("[1").error, HasSubstr("tokenizer.json: not valid JSON"));
  EXPECT_THAT(ReadJson(kByteLevel, 1 << 20).error, HasSubstr("the tokenizer has 7 tokens"));
}

TEST(HfTokenizer, UnderlineModelsGetScores) {
  const Outcome outcome = ReadJson(kUnderline, 9);
  ASSERT_EQ(outcome.error, "");
  EXPECT_EQ(outcome.Text("tokenizer.ggml.model"), "llama");
  EXPECT_EQ(outcome.Text("tokenizer.ggml.pre"), "(none)");
  EXPECT_THAT(*outcome.metadata.GetInts("tokenizer.ggml.token_type").value(),
              ElementsAre(2, 3, 6, 1, 1, 1, 1, 1, 1));
  const auto scores = *outcome.metadata.GetFloats("tokenizer.ggml.scores").value();
  EXPECT_EQ(scores[6], 0);   // ab
  EXPECT_EQ(scores[7], -1);  // _a
  EXPECT_EQ(scores[8], -2);  // _ab
  EXPECT_LT(scores[4], -2);
  EXPECT_EQ(outcome.metadata.GetBool("tokenizer.ggml.add_space_prefix").value(), true);
  EXPECT_EQ(outcome.metadata.GetBool("tokenizer.ggml.add_bos_token").value(), true);
  EXPECT_EQ(outcome.Uint("tokenizer.ggml.bos_token_id"), 1u);
  EXPECT_EQ(outcome.Uint("tokenizer.ggml.unknown_token_id"), 0u);
}

TEST(HfTokenizer, UnderlineMergesThatScoresCannotSay) {
  for (const auto& [from, to] : {
           std::pair("\"a b\",", ""),                                  // ab is never made
           std::pair("\"\u2581 ab\",\"\u2581a b\"", "\"\u2581 ab\""),  // one way is missing
           std::pair("\"\u2581 a\",\"\u2581 ab\"", "\"\u2581 ab\",\"\u2581 a\""),  // apart
       }) {
    EXPECT_THAT(ReadJson(Replaced(kUnderline, from, to), 9).error,
                HasSubstr("tokenizer.model is needed"));
  }
  EXPECT_THAT(ReadJson(Replaced(kUnderline, "\"a b\"", "\"a x\""), 9).error,
              HasSubstr("model.merges[0]"));
}

TEST(HfTokenizer, SpecialIdsAndWhoIsBelieved) {
  constexpr std::string_view kConfig = R"({"bos_token_id":0,"eos_token_id":5})";
  Outcome outcome = Read({.tokenizer_json = kByteLevel}, 8, kConfig);
  EXPECT_EQ(outcome.Uint("tokenizer.ggml.bos_token_id"), 0u);
  EXPECT_EQ(outcome.Uint("tokenizer.ggml.eos_token_id"), 5u);
  outcome =
      Read({.tokenizer_json = kByteLevel, .generation_config = R"({"eos_token_id":[6,5,4,3]})"}, 8,
           kConfig);
  EXPECT_EQ(outcome.Uint("tokenizer.ggml.bos_token_id"), 0u);
  EXPECT_EQ(outcome.Uint("tokenizer.ggml.eos_token_id"), 6u);
  EXPECT_EQ(outcome.Uint("tokenizer.ggml.eot_token_id"), 5u);
  EXPECT_EQ(outcome.Uint("tokenizer.ggml.eom_token_id"), 4u);
  EXPECT_THAT(*outcome.metadata.GetInts("bittern.end_token_ids").value(), ElementsAre(6, 5, 4, 3));
  outcome = Read({.tokenizer_json = kByteLevel,
                  .tokenizer_config = R"({"eos_token":{"content":"<|end|>"},"bos_token":null})"});
  EXPECT_EQ(outcome.Uint("tokenizer.ggml.eos_token_id"), 5u);
  EXPECT_EQ(outcome.metadata.Find("tokenizer.ggml.bos_token_id"), nullptr);
  outcome = Read({.tokenizer_json = kByteLevel}, 8, R"({"eos_token_id":8})");
  EXPECT_THAT(outcome.error, HasSubstr("special token id 8 is not among the 8 tokens"));
  outcome = Read({.tokenizer_json = kByteLevel}, 8, R"({"eos_token_id":"five"})");
  EXPECT_THAT(outcome.error, HasSubstr("config.json: eos_token_id: ids expected, \"five\" found"));
}

TEST(HfTokenizer, TheTokenPutBehindATextIsTheFirstEos) {
  const std::string behind = Replaced(
      kByteLevel, R"("post_processor":null)",
      R"("post_processor":{"type":"TemplateProcessing","single":[{"Sequence":{"id":"A"}},)"
      R"({"SpecialToken":{"id":"<tool>"}}],"special_tokens":{"<tool>":{"id":"<tool>","ids":[6]}}})");
  const Outcome outcome = Read({.tokenizer_json = behind}, 8, R"({"eos_token_id":[5,6]})");
  EXPECT_EQ(outcome.Uint("tokenizer.ggml.eos_token_id"), 6u);
  EXPECT_EQ(outcome.Uint("tokenizer.ggml.eot_token_id"), 5u);
  EXPECT_EQ(outcome.metadata.Find("tokenizer.ggml.eom_token_id"), nullptr);
  EXPECT_EQ(outcome.metadata.GetBool("tokenizer.ggml.add_eos_token").value(), true);
}

TEST(HfTokenizer, LlamaTokenizersSayThemselvesWhatTheyAdd) {
  constexpr std::string_view kSays =
      R"({"tokenizer_class":"LlamaTokenizerFast","add_bos_token":false,"add_eos_token":true})";
  Outcome outcome = Read({.tokenizer_json = kUnderline, .tokenizer_config = kSays}, 9);
  EXPECT_EQ(outcome.metadata.GetBool("tokenizer.ggml.add_bos_token").value(), false);
  EXPECT_EQ(outcome.metadata.GetBool("tokenizer.ggml.add_eos_token").value(), true);
  const std::string other = Replaced(kSays, "LlamaTokenizerFast", "PreTrainedTokenizerFast");
  outcome = Read({.tokenizer_json = kUnderline, .tokenizer_config = other}, 9);
  EXPECT_EQ(outcome.metadata.GetBool("tokenizer.ggml.add_bos_token").value(), true);
  EXPECT_EQ(outcome.metadata.GetBool("tokenizer.ggml.add_eos_token").value(), false);
}

TEST(HfTokenizer, ChatTemplates) {
  const auto read = [](std::string_view config, std::optional<std::string_view> file) {
    return Read({.tokenizer_json = kByteLevel, .tokenizer_config = config, .chat_template = file})
        .Text("tokenizer.chat_template");
  };
  EXPECT_EQ(read(R"({"chat_template":"one"})", std::nullopt), "one");
  EXPECT_EQ(read(R"({"chat_template":"one"})", "two"), "two");
  EXPECT_EQ(read(R"({"chat_template":[{"name":"tool","template":"t"},)"
                 R"({"name":"default","template":"d"}]})",
                 std::nullopt),
            "d");
  EXPECT_EQ(read("{}", std::nullopt), "(none)");
}

TEST(HfTokenizer, SentencePieceFileWinsOverItsJson) {
  std::ifstream file(BITTERN_SOURCE_DIR "/src/tokenizer/testdata/spm_bytes.model",
                     std::ios::binary);
  std::ostringstream model;
  model << file.rdbuf();
  const std::string bytes = model.str();
  const std::string json = Replaced(kUnderline, R"({"id":1,"content":"<s>","special":true})",
                                    R"({"id":700,"content":"<pad>","special":true})");
  const Outcome outcome = Read({.tokenizer_json = json,
                                .tokenizer_model = bytes,
                                .tokenizer_config = R"({"added_tokens_decoder":{"0":{"content":)"
                                                    R"("<unk>"},"702":{"content":"<y>"}}})",
                                .added_tokens = R"({"<x>":701,"<pad>":700})"},
                               703);
  ASSERT_EQ(outcome.error, "");
  const auto tokens = outcome.Strings("tokenizer.ggml.tokens");
  EXPECT_EQ(tokens[3], "<ud>");
  EXPECT_EQ(tokens[700], "<pad>");
  EXPECT_EQ(tokens[701], "<x>");
  EXPECT_EQ(tokens[702], "<y>");
  EXPECT_EQ((*outcome.metadata.GetInts("tokenizer.ggml.token_type").value())[701], 3);
  EXPECT_EQ((*outcome.metadata.GetInts("tokenizer.ggml.token_type").value())[702], 4);
  for (const char* bad : {R"({"x":{"content":"y"}})", R"({"9":{}})", R"({"1":{"content":"z"}})"}) {
    const std::string config = R"({"added_tokens_decoder":)" + std::string(bad) + "}";
    EXPECT_THAT(Read({.tokenizer_model = bytes, .tokenizer_config = config}).error,
                HasSubstr("tokenizer_config.json"))
        << bad;
  }
  // A byte-level tokenizer.json is no form of it, and counts.
  EXPECT_EQ(
      Read({.tokenizer_json = kByteLevel, .tokenizer_model = bytes}).Text("tokenizer.ggml.model"),
      "gpt2");
}

TEST(SentencePieceModel, CutAndChangedBytesNeverCrash) {
  std::ifstream file(BITTERN_SOURCE_DIR "/src/tokenizer/testdata/spm_unknown.model",
                     std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  const std::string model = text.str();
  ASSERT_TRUE(ReadSentencePieceModel(model));
  int refused = 0;
  for (std::size_t i = 0; i < model.size(); ++i) {
    const std::string cut = model.substr(0, i);
    refused += ReadSentencePieceModel(cut) ? 0 : 1;
    std::string changed = model;
    changed[i] = static_cast<char>(changed[i] ^ 0xff);
    refused += ReadSentencePieceModel(changed) ? 0 : 1;
  }
  EXPECT_GT(refused, static_cast<int>(model.size()));
}

TEST(SentencePieceModel, RefusesByName) {
  const auto refusal = [](std::string_view bytes) {
    const auto vocabulary = ReadSentencePieceModel(bytes);
    return vocabulary ? std::string("read") : vocabulary.error().message;
  };
  using std::string_literals::operator""s;
  const std::string piece = "\x0a\x03\x0a\x01"s + "a";  // pieces { piece: "a" }
  const std::string bpe = "\x12\x02\x18\x02";           // model_type: 2
  const std::string identity = "\x1a\x02\x20\x00"s;     // remove_extra_whitespaces: 0
  EXPECT_EQ(refusal(piece + bpe + identity), "read");
  EXPECT_THAT(refusal(""), HasSubstr("no pieces"));
  EXPECT_THAT(refusal(piece + identity), HasSubstr("type unigram"));
  EXPECT_THAT(refusal(piece + "\x12\x02\x18\x04" + identity), HasSubstr("type char"));
  EXPECT_THAT(refusal(piece + bpe), HasSubstr("remove_extra_whitespaces"));
  EXPECT_THAT(refusal(piece + bpe + "\x1a\x05\x12\x01x\x20\x00"s),
              HasSubstr("precompiled_charsmap"));
  EXPECT_THAT(refusal(piece + bpe + "\x1a\x04\x20\x00\x28\x00"s), HasSubstr("escape_whitespaces"));
  EXPECT_THAT(refusal(piece + "\x12\x05\x18\x02\xc0\x01\x01"s + identity),
              HasSubstr("treat_whitespace_as_suffix"));
  EXPECT_THAT(refusal("\x0a\x05\x0a\x01"s + "a\x18\x07"), HasSubstr("type 7"));
  EXPECT_THAT(refusal("\x0a\x02\x0a\x00"s), HasSubstr("0 bytes"));
  EXPECT_THAT(refusal("\x0b"), HasSubstr("wire type 3"));
  EXPECT_THAT(refusal("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), HasSubstr("a varint"));
  EXPECT_THAT(refusal("\x0a\x7f"), HasSubstr("a field needs 127 bytes"));
}

TEST(RankFile, TokensMergesAndSpecials) {
  // "a", "b", "ab", "aba": base64 of each, then its rank.
  const auto vocabulary = ReadRankFile("YQ== 0\nYg== 1\nYWI= 2\nYWJh 3\n");
  ASSERT_TRUE(vocabulary) << vocabulary.error().message;
  ASSERT_EQ(vocabulary->tokens.size(), 4u + 256u);
  EXPECT_EQ(vocabulary->tokens[3], "aba");
  EXPECT_EQ(vocabulary->tokens[4], "<|begin_of_text|>");
  EXPECT_EQ(vocabulary->tokens[4 + 6], "<|start_header_id|>");
  EXPECT_EQ(vocabulary->tokens[4 + 9], "<|eot_id|>");
  EXPECT_EQ(vocabulary->tokens[4 + 255], "<|reserved_special_token_250|>");
  EXPECT_THAT(vocabulary->merges, ElementsAre("a b", "ab a"));
  EXPECT_EQ(vocabulary->bos, 4u);
  EXPECT_EQ(vocabulary->eos, 5u);
  EXPECT_TRUE(LooksLikeRankFile("YQ== 0\n"));
  EXPECT_FALSE(LooksLikeRankFile("\x0a\x03\x0a\x01"));
  EXPECT_FALSE(LooksLikeRankFile(""));
}

/// The line of a token of 3 * `triples` zero bytes and what the base64 of `end` stands for.
std::string RankLine(std::size_t triples, std::string_view end, std::size_t rank) {
  return std::string(4 * triples, 'A') + std::string(end) + " " + std::to_string(rank) + "\n";
}

TEST(RankFile, TokensAreOf256Bytes) {
  EXPECT_TRUE(ReadRankFile(RankLine(85, "AA==", 0)));
  const auto vocabulary = ReadRankFile(RankLine(0, "AA==", 0) + RankLine(85, "AAA=", 1));
  ASSERT_FALSE(vocabulary);
  EXPECT_THAT(vocabulary.error().message,
              AllOf(HasSubstr("line 2"), HasSubstr("256 bytes expected"), HasSubstr("257")));
}

// Runs of zeros, and the same before each of 100 ends: a file of 2 MB whose merges take 90.
TEST(RankFile, MergesAreBounded) {
  std::string text;
  std::size_t rank = 0;
  for (std::size_t i = 0; i < 85; ++i) {
    for (const char* end : {"AA==", "AAA=", "AAAA"}) text += RankLine(i, end, rank++);
  }
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
  for (std::size_t n = 0; n < 100; ++n) {
    const std::string end = {'B', kDigits[n / 10], kDigits[n % 10], 'B'};
    for (std::size_t i = 0; i < 85; ++i) text += RankLine(i, end, rank++);
  }
  const auto vocabulary = ReadRankFile(text);
  ASSERT_FALSE(vocabulary);
  EXPECT_THAT(vocabulary.error().message, HasSubstr("ways"));
}

TEST(RankFile, RefusesByLine) {
  for (const char* text : {"YQ== 1\n", "YQ== 0\nYg== 0\n", "YQ=\n", "YQ== x\n", " 0\n", "YQ==\n",
                           "Y*== 0\n", "YQ== 0\n\n", "==== 0\n", "YQ== -1\n"}) {
    const auto vocabulary = ReadRankFile(text);
    ASSERT_FALSE(vocabulary) << text;
    EXPECT_THAT(vocabulary.error().message, HasSubstr("base64 and the rank"));
  }
}

}  // namespace
}  // namespace bittern::formats
