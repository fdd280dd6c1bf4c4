// SPDX-License-Identifier: Apache-2.0
// Whole folders: the small real model against its GGUF, and made-up ones for what it lacks: shards,
// scales that divide, odd rows, contradictions.
#include "formats/hf/hf_folder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>

#include "base/float16.hpp"
#include "formats/hf/hf_folder_for_test.hpp"
#include "formats/ternary_source.hpp"
#include "quant/blocks/absmean.hpp"
#include "quant/hf_packed.hpp"
#include "quant/i2s.hpp"

namespace bittern::formats {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

std::optional<fs::path> RealModel() {
  const char* shared = std::getenv("BITTERN_SHARED");
  const fs::path folder =
      fs::path(shared != nullptr ? shared : BITTERN_SOURCE_DIR "/../shared") / "models/kjv-5m";
  if (!fs::exists(folder)) return std::nullopt;
  return folder;
}

struct Ternary {
  std::vector<std::uint8_t> codes;
  float scale = 0;
};

Ternary ReadTernary(const Tensor& tensor) {
  const std::size_t rows = tensor.rows(), cols = tensor.row_elements();
  Ternary ternary{std::vector<std::uint8_t>(rows * cols), tensor.scale};
  if (tensor.format == quant::WeightFormat::kI2_S) {
    quant::UnpackI2s(tensor.bytes.first(rows * cols / 4), ternary.codes);
    ternary.scale *= quant::I2sScale(tensor.bytes);
  } else if (tensor.format == quant::WeightFormat::kHfPacked) {
    EXPECT_TRUE(quant::UnpackHfRows({tensor.bytes, rows, cols}, 0, rows, ternary.codes));
  } else {
    EXPECT_TRUE(tensor.quantize_absmean);
    const auto scale =
        quant::QuantizeAbsmean(tensor.format, tensor.bytes, rows, cols, ternary.codes);
    EXPECT_TRUE(scale);
    ternary.scale *= scale->scale;
  }
  return ternary;
}

void ExpectSameKeys(const Metadata& folder, const Metadata& gguf) {
  for (const Metadata::Entry& entry : gguf.entries()) {
    const std::string& key = entry.key;
    // Keys that a folder has no word for, or another one.
    if (key == "general.name" || key == "general.file_type" || key == "tokenizer.ggml.scores" ||
        key == "general.quantization_version" || key == "tokenizer.ggml.padding_token_id") {
      continue;
    }
    const MetaValue* found = folder.Find(key);
    ASSERT_NE(found, nullptr) << key;
    EXPECT_EQ(found->type, entry.value.type) << key;
    if (entry.value.type != MetaType::kArray) {
      EXPECT_EQ(found->value.index(), entry.value.value.index()) << key;
    }
  }
  for (const char* key :
       {"block_count", "embedding_length", "feed_forward_length", "vocab_size", "context_length",
        "attention.head_count", "attention.head_count_kv", "rope.dimension_count"}) {
    const std::string whole = std::string("bitnet-b1.58.") + key;
    EXPECT_EQ(folder.GetUint(whole).value(), gguf.GetUint(whole).value()) << key;
  }
  for (const char* key : {"rope.freq_base", "attention.layer_norm_rms_epsilon"}) {
    const std::string whole = std::string("bitnet-b1.58.") + key;
    EXPECT_EQ(folder.GetFloat(whole).value(), gguf.GetFloat(whole).value()) << key;
  }
}

void ExpectSameTokenizer(const Metadata& folder, const Metadata& gguf) {
  for (const char* key : {"tokenizer.ggml.tokens", "tokenizer.ggml.merges"}) {
    EXPECT_TRUE(std::ranges::equal(folder.GetStrings(key).value().value(),
                                   gguf.GetStrings(key).value().value()))
        << key;
  }
  EXPECT_EQ(folder.GetInts("tokenizer.ggml.token_type").value(),
            gguf.GetInts("tokenizer.ggml.token_type").value());
  for (const char* key : {"tokenizer.ggml.bos_token_id", "tokenizer.ggml.eos_token_id"}) {
    EXPECT_EQ(folder.GetUint(key).value(), gguf.GetUint(key).value()) << key;
  }
  for (const char* key : {"tokenizer.ggml.model", "tokenizer.chat_template"}) {
    EXPECT_EQ(folder.GetString(key).value(), gguf.GetString(key).value()) << key;
  }
  EXPECT_EQ(folder.GetBool("tokenizer.ggml.add_bos_token").value(), true);
  EXPECT_EQ(folder.GetString("tokenizer.ggml.pre").value(), "llama-bpe");
  EXPECT_EQ(folder.GetUint("tokenizer.ggml.eot_token_id").value(), 4089u);
  EXPECT_EQ(folder.GetBool("bittern.tokenizer.ignore_merges").value(), true);
}

TEST(HfFolderRealModel, SameAsItsGguf) {
  const auto folder = RealModel();
  if (!folder) GTEST_SKIP() << "no models/kjv-5m under BITTERN_SHARED";
  const Checkpoint gguf = HfFolderTest::Open(*folder / "kjv-5m-i2s.gguf");
  for (const char* name : {"hf-packed", "hf-bf16", "hf-packed/", "hf-packed/model.safetensors"}) {
    SCOPED_TRACE(name);
    const bool packed = std::string_view(name).starts_with("hf-packed");
    const Checkpoint hf = HfFolderTest::Open(*folder / name);
    EXPECT_EQ(hf.kind(), "Hugging Face folder");
    EXPECT_EQ(hf.metadata().GetString("general.name").value(), packed ? "hf-packed" : "hf-bf16");
    EXPECT_EQ(hf.metadata().GetString("bitnet-b1.58.hidden_activation").value(), "relu2");
    EXPECT_EQ(hf.metadata().GetString("bittern.rope_pairing").value(), "neox");
    ExpectSameKeys(hf.metadata(), gguf.metadata());
    ExpectSameTokenizer(hf.metadata(), gguf.metadata());
    ASSERT_EQ(hf.tensors().size(), gguf.tensors().size());
    for (const Tensor& expected : gguf.tensors()) {
      SCOPED_TRACE(expected.name);
      const Tensor* found = hf.Find(expected.name);
      ASSERT_NE(found, nullptr);
      EXPECT_EQ(found->shape, expected.shape);
      EXPECT_EQ(found->rank, expected.rank);
      if (expected.format != quant::WeightFormat::kI2_S) continue;
      const Ternary a = ReadTernary(expected), b = ReadTernary(*found);
      EXPECT_EQ(a.codes, b.codes);
      // The packed export rounds scales to bf16; masters give the GGUF's own.
      const float scale = packed ? BfloatToFloat(FloatToBfloat(a.scale)) : a.scale;
      EXPECT_EQ(b.scale, scale);
    }
  }
}

TEST_F(HfFolderTest, PackedRowsAndTheScaleThatDivides) {
  SafetensorsBuilder builder = Embedding();
  Write("model.safetensors", AddGate(builder, 4).Build());
  const Checkpoint checkpoint = Open(folder_);
  const Tensor* gate = checkpoint.Find("blk.0.ffn_gate.weight");
  ASSERT_NE(gate, nullptr);
  EXPECT_EQ(gate->format, quant::WeightFormat::kHfPacked);
  EXPECT_EQ(gate->row_elements(), 4u);
  EXPECT_EQ(gate->rows(), 6u);  // logical: two packed rows of three used fields
  EXPECT_EQ(gate->bytes.size(), 8u);
  EXPECT_EQ(gate->scale, 0.25f);
  EXPECT_FALSE(gate->quantize_absmean);
  EXPECT_EQ(checkpoint.Find("blk.0.ffn_gate.scale"), nullptr);
}

TEST_F(HfFolderTest, FactorsOfTheRotationAreTensors) {
  WriteConfig(R"("architectures":["LlamaForCausalLM"])",
              R"("architectures":["MiniCPMForCausalLM"],"scale_emb":12,"scale_depth":1.4,)"
              R"("dim_model_base":2,"rope_scaling":{"rope_type":"longrope","long_factor":[3,4],)"
              R"("short_factor":[1,2]})");
  Write("model.safetensors", Embedding().Build());
  const Checkpoint checkpoint = Open(folder_);
  for (const auto& [name, first] :
       {std::pair{"rope_factors_long.weight", 3.0f}, {"rope_factors_short.weight", 1.0f}}) {
    const Tensor* factors = checkpoint.Find(name);
    ASSERT_NE(factors, nullptr) << name;
    EXPECT_EQ(factors->row_elements(), 2u);
    float values[2];
    ASSERT_EQ(factors->bytes.size(), sizeof values);
    std::memcpy(values, factors->bytes.data(), sizeof values);
    EXPECT_EQ(values[0], first);
    EXPECT_EQ(values[1], first + 1);
  }
}

TEST_F(HfFolderTest, TencentsNamesOfNormsAreKnown) {
  WriteConfig(R"("LlamaForCausalLM")", R"("HunYuanDenseV1ForCausalLM")");
  SafetensorsBuilder builder = Embedding();
  for (const char* name : {"query", "key"}) {
    builder.AddZeros(std::string("model.layers.0.self_attn.") + name + "_layernorm.weight", "F32",
                     {4}, 16);
  }
  Write("model.safetensors", builder.Build());
  const Checkpoint checkpoint = Open(folder_);
  EXPECT_NE(checkpoint.Find("blk.0.attn_q_norm.weight"), nullptr);
  EXPECT_NE(checkpoint.Find("blk.0.attn_k_norm.weight"), nullptr);
}

TEST_F(HfFolderTest, WhatScalesMeanIsDecidedInWriting) {
  SafetensorsBuilder builder = Embedding();
  Write("model.safetensors", builder.Build());
  EXPECT_TRUE(Open(folder_).decisions().empty());
  Write("model.safetensors", AddGate(builder, 0.125f).Build());
  WriteConfig(R"(,"quantization_config":{"quant_method":"bitnet"})", "");
  const Checkpoint checkpoint = Open(folder_);
  EXPECT_EQ(checkpoint.Find("blk.0.ffn_gate.weight")->scale, 0.125f);
  ASSERT_EQ(checkpoint.decisions().size(), 1u);
  EXPECT_EQ(checkpoint.decisions()[0].choice, "multiplies");
  EXPECT_TRUE(checkpoint.decisions()[0].notable);
  // Opening the weights reports it.
  Decisions decisions;
  EXPECT_TRUE(TernaryOpener::Create(checkpoint, &decisions));
  EXPECT_EQ(decisions.size(), 1u);
}

TEST_F(HfFolderTest, TheScaleThatMultiplies) {
  WriteConfig(R"("quant_method")", R"("linear_class":"autobitlinear","quant_method")");
  SafetensorsBuilder builder = Embedding();
  Write("model.safetensors", AddGate(builder, 4).Build());
  EXPECT_EQ(Open(folder_).Find("blk.0.ffn_gate.weight")->scale, 4.0f);
}

TEST_F(HfFolderTest, ScalesAndWeightsBelongTogether) {
  SafetensorsBuilder builder = Embedding();
  builder.AddZeros("model.layers.0.mlp.gate_proj.weight", "U8", {2, 4}, 8);
  Write("model.safetensors", builder.Build());
  EXPECT_THAT(Refusal(), HasSubstr("its weight_scale is missing"));
  builder = Embedding();
  builder.Add("model.layers.0.mlp.gate_proj.weight_scale", "BF16", {1}, Bf16(1));
  Write("model.safetensors", builder.Build());
  EXPECT_THAT(Refusal(), HasSubstr("belongs to no packed weight"));
  builder = Embedding();
  builder.AddZeros("model.layers.0.mlp.gate_proj.weight", "U8", {2, 4}, 8)
      .AddZeros("model.layers.0.mlp.gate_proj.weight_scale", "F32", {2}, 8);
  Write("model.safetensors", builder.Build());
  EXPECT_THAT(Refusal(), HasSubstr("weight_scale: one float expected, 2 of type F32"));
}

TEST_F(HfFolderTest, PackedRowsMustFitTheConfiguration) {
  SafetensorsBuilder builder = Embedding();
  builder.AddZeros("model.layers.0.mlp.gate_proj.weight", "U8", {3, 4}, 12)
      .Add("model.layers.0.mlp.gate_proj.weight_scale", "BF16", {1}, Bf16(1));
  Write("model.safetensors", builder.Build());
  EXPECT_THAT(Refusal(), HasSubstr("2 packed rows expected for 6 rows of weights, 3 found"));
}

TEST_F(HfFolderTest, FloatWeightsByMode) {
  SafetensorsBuilder builder = Embedding();
  builder.AddZeros("model.layers.0.mlp.up_proj.weight", "BF16", {6, 4}, 48);
  Write("model.safetensors", builder.Build());
  EXPECT_THAT(Refusal(), HasSubstr("type U8 expected, since quantization_mode is \"offline\""));
  WriteConfig(R"("quant_method")", R"("quantization_mode":"online","quant_method")");
  EXPECT_TRUE(Open(folder_).Find("blk.0.ffn_up.weight")->quantize_absmean);
  WriteConfig(R"(,"quantization_config":{"quant_method":"bitnet"})", "");
  EXPECT_FALSE(Open(folder_).Find("blk.0.ffn_up.weight")->quantize_absmean);
}

TEST_F(HfFolderTest, FloatsThatAreTernaryAlreadyKeepTheirScales) {
  constexpr std::string_view kBitnet =
      R"({"architectures":["BitNetForCausalLM"],"hidden_act":"relu2","hidden_size":4,)"
      R"("intermediate_size":6,"num_hidden_layers":1,"num_attention_heads":1,)"
      R"("rms_norm_eps":1e-6,"rope_theta":10000.0,"max_position_embeddings":8,"vocab_size":3%})";
  constexpr std::string_view kOnline =
      R"(,"quantization_config":{"quant_method":"bitnet","quantization_mode":"online"})";
  const auto scale_of = [&](std::string_view quantization, float odd_one, Decisions* decisions) {
    std::string config(kBitnet);
    config.replace(config.find('%'), 1, quantization);
    Write("config.json", config);
    std::vector<float> weights(24, 0.5f);  // a third of them 0, so the mean is a third
    for (std::size_t i = 0; i < weights.size(); i += 3) weights[i] = 0;
    weights[23] = odd_one;
    Bytes bytes(weights.size() * 4);
    std::memcpy(bytes.data(), weights.data(), bytes.size());
    SafetensorsBuilder builder = Embedding();
    Write("model.safetensors",
          builder.Add("model.layers.0.mlp.up_proj.weight", "F32", {6, 4}, bytes).Build());
    const Checkpoint checkpoint = Open(folder_);
    auto opener = TernaryOpener::Create(checkpoint, decisions).value();
    const auto source = opener.Open(*checkpoint.Find("blk.0.ffn_up.weight")).value();
    std::vector<std::uint8_t> codes(24);
    std::vector<float> scales(6);
    EXPECT_TRUE(source.ReadRows(0, 6, codes.data(), scales.data()));
    EXPECT_EQ(codes[0], 1);
    EXPECT_EQ(codes[1], 2);
    return scales[0];
  };
  Decisions kept, online, masters;
  EXPECT_EQ(scale_of("", -0.5f, &kept), 0.5f);
  ASSERT_EQ(kept.size(), 1u);
  EXPECT_EQ(kept[0].choice, "as they are");
  EXPECT_TRUE(kept[0].notable);
  // transformers takes the mean whatever the weights are; that is said.
  EXPECT_EQ(scale_of(kOnline, -0.5f, &online), 1.0f / 3);
  ASSERT_EQ(online.size(), 1u);
  EXPECT_EQ(online[0].choice, "quantised by absmean");
  EXPECT_TRUE(online[0].notable);
  EXPECT_LT(scale_of("", 0.25f, &masters), 1.0f / 3);
  EXPECT_TRUE(masters.empty());
}

TEST_F(HfFolderTest, ShardsMustAgreeWithTheIndex) {
  SafetensorsBuilder rest;
  Write("a.safetensors", Embedding().Build());
  Write("b.safetensors", AddGate(rest, 1).Build());
  constexpr const char* kGate = "model.layers.0.mlp.gate_proj";
  const std::string index = R"({"weight_map":{"model.embed_tokens.weight":"a.safetensors",")" +
                            std::string(kGate) + R"(.weight":"b.safetensors",")" + kGate +
                            R"(.weight_scale":"b.safetensors"}})";
  Write("model.safetensors.index.json", index);
  for (const char* name : {"", "a.safetensors", "b.safetensors"}) {
    const Checkpoint checkpoint = Open(folder_ / name);
    EXPECT_EQ(checkpoint.tensors().size(), 2u) << name;
    EXPECT_EQ(checkpoint.file_bytes(),
              fs::file_size(folder_ / "a.safetensors") + fs::file_size(folder_ / "b.safetensors"));
    checkpoint.Release(*checkpoint.Find("blk.0.ffn_gate.weight"));
  }
  // A file that the index does not know is a model of its own.
  Write("c.safetensors", Embedding().Build());
  EXPECT_EQ(Open(folder_ / "c.safetensors").tensors().size(), 1u);

  const auto with = [&](std::string_view from, std::string_view to) {
    std::string text = index;
    text.replace(text.find(from), from.size(), to);
    Write("model.safetensors.index.json", text);
    return Refusal();
  };
  EXPECT_THAT(with("\"a.safetensors\"", "\"b.safetensors\""),
              HasSubstr("\"model.embed_tokens.weight\" is not in b.safetensors"));
  EXPECT_THAT(with("\"model.embed", "\"model.umbed"), HasSubstr("not so in"));
  EXPECT_THAT(with("\"model.embed", R"("extra":"a.safetensors","model.embed)"),
              HasSubstr("tensor \"extra\" is not in a.safetensors"));
  EXPECT_THAT(with("\"a.safetensors\"", "\"d.safetensors\""), HasSubstr("d.safetensors"));
  EXPECT_THAT(with("\"a.safetensors\"", "\"../a.safetensors\""), HasSubstr("the plain name"));
}

