// SPDX-License-Identifier: Apache-2.0
// A folder written for Hugging Face is read back as the keys it was made from.
#include "formats/hf/hf_writer.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/files/mapped_file.hpp"
#include "base/json/json.hpp"
#include "formats/hf/hf_config.hpp"
#include "formats/hf/hf_names.hpp"
#include "formats/hf/hf_tokenizer.hpp"
#include "formats/hf/hf_vocabulary.hpp"
#include "formats/pre_rules.hpp"
#include "formats/safetensors/safetensors_reader.hpp"
#include "formats/safetensors/safetensors_writer.hpp"

namespace bittern::formats {
namespace {

Json Parsed(const std::string& text) {
  auto json = Json::Parse(text, kTokenizerJsonLimits);
  EXPECT_TRUE(json) << json.error().message;
  return *std::move(json);
}

const std::string& TextOf(const std::vector<TextFile>& files, std::string_view name) {
  for (const TextFile& file : files) {
    if (file.name == name) return file.text;
  }
  ADD_FAILURE() << name;
  return files[0].text;
}

void SetInts(std::string_view key, std::vector<std::int32_t> values, MetadataDraft* draft) {
  const std::string raw(reinterpret_cast<const char*>(values.data()), values.size() * 4);
  const std::string_view owned = draft->Own(raw);
  draft->Set(key, {MetaType::kArray, MetaArray{MetaType::kI32,
                                               values.size(),
                                               std::as_bytes(std::span(owned.data(), owned.size())),
                                               {}}});
}

MetadataDraft Network(std::string architecture) {
  MetadataDraft draft;
  const std::string p = architecture + ".";
  draft.SetString("general.architecture", architecture);
  draft.SetUint32(p + "vocab_size", 6);
  draft.SetUint32(p + "context_length", 4096);
  draft.SetUint32(p + "embedding_length", 64);
  draft.SetUint32(p + "block_count", 2);
  draft.SetUint32(p + "feed_forward_length", 96);
  draft.SetUint32(p + "attention.head_count", 4);
  draft.SetUint32(p + "attention.head_count_kv", 2);
  draft.SetFloat(p + "attention.layer_norm_rms_epsilon", 1e-5f);
  draft.SetFloat(p + "rope.freq_base", 500000);
  return draft;
}

/// Writes config.json and reads it as hf_config does.
Metadata ConfigBack(const MetadataDraft& draft) {
  Metadata back;
  const auto files = HfConfigFiles(draft, true);
  EXPECT_TRUE(files) << files.error().message;
  const auto config = ReadHfConfig(Parsed(TextOf(*files, "config.json")), &back);
  EXPECT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->linear_class, "autobitlinear");
  EXPECT_EQ(config->float_weights, HfFloatWeights::kRefused);
  EXPECT_TRUE(config->tied_head.value_or(false));
  return back;
}

TEST(HfWriter, ConfigComesBack) {
  for (const char* name : {"bitnet-b1.58", "bitnet", "llama", "qwen3"}) {
    const MetadataDraft draft = Network(name);
    const Metadata back = ConfigBack(draft);
    for (const auto& entry : draft.entries()) {
      const MetaValue* value = back.Find(entry.key);
      ASSERT_NE(value, nullptr) << entry.key;
      EXPECT_EQ(value->value.index(), entry.value.value.index()) << entry.key;
      if (const auto* number = std::get_if<std::uint64_t>(&entry.value.value)) {
        EXPECT_EQ(std::get<std::uint64_t>(value->value), *number) << entry.key;
      }
      if (const auto* number = std::get_if<double>(&entry.value.value)) {
        EXPECT_EQ(std::get<double>(value->value), *number) << entry.key;
      }
    }
  }
}

TEST(HfWriter, ConfigKeepsWhatIsSpecial) {
  MetadataDraft draft = Network("llama");
  draft.SetUint32("llama.attention.key_length", 32);
  draft.SetUint32("llama.attention.value_length", 32);
  draft.SetString("llama.rope.scaling.type", "llama3");
  draft.SetFloat("llama.rope.scaling.factor", 8);
  draft.SetFloat("llama.rope.scaling.low_freq_factor", 1);
  draft.SetFloat("llama.rope.scaling.high_freq_factor", 4);
  draft.SetUint32("llama.rope.scaling.original_context_length", 8192);
  const Metadata back = ConfigBack(draft);
  EXPECT_EQ(*back.GetUint("llama.attention.key_length"), 32u);
  EXPECT_EQ(*back.GetString("llama.rope.scaling.type"), "llama3");
  EXPECT_EQ(*back.GetFloat("llama.rope.scaling.high_freq_factor"), 4.0);
  EXPECT_EQ(*back.GetUint("llama.rope.scaling.original_context_length"), 8192u);
}

TEST(HfWriter, ConfigRefusals) {
  EXPECT_FALSE(HfConfigFiles(Network("gemma3"), true));
  MetadataDraft rotated = Network("qwen3");
  rotated.SetUint32("prism.hadamard.version", 1);
  EXPECT_FALSE(HfConfigFiles(rotated, true));
  MetadataDraft incomplete = Network("llama");
  incomplete.Remove("llama.block_count");
  const auto refused = HfConfigFiles(incomplete, true);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("llama.block_count"), std::string::npos);
}

TEST(HfWriter, EveryEndOfText) {
  MetadataDraft draft = Network("llama");
  draft.SetUint32("tokenizer.ggml.eos_token_id", 5);
  draft.SetUint32("tokenizer.ggml.eot_token_id", 4);
  SetInts("bittern.end_token_ids", {4, 3}, &draft);
  const auto files = HfConfigFiles(draft, true);
  ASSERT_TRUE(files);
  const Json config = Parsed(TextOf(*files, "generation_config.json"));
  const Json::Array& ends = *config.Find("eos_token_id")->AsArray();
  ASSERT_EQ(ends.size(), 3u);
  EXPECT_EQ(ends[2].AsUint(), 3u);
}

MetadataDraft ByteLevelVocabulary(std::string pre) {
  MetadataDraft draft;
  draft.SetString("tokenizer.ggml.model", "gpt2");
  draft.SetString("tokenizer.ggml.pre", std::move(pre));
  draft.SetStrings("tokenizer.ggml.tokens", {"a", "b",
                                             "\xc4\xa0"
                                             "a",
                                             "ab", "<|begin|>", "<user>"});
  SetInts("tokenizer.ggml.token_type", {1, 1, 1, 1, 3, 4}, &draft);
  draft.SetStrings("tokenizer.ggml.merges", {"a b", "\xc4\xa0 a"});
  draft.SetUint32("tokenizer.ggml.bos_token_id", 4);
  draft.SetUint32("tokenizer.ggml.eos_token_id", 4);
  draft.SetBool("tokenizer.ggml.add_bos_token", true);
  return draft;
}

/// Writes tokenizer.json and reads it as a folder's.
HfVocabulary VocabularyBack(const MetadataDraft& draft) {
  const auto files = HfTokenizerFiles(draft);
  EXPECT_TRUE(files) << files.error().message;
  if (!files) return {};
  auto vocabulary = ReadTokenizerJson(Parsed(TextOf(*files, "tokenizer.json")));
  EXPECT_TRUE(vocabulary) << vocabulary.error().message;
  return vocabulary ? *std::move(vocabulary) : HfVocabulary{};
}

TEST(HfWriter, ByteLevelTokenizerComesBack) {
  for (const char* pre : {"llama-bpe", "qwen2", "gpt-2", "falcon3",
                          "hf:Digits(individual);Punctuation(Isolated);ByteLevel(regex)"}) {
    const HfVocabulary back = VocabularyBack(ByteLevelVocabulary(pre));
    EXPECT_EQ(back.pre, pre);
    EXPECT_EQ(back.tokens, (std::vector<std::string>{"a", "b",
                                                     "\xc4\xa0"
                                                     "a",
                                                     "ab", "<|begin|>", "<user>"}));
    EXPECT_EQ(back.types, (std::vector<std::int32_t>{1, 1, 1, 1, 3, 4}));
    EXPECT_EQ(back.merges, (std::vector<std::string>{"a b", "\xc4\xa0 a"}));
    EXPECT_EQ(back.add_bos, true) << pre;
    EXPECT_EQ(back.bos, 4u);
    EXPECT_EQ(back.ignore_merges, std::string_view(pre) == "llama-bpe");
    EXPECT_EQ(back.normalizes_nfc.value_or(false), std::string_view(pre) == "qwen2");
  }
  // Rules that only the table knows are written as its patterns, and recognised again.
  for (const PreRules& rules : AllPreRules()) {
    const HfVocabulary back =
        VocabularyBack(ByteLevelVocabulary(std::string(*rules.names.begin())));
    const PreRules* same = FindPreRules(back.pre);
    ASSERT_NE(same, nullptr) << back.pre;
    EXPECT_TRUE(std::ranges::equal(same->patterns, rules.patterns)) << back.pre;
    EXPECT_EQ(back.ignore_merges, rules.ignore_merges);
  }
  EXPECT_FALSE(HfTokenizerFiles(ByteLevelVocabulary("unheard-of")));
  EXPECT_FALSE(HfTokenizerFiles(MetadataDraft()));
}