TEST_F(HfFolderTest, UnknownNamesAndTypesAreRefused) {
  const auto with = [&](const char* name, const char* dtype) {
    SafetensorsBuilder builder = Embedding();
    builder.AddZeros(name, dtype, {4}, std::string_view(dtype) == "F32" ? 16 : 4);
    Write("model.safetensors", builder.Build());
    return Refusal();
  };
  EXPECT_THAT(with("model.layers.0.mlp.gate_proj.extra", "F32"), HasSubstr("part of no network"));
  EXPECT_THAT(with("model.layers.x.input_layernorm.weight", "F32"),
              HasSubstr("part of no network"));
  EXPECT_THAT(with("model.layers.1.input_layernorm.weight", "F32"), HasSubstr("layers 0 to 0"));
  EXPECT_THAT(with("model.layers.99999999999999999999.input_layernorm.weight", "F32"),
              HasSubstr("part of no network"));
  EXPECT_THAT(with("model.norm.weight", "U8"), HasSubstr("type F32, F16 or BF16 expected"));
  EXPECT_EQ(with("model.norm.weight", "F32"), "opened");
  EXPECT_EQ(with("model.layers.0.self_attn.rotary_emb.inv_freq", "F32"), "opened");
  EXPECT_EQ(with("model.layers.0.self_attn.q_proj.bias", "F32"), "opened");
  EXPECT_EQ(with("model.layers.0.self_attn.q_proj.rms_norm.weight", "F32"), "opened");
  EXPECT_NE(Open(folder_).Find("blk.0.attn_q_norm_in.weight"), nullptr);
}