TEST(HfWriter, SentencePieceTokenizerComesBack) {
  MetadataDraft draft;
  draft.SetString("tokenizer.ggml.model", "llama");
  const std::vector<std::string> tokens = {"<unk>",
                                           "<s>",
                                           "</s>",
                                           "<0x41>",
                                           "ab",
                                           "\u2581ab",
                                           "\u2581",
                                           "a",
                                           "b",
                                           "\u2581"
                                           "a"};
  draft.SetStrings("tokenizer.ggml.tokens", tokens);
  SetInts("tokenizer.ggml.token_type", {2, 3, 3, 6, 1, 1, 1, 1, 1, 1}, &draft);
  std::vector<float> scores = {0, 0, 0, 0, 0, -2, -3, -4, -5, -1};
  const std::string raw(reinterpret_cast<const char*>(scores.data()), scores.size() * 4);
  const std::string_view owned = draft.Own(raw);
  draft.Set("tokenizer.ggml.scores",
            {MetaType::kArray, MetaArray{MetaType::kF32,
                                         scores.size(),
                                         std::as_bytes(std::span(owned.data(), owned.size())),
                                         {}}});
  draft.SetUint32("tokenizer.ggml.bos_token_id", 1);
  draft.SetUint32("tokenizer.ggml.eos_token_id", 2);
  const HfVocabulary back = VocabularyBack(draft);
  EXPECT_EQ(back.model, "llama");
  EXPECT_EQ(back.tokens, tokens);
  EXPECT_EQ(back.types, (std::vector<std::int32_t>{2, 3, 3, 6, 1, 1, 1, 1, 1, 1}));
  EXPECT_EQ(back.add_space_prefix, true);
  EXPECT_EQ(back.add_bos, true);
  // Scores are orders: ab before U+2581 a before U+2581 ab; single characters are never made.
  ASSERT_EQ(back.scores.size(), tokens.size());
  EXPECT_GT(back.scores[4], back.scores[9]);
  EXPECT_GT(back.scores[9], back.scores[5]);
  EXPECT_GT(back.scores[5], back.scores[7]);
}

TEST(HfWriter, Names) {
  EXPECT_EQ(*HfTensorName("token_embd.weight"), "model.embed_tokens.weight");
  EXPECT_EQ(*HfTensorName("output.weight"), "lm_head.weight");
  EXPECT_EQ(*HfTensorName("blk.12.attn_output.weight"), "model.layers.12.self_attn.o_proj.weight");
  EXPECT_EQ(*HfTensorName("blk.0.ffn_sub_norm.weight"), "model.layers.0.mlp.ffn_sub_norm.weight");
  for (const char* name : {"blk.x.attn_q.weight", "blk.0.attn_q", "rope_freqs.weight",
                           "blk.attn_q.weight", "attn_q.weight", "blk.0.other.weight"}) {
    EXPECT_FALSE(HfTensorName(name)) << name;
  }
}

TEST(SafetensorsWriter, ComesBackAligned) {
  const auto path = std::filesystem::path(testing::TempDir()) /
                    ("writer-" + std::to_string(getpid()) + ".safetensors");
  const std::vector<SafetensorsTensor> tensors = {
      {"a \"quoted\"", "U8", {2, 6}, 12}, {"b", "F32", {3}, 12}, {"c", "BF16", {1}, 2}};
  auto writer = SafetensorsWriter::Create(path, tensors);
  ASSERT_TRUE(writer);
  std::vector<std::byte> data(26);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::byte>(i);
  ASSERT_TRUE(writer->Append(std::span(data).first(20)));
  EXPECT_FALSE(writer->Finish());
  EXPECT_FALSE(writer->Append(data));
  ASSERT_TRUE(writer->Append(std::span(data).subspan(20)));
  ASSERT_TRUE(writer->Finish());
  const auto file = MappedFile::Open(path);
  ASSERT_TRUE(file);
  const auto read = ParseSafetensors(file->bytes());
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->data_start % 8, 0u);
  ASSERT_EQ(read->entries.size(), 3u);
  std::size_t at = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(read->entries[i].name, tensors[i].name);
    EXPECT_EQ(read->entries[i].dtype, tensors[i].dtype);
    EXPECT_EQ(read->entries[i].shape, tensors[i].shape);
    EXPECT_EQ(std::memcmp(read->entries[i].bytes.data(), data.data() + at, tensors[i].bytes), 0);
    at += tensors[i].bytes;
  }
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace bittern::formats