TEST_F(HfFolderTest, TiedHeads) {
  SafetensorsBuilder builder = Embedding();
  Write("model.safetensors", builder.Build());
  EXPECT_EQ(Refusal(), "opened");
  WriteConfig("\"hidden_size\"", "\"tie_word_embeddings\":false,\"hidden_size\"");
  EXPECT_THAT(Refusal(), HasSubstr("\"lm_head.weight\" is missing"));
  Write("model.safetensors", builder.AddZeros("lm_head.weight", "F32", {3, 4}, 48).Build());
  EXPECT_NE(Open(folder_).Find("output.weight"), nullptr);
  WriteConfig("\"hidden_size\"", "\"tie_word_embeddings\":true,\"hidden_size\"");
  EXPECT_EQ(Open(folder_).Find("output.weight"), nullptr);
}

TEST_F(HfFolderTest, DebrisOfDownloadsIsNamed) {
  constexpr std::string_view kPointer =
      "version https://git-lfs.github.com/spec/v1\noid sha256:0\n";
  constexpr std::string_view kPage = "<!DOCTYPE html><html>";
  Write("model.safetensors", Embedding().Build());
  ASSERT_EQ(Refusal(), "opened");
  for (const char* name : {"tokenizer.json", "tokenizer.model", "tokenizer_config.json",
                           "generation_config.json", "chat_template.jinja"}) {
    Write(name, kPointer);
    EXPECT_THAT(Refusal(), HasSubstr(std::string(name) + ": a Git LFS pointer"));
    Write(name, kPage);
    EXPECT_THAT(Refusal(), HasSubstr(std::string(name) + ": a web page"));
    fs::remove(folder_ / name);
  }
  Write("model.safetensors", kPointer);
  EXPECT_THAT(Refusal(), HasSubstr("model.safetensors: a Git LFS pointer"));
  Write("model.safetensors", "Entry not found");
  EXPECT_THAT(Refusal(), HasSubstr("model.safetensors: a text file, not a model: \"Entry not"));
  Write("model.safetensors.index.json", kPointer);
  EXPECT_THAT(Refusal(), HasSubstr("model.safetensors.index.json: a Git LFS pointer"));
  Write("config.json", kPage);
  EXPECT_THAT(Refusal(), HasSubstr("config.json: a web page"));
}

TEST_F(HfFolderTest, WithoutWeightsNamesWhatIsThere) {
  EXPECT_THAT(Refusal(), HasSubstr("model.safetensors.index.json expected in the folder, no "
                                   "weights found"));
  Write("pytorch_model.bin", "x");
  EXPECT_THAT(Refusal(), AllOf(HasSubstr("pytorch_model.bin found"),
                               HasSubstr("convert it to safetensors first")));
  Write("model-00001-of-00002.safetensors", "x");
  EXPECT_THAT(Refusal(), HasSubstr("model-00001-of-00002.safetensors found; fetch the index"));
  Write("model.gguf", "x");
  EXPECT_THAT(Refusal(), HasSubstr("model.gguf found; name that file"));
}

TEST_F(HfFolderTest, MissingFilesAreNamed) {
  fs::remove(folder_ / "config.json");
  EXPECT_THAT(Refusal(), HasSubstr("a folder; a GGUF file or a Hugging Face model expected"));
  Write("model.safetensors", Embedding().Build());
  EXPECT_THAT(Refusal(), HasSubstr("without the config.json"));
  EXPECT_THAT(Refusal(folder_ / "model.safetensors"), HasSubstr("it needs the config.json"));
}

}  // namespace
}  // namespace bittern::formats
