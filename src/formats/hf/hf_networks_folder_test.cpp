// SPDX-License-Identifier: Apache-2.0
// Folders whose tensors differ from a GGUF file's in more than their names (Gemma, Qwen 3.5, Maple,
// MLX's packs), and the files that sentence-transformers writes beside a model.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "formats/hf/hf_folder_for_test.hpp"
#include "formats/ternary_source.hpp"
#include "quant/blocks/dequantize.hpp"

namespace bittern::formats {
namespace {

using ::testing::HasSubstr;
using Packs = SafetensorsBuilder::Bytes;

/// A Gemma text model without a head. Its names lack "model."; its norms are stored less one,
/// except the norms of inputs.
SafetensorsBuilder Gemma() {
  SafetensorsBuilder builder;
  builder.AddZeros("embed_tokens.weight", "F32", {3, 4}, 48);
  const std::vector<float> weights = {0.5f, -0.25f, 0, 1};
  Packs bytes(16);
  std::memcpy(bytes.data(), weights.data(), bytes.size());
  for (const char* name :
       {"norm", "layers.0.input_layernorm", "layers.0.post_attention_layernorm",
        "layers.0.pre_feedforward_layernorm", "layers.0.post_feedforward_layernorm",
        "layers.0.self_attn.q_norm", "layers.0.self_attn.q_proj.norm"}) {
    builder.Add(std::string(name) + ".weight", "F32", {4}, bytes);
  }
  return builder.AddZeros("layers.0.mlp.up_proj.weight", "F32", {6, 4}, 96);
}

constexpr const char* kGemmaClass =
    R"("architectures":["Gemma3TextModel"],"sliding_window_pattern":1)";

TEST_F(HfFolderTest, GemmaHasNormsLessOneAndNamesOfItsOwn) {
  std::string config = R"(,"quantization_config":{"quant_method":"bitnet"})";
  std::string text(kConfig);
  text.replace(text.find(config), config.size(), "");
  text.replace(text.find(R"("architectures":["LlamaForCausalLM"])"), 36, kGemmaClass);
  Write("config.json", text);
  Write("model.safetensors", Gemma().Build());
  const Checkpoint checkpoint = Open(folder_);
  const auto first = [&](const char* name) {
    const Tensor* tensor = checkpoint.Find(name);
    float value = -1;
    if (tensor != nullptr) std::memcpy(&value, tensor->bytes.data(), sizeof value);
    return value;
  };
  for (const char* name :
       {"output_norm.weight", "blk.0.attn_norm.weight", "blk.0.post_attention_norm.weight",
        "blk.0.ffn_norm.weight", "blk.0.post_ffw_norm.weight", "blk.0.attn_q_norm.weight"}) {
    EXPECT_EQ(first(name), 1.5f) << name;
  }
  EXPECT_EQ(first("blk.0.attn_q_norm_in.weight"), 0.5f);
  EXPECT_NE(checkpoint.Find("token_embd.weight"), nullptr);
  // Norms of inputs say that the weights are masters, whatever the class is.
  EXPECT_TRUE(checkpoint.Find("blk.0.ffn_up.weight")->quantize_absmean);
  EXPECT_TRUE(checkpoint.Find("blk.0.ffn_up.weight")->may_be_ternary);
}

TEST_F(HfFolderTest, PoolingIsThatOfSentenceTransformers) {
  Write("model.safetensors", Embedding().Build());
  EXPECT_EQ(Open(folder_).metadata().Find("llama.pooling_type"), nullptr);
  const auto modules = [&](std::string_view type, std::string_view path) {
    Write("modules.json", R"([{"path":"","type":"sentence_transformers.models.Transformer"},)"
                          R"({"path":")" +
                              std::string(path) + R"(","type":")" + std::string(type) + "\"}]");
  };
  const auto pooling = [&](std::string_view text) {
    std::filesystem::create_directories(folder_ / "1_Pooling");
    Write("1_Pooling/config.json", text);
  };
  modules("sentence_transformers.models.Pooling", "1_Pooling");
  EXPECT_THAT(Refusal(), HasSubstr("1_Pooling/config.json"));
  for (const auto& [flag, type] :
       {std::pair{"mean_tokens", 1u}, {"cls_token", 2u}, {"lasttoken", 3u}}) {
    pooling(std::string(R"({"pooling_mode_max_tokens":false,"pooling_mode_)") + flag + "\":true}");
    EXPECT_EQ(Open(folder_).metadata().GetUint("llama.pooling_type").value(), type);
  }
  pooling(R"({"pooling_mode_max_tokens":true})");
  EXPECT_THAT(Refusal(), HasSubstr("to be true, pooling_mode_max_tokens found"));
  pooling(R"({"pooling_mode_mean_tokens":true,"pooling_mode_cls_token":true})");
  EXPECT_THAT(Refusal(), HasSubstr("pooling_mode_mean_tokens, pooling_mode_cls_token found"));
  pooling("{}");
  EXPECT_THAT(Refusal(), HasSubstr("none found"));
  modules("sentence_transformers.models.Pooling", "../1_Pooling");
  EXPECT_THAT(Refusal(), HasSubstr("modules.json: module Pooling: the name of a folder"));
  modules("sentence_transformers.models.Dense", "2_Dense");
  EXPECT_THAT(Refusal(), HasSubstr("expected, \"sentence_transformers.models.Dense\" found"));
  Write("modules.json", "{}");
  EXPECT_THAT(Refusal(), HasSubstr("modules.json: an array of modules expected"));
}

template <class T>
Packs BytesOf(const std::vector<T>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}

/// A delta layer and one of attention. With one key head, value heads have one order everywhere.
std::string DeltaConfig(int key_heads, int value_heads, std::string_view more = "") {
  return R"({"architectures":["Qwen3_5ForCausalLM"],)" + std::string(more) +
         R"("hidden_act":"silu","hidden_size":64,"intermediate_size":64,"num_hidden_layers":2,)"
         R"("num_attention_heads":1,"head_dim":64,"rms_norm_eps":1e-6,"vocab_size":1,)"
         R"("max_position_embeddings":8,"full_attention_interval":2,"linear_conv_kernel_dim":2,)"
         R"("linear_key_head_dim":2,"linear_value_head_dim":2,"linear_num_key_heads":)" +
         std::to_string(key_heads) + R"(,"linear_num_value_heads":)" + std::to_string(value_heads) +
         "}";
}

TEST_F(HfFolderTest, ValueHeadsGoAroundAllKeyHeads) {
  Write("config.json", DeltaConfig(2, 4));
  SafetensorsBuilder builder;
  builder.AddZeros("model.language_model.embed_tokens.weight", "F32", {1, 64}, 256);
  builder.AddZeros("model.visual.anything", "F32", {1}, 4).AddZeros("mtp.fc.weight", "F32", {1}, 4);
  const std::string layer = "model.language_model.layers.0.linear_attn.";
  builder.Add(layer + "dt_bias", "F32", {4}, BytesOf<float>({0, 1, 2, 3}));
  builder.Add(layer + "A_log", "F32", {4}, BytesOf<float>({0, 1, 0, 0}));
  builder.Add(layer + "norm.weight", "F32", {2}, BytesOf<float>({5, 6}));
  std::vector<float> numbers(32);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i);
  builder.Add(layer + "conv1d.weight", "F32", {16, 1, 2}, BytesOf(numbers));
  std::vector<float> rows(16 * 64);  // row r holds r + 1 in its first column
  for (std::size_t r = 0; r < 16; ++r) rows[r * 64] = static_cast<float>(r + 1);
  builder.Add(layer + "in_proj_qkv.weight", "F32", {16, 64}, BytesOf(rows));
  std::vector<float> columns(8);  // the only weight of a row of 8 stands in column 2
  columns[2] = 1;
  builder.Add(layer + "out_proj.weight", "F32", {1, 8}, BytesOf(columns));
  Write("model.safetensors", builder.Build());

  {  // Windows writes no file that is mapped
    const Checkpoint checkpoint = Open(folder_);
    const auto floats = [&](const char* name) {
      const Tensor& tensor = *checkpoint.Find(name);
      std::vector<float> values(tensor.bytes.size() / sizeof(float));
      std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
      return values;
    };
    EXPECT_EQ(floats("blk.0.ssm_dt.bias"), (std::vector<float>{0, 2, 1, 3}));
    const auto decay = floats("blk.0.ssm_a");
    EXPECT_EQ(decay[0], -1);
    EXPECT_FLOAT_EQ(decay[2], -std::exp(1.0f));
    EXPECT_EQ(floats("blk.0.ssm_norm.weight"), (std::vector<float>{5, 6}));  // not less one
    const auto conv = floats("blk.0.ssm_conv1d.weight");
    EXPECT_EQ(checkpoint.Find("blk.0.ssm_conv1d.weight")->row_elements(), 2u);
    EXPECT_EQ(conv[2 * 8], 16);   // queries and keys stay
    EXPECT_EQ(conv[2 * 10], 24);  // of value head 2
    EXPECT_EQ(conv[2 * 12], 20);

    Decisions decisions;
    auto opener = TernaryOpener::Create(checkpoint, &decisions).value();
    const auto qkv = opener.Open(*checkpoint.Find("blk.0.attn_qkv.weight")).value();
    std::vector<std::uint8_t> codes(64);
    float scale = 0;
    const int expected[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 13, 14, 11, 12, 15, 16};
    for (std::size_t r = 0; r < 16; ++r) {
      ASSERT_TRUE(qkv.ReadRows(r, 1, codes.data(), &scale));
      EXPECT_EQ(scale, static_cast<float>(expected[r])) << r;
    }
    const auto out = opener.Open(*checkpoint.Find("blk.0.ssm_out.weight")).value();
    codes.resize(8);
    ASSERT_TRUE(out.ReadRows(0, 1, codes.data(), &scale));
    EXPECT_EQ(codes, (std::vector<std::uint8_t>{1, 1, 1, 1, 2, 1, 1, 1}));
  }

  builder.AddZeros(layer + "in_proj_z.weight", "F32", {7, 64}, 7 * 256);
  Write("model.safetensors", builder.Build());
  EXPECT_THAT(Refusal(), HasSubstr("in_proj_z.weight\": 8 rows expected, 7 found"));
}

/// A matrix of 1 row and 64 columns in a pack: code 2, then 0, then 1 to the end.
SafetensorsBuilder& AddPack(SafetensorsBuilder& builder, const std::string& stem, float scale,
                            float bias, unsigned first = 2) {
  std::vector<std::uint32_t> words(4, 0x55555555u);
  words[0] = (words[0] & ~15u) | first;
  const auto number = [](float value) { return BytesOf<std::uint16_t>({FloatToBfloat(value)}); };
  builder.Add(stem + ".weight", "U32", {1, 4}, BytesOf(words));
  builder.Add(stem + ".scales", "BF16", {1, 1}, number(scale));
  return builder.Add(stem + ".biases", "BF16", {1, 1}, number(bias));
}

TEST_F(HfFolderTest, PacksOfMlxAreTernaryWhereTheBiasIsMinusTheScale) {
  constexpr std::string_view kPack = R"("quantization":{"group_size":64,"bits":2},)";
  const std::string up = "language_model.model.layers.0.mlp.up_proj";
  const auto with = [&](float scale, float bias, unsigned first = 2) {
    SafetensorsBuilder builder;
    AddPack(builder, "language_model.model.embed_tokens", 0.5f, -0.5f);
    AddPack(builder, up, scale, bias, first);
    Write("model.safetensors", builder.Build());
    const Checkpoint checkpoint = Open(folder_);
    EXPECT_EQ(checkpoint.Find("token_embd.weight")->format, quant::WeightFormat::kQ2_0);
    const Tensor& tensor = *checkpoint.Find("blk.0.ffn_up.weight");
    EXPECT_EQ(tensor.row_elements(), 64u);
    Decisions decisions;
    auto opener = TernaryOpener::Create(checkpoint, &decisions).value();
    const auto source = opener.Open(tensor).value();
    std::vector<std::uint8_t> codes(64);
    float read = 0;
    const auto done = source.ReadRows(0, 1, codes.data(), &read);
    if (!done) return done.error().message;
    return fmt::format("{} {} {} {}", codes[0], codes[1], codes[2], read);
  };
  Write("config.json", DeltaConfig(1, 1, kPack));
  EXPECT_EQ(with(0.25f, -0.25f), "2 0 1 0.25");
  EXPECT_EQ(with(-0.25f, 0.25f), "0 2 1 0.25");  // every sign turned around
  EXPECT_THAT(with(0.25f, -0.5f), HasSubstr("row 0, column 0: expected ternary weights"));
  EXPECT_THAT(with(0.25f, -0.25f, 3), HasSubstr("column 0: code 3"));

  const auto refusal = [&](SafetensorsBuilder builder) {
    builder.AddZeros("language_model.model.embed_tokens.weight", "F32", {1, 64}, 256);
    Write("model.safetensors", builder.Build());
    return Refusal();
  };
  SafetensorsBuilder alone;
  alone.AddZeros(up + ".weight", "U32", {1, 4}, 16);
  EXPECT_THAT(refusal(alone), HasSubstr("its scales are missing"));
  SafetensorsBuilder wide;
  wide.AddZeros(up + ".weight", "U32", {1, 4}, 16).AddZeros(up + ".scales", "BF16", {1, 2}, 4);
  EXPECT_THAT(refusal(wide), HasSubstr("scales: 1 x 1 expected, 1 x 2 found"));
  SafetensorsBuilder mixed;
  mixed.AddZeros(up + ".weight", "U32", {1, 4}, 16).AddZeros(up + ".scales", "BF16", {1, 1}, 2);
  mixed.AddZeros(up + ".biases", "F32", {1, 1}, 4);
  EXPECT_THAT(refusal(mixed), HasSubstr("biases: type F32, F16 or BF16, the same of both"));
  SafetensorsBuilder odd;
  odd.AddZeros(up + ".weight", "U32", {1, 3}, 12);
  EXPECT_THAT(refusal(odd), HasSubstr("48 columns: a multiple of group_size 64 expected"));
  SafetensorsBuilder bad;
  AddPack(bad, "language_model.model.embed_tokens", 0.5f, 0.25f);
  Write("model.safetensors", bad.Build());
  EXPECT_THAT(Refusal(), HasSubstr("found scale 0.5 and bias 0.25"));
  Write("config.json", DeltaConfig(1, 1));
  EXPECT_THAT(refusal(alone), HasSubstr("config.json has no \"quantization\""));
}

/// PrismML's pack of two layers, whose inputs of 64 are rotated in blocks of 32.
struct RotatedPack {
  std::string version = "1",
              names = R"("language_model.model.layers.0.linear_attn.out_proj.weight")",
              widths = "64", grouped = "true", more;
  std::vector<float> signs = std::vector<float>(64, 1);

  [[nodiscard]] std::string Text() const {
    return R"({"note":"of the maker","prism.hadamard.version":)" + version +
           R"(,"prism.hadamard.block_size":32,"prism.hadamard.axis":"input-last-dimension",)"
           R"("prism.hadamard.weight_names":[)" +
           names + R"(],"prism.hadamard.sign_widths":[)" + widths +
           R"(],"prism.hadamard.gdn_v_grouped":)" + grouped + more +
           fmt::format(R"(,"prism.hadamard.sign_values":[{}]}})", fmt::join(signs, ","));
  }
};

TEST_F(HfFolderTest, RotatedPacksAreReadWithTheirRotation) {
  // No class, no activation, and sizes in text_config: as PrismML writes it.
  std::string text = DeltaConfig(2, 32);
  for (const char* part :
       {R"("architectures":["Qwen3_5ForCausalLM"],)", R"("hidden_act":"silu",)"}) {
    text.erase(text.find(part), std::strlen(part));
  }
  Write("config.json", R"({"model_type":"prism_hadamard_qwen35","quantization":{"group_size":64,)"
                       R"("bits":2},"text_config":)" +
                           text + "}");
  const std::string layer = "language_model.model.layers.0.linear_attn.";
  const auto folder = [&](std::vector<float> signs) {
    SafetensorsBuilder builder;
    AddPack(builder, "language_model.model.embed_tokens", 0.5f, -0.5f);
    AddPack(builder, layer + "out_proj", 0.25f, -0.25f);
    builder.Add(layer + "out_proj.signs", "F32", {signs.size()}, BytesOf(signs));
    Write("model.safetensors", builder.Build());
  };
  RotatedPack pack;
  pack.signs[3] = -1;
  folder(pack.signs);
  EXPECT_THAT(Refusal(), HasSubstr("hadamard.json is missing"));
  Write("hadamard.json", pack.Text());
  {
    const Checkpoint checkpoint = Open(folder_);
    const Metadata& metadata = checkpoint.metadata();
    EXPECT_EQ(metadata.GetString("general.architecture").value(), "qwen35");
    EXPECT_EQ(metadata.GetUint("prism.hadamard.block_size").value(), 32u);
    EXPECT_EQ(metadata.GetBool("prism.hadamard.gdn_v_grouped").value(), true);
    EXPECT_EQ(metadata.GetStrings("prism.hadamard.weight_names").value()->front(),
              "blk.0.ssm_out.weight");
    EXPECT_EQ(metadata.GetInts("prism.hadamard.sign_values").value()->at(3), -1);
    EXPECT_EQ(metadata.Find("note"), nullptr);
    // Its columns were mixed in the folder's order of heads and stay so.
    Decisions decisions;
    auto opener = TernaryOpener::Create(checkpoint, &decisions).value();
    const auto out = opener.Open(*checkpoint.Find("blk.0.ssm_out.weight")).value();
    std::vector<std::uint8_t> codes(64);
    float scale = 0;
    ASSERT_TRUE(out.ReadRows(0, 1, codes.data(), &scale));
    EXPECT_EQ(fmt::format("{} {} {}", codes[0], codes[1], codes[2]), "2 0 1");
  }

  const auto refusal = [&](auto change) {
    RotatedPack other = pack;
    change(other);
    Write("hadamard.json", other.Text());
    return Refusal();
  };
  EXPECT_THAT(refusal([](auto& p) { p.signs[5] = -1; }),
              HasSubstr("out_proj.signs\": element 5: -1 expected"));
  EXPECT_THAT(refusal([](auto& p) { p.signs[5] = 0.5f; }), HasSubstr("whole numbers"));
  EXPECT_THAT(refusal([](auto& p) { p.widths = "32"; }), HasSubstr("of a width that it names, 64"));
  EXPECT_THAT(refusal([](auto& p) {
                p.widths = "64,64";
                p.signs.resize(128, 1);
              }),
              HasSubstr("sign_widths: 64 stands twice"));
  EXPECT_THAT(refusal([](auto& p) { p.grouped = "false"; }),
              HasSubstr("expected true in a folder"));
  EXPECT_THAT(refusal([](auto& p) { p.version = "null"; }), HasSubstr("version is missing"));
  EXPECT_THAT(refusal([](auto& p) { p.version = "-1"; }), HasSubstr("a whole number of 0 or more"));
  EXPECT_THAT(refusal([](auto& p) { p.names = R"("lm_tail.weight")"; }),
              HasSubstr("\"lm_tail.weight\": is part of no network"));
  EXPECT_THAT(refusal([](auto& p) { p.names = R"("lm_head.weight",1)"; }),
              HasSubstr("an array of texts"));
  EXPECT_THAT(refusal([](auto& p) { p.more = R"(,"prism.hadamard.more":{})"; }),
              HasSubstr("hadamard.json: prism.hadamard.more: a text, a number"));
  Write("hadamard.json", "[]");
  EXPECT_THAT(Refusal(), HasSubstr("hadamard.json: an object expected"));
  Write("hadamard.json", "{");
  EXPECT_THAT(Refusal(), HasSubstr("hadamard.json: "));
}

TEST_F(HfFolderTest, ExpertsStandApartOrStacked) {
  Write(
      "config.json",
      R"({"architectures":["MapleForCausalLM"],"hidden_act":"silu","hidden_size":4,)"
      R"("moe_intermediate_size":2,"num_hidden_layers":1,"num_attention_heads":1,)"
      R"("rms_norm_eps":1e-6,"vocab_size":3,"max_position_embeddings":8,"sliding_window":4,)"
      R"("layer_types":["full_attention"],"num_experts":2,"num_experts_per_tok":1,"norm_topk_prob":true})");
  const std::string experts = "model.layers.0.mlp.experts.";
  const std::vector<float> first = {1, 0, 0, -1, 0, 2, 0, 0}, second = {0, 0, 4, 0, 0, 0, 0, 8};
  const auto scales = [&](SafetensorsBuilder& builder) {
    builder.AddZeros("model.word_embeddings.weight", "F32", {3, 4}, 48);
    Write("model.safetensors", builder.Build());
    const Checkpoint checkpoint = Open(folder_);
    const Tensor& tensor = *checkpoint.Find("blk.0.ffn_gate_exps.weight");
    EXPECT_EQ(tensor.shape, (std::array<std::uint64_t, 4>{4, 2, 2, 1}));
    Decisions decisions;
    auto opener = TernaryOpener::Create(checkpoint, &decisions).value();
    std::vector<std::uint8_t> codes(16);
    std::vector<float> found(4);
    EXPECT_TRUE(opener.Open(tensor).value().ReadRows(0, 4, codes.data(), found.data()));
    EXPECT_EQ(codes[3], 0);
    EXPECT_EQ(codes[10], 2);
    return found;
  };
  SafetensorsBuilder apart;  // not in the order of their numbers
  apart.Add(experts + "1.gate_proj.weight", "F32", {2, 4}, BytesOf(second));
  apart.Add(experts + "0.gate_proj.weight", "F32", {2, 4}, BytesOf(first));
  EXPECT_EQ(scales(apart), (std::vector<float>{1, 2, 4, 8}));
  SafetensorsBuilder stacked;
  auto both = first;
  both.insert(both.end(), second.begin(), second.end());
  stacked.Add(experts + "gate_proj.weight", "F32", {2, 2, 4}, BytesOf(both));
  EXPECT_EQ(scales(stacked), (std::vector<float>{1, 2, 4, 8}));

  const auto refusal = [&](std::vector<std::pair<const char*, std::uint64_t>> parts) {
    SafetensorsBuilder builder;
    for (const auto& [name, rows] : parts) {
      builder.AddZeros(experts + name + ".weight", "F32", {rows, 4}, rows * 16);
    }
    Write("model.safetensors", builder.Build());
    return Refusal();
  };
  EXPECT_THAT(refusal({{"0.up_proj", 2}}), HasSubstr("expert 1 is missing"));
  EXPECT_THAT(refusal({{"0.up_proj", 2}, {"1.up_proj", 3}}), HasSubstr("as those of expert 0"));
  EXPECT_THAT(refusal({{"0.up_proj", 2}, {"1.up_proj", 2}, {"7.up_proj", 2}}),
              HasSubstr("2 experts expected (num_experts), 3 found"));
  EXPECT_THAT(refusal({{"0.up_proj", 2}, {"00.up_proj", 2}}), HasSubstr("there are two tensors"));
  EXPECT_THAT(refusal({{"up_proj", 4}}), HasSubstr("three dimensions expected, 2 found"));
}

/// Maple's pack: two experts of two rows and 64 columns, an embedding of 4 bits.
class MaplePackTest : public HfFolderTest {
 protected:
  MaplePackTest() {
    Write("config.json",
          R"({"architectures":["MapleForCausalLM"],"hidden_act":"silu","hidden_size":64,)"
          R"("moe_intermediate_size":2,"num_hidden_layers":1,"num_attention_heads":1,)"
          R"("rms_norm_eps":1e-6,"vocab_size":1,"max_position_embeddings":8,"sliding_window":4,)"
          R"("layer_types":["full_attention"],"num_experts":2,"num_experts_per_tok":1,)"
          R"("norm_topk_prob":true,"quantization":{"group_size":64,"bits":2,)"
          R"("model.word_embeddings":{"group_size":64,"bits":4}}})");
  }

  static Packs Numbers(const std::vector<float>& values) {
    std::vector<std::uint16_t> bits;
    for (const float value : values) bits.push_back(FloatToBfloat(value));
    return BytesOf(bits);
  }

  /// Rows of 64 codes 1, the last code of each row 2.
  static Packs Words(std::size_t rows) {
    std::vector<std::uint32_t> words(4 * rows, 0x55555555u);
    for (std::size_t r = 0; r < rows; ++r) words[4 * r + 3] = 0x95555555u;
    return BytesOf(words);
  }

  static SafetensorsBuilder& AddEmbedding(SafetensorsBuilder& builder, float scale) {
    std::vector<std::uint32_t> words(8, 0x76543210u);  // codes 0 to 7 over and over
    words[7] = 0xF0000000u;
    builder.Add("model.word_embeddings.weight", "U32", {1, 8}, BytesOf(words));
    builder.Add("model.word_embeddings.scales", "BF16", {1, 1}, Numbers({scale}));
    return builder.Add("model.word_embeddings.biases", "BF16", {1, 1}, Numbers({-7.5f * scale}));
  }

  std::string RefusalOf(SafetensorsBuilder builder) {
    Write("model.safetensors", AddEmbedding(builder, 0.5f).Build());
    return Refusal();
  }

  const std::string stacks_ = "model.layers.0.mlp.switch_mlp.",
                    experts_ = "model.layers.0.mlp.experts.";
};

TEST_F(MaplePackTest, RowsHaveOneScaleInStacksAndApart) {
  const auto rows = [&](SafetensorsBuilder builder, const char* name) {
    Write("model.safetensors", AddEmbedding(builder, 0.5f).Build());
    const Checkpoint checkpoint = Open(folder_);
    const Tensor& tensor = *checkpoint.Find(name);
    EXPECT_EQ(tensor.shape, (std::array<std::uint64_t, 4>{64, 2, 2, 1}));
    Decisions decisions;
    auto opener = TernaryOpener::Create(checkpoint, &decisions).value();
    const auto source = opener.Open(tensor).value();
    EXPECT_EQ(source.group_cols(), 64u);
    std::vector<std::uint8_t> codes(4 * 64);
    std::vector<float> scales(4);
    EXPECT_TRUE(source.ReadRows(0, 4, codes.data(), scales.data()));
    for (std::size_t i = 0; i < codes.size(); ++i) EXPECT_EQ(codes[i], i % 64 == 63 ? 2 : 1) << i;
    return scales;
  };
  const std::vector<float> expected = {1, 2, 4, 8};
  SafetensorsBuilder stacked;
  stacked.Add(stacks_ + "gate_proj.weight", "U32", {2, 2, 4}, Words(4));
  stacked.Add(stacks_ + "gate_proj.row_alpha", "BF16", {2, 2}, Numbers(expected));
  EXPECT_EQ(rows(stacked, "blk.0.ffn_gate_exps.weight"), expected);
  SafetensorsBuilder apart;
  for (const int e : {1, 0}) {
    const std::string stem = experts_ + std::to_string(e) + ".up_proj.";
    apart.Add(stem + "weight", "U32", {2, 4}, Words(2));
    apart.Add(stem + "row_alpha", "BF16", {2}, e == 0 ? Numbers({1, 2}) : Numbers({4, 8}));
  }
  EXPECT_EQ(rows(apart, "blk.0.ffn_up_exps.weight"), expected);
  SafetensorsBuilder groups;
  for (const int e : {0, 1}) {
    const std::string stem = experts_ + std::to_string(e) + ".up_proj.";
    groups.Add(stem + "weight", "U32", {2, 4}, Words(2));
    const std::vector<float> its = e == 0 ? std::vector<float>{1, 2} : std::vector<float>{4, 8};
    groups.Add(stem + "scales", "BF16", {2, 1}, Numbers(its));
    groups.Add(stem + "biases", "BF16", {2, 1}, Numbers({-its[0], -its[1]}));
  }
  EXPECT_EQ(rows(groups, "blk.0.ffn_up_exps.weight"), expected);
}

TEST_F(MaplePackTest, AnEmbeddingOfFourBitsKeepsItsNumbers) {
  for (const float scale : {0.5f, 1e-9f}) {  // binary16 holds the first
    SafetensorsBuilder builder;
    builder.AddZeros("lm_head_flash.token_map", "I32", {1}, 4);
    Write("model.safetensors", AddEmbedding(builder, scale).Build());
    const Checkpoint checkpoint = Open(folder_);
    const Tensor& tensor = *checkpoint.Find("token_embd.weight");
    EXPECT_EQ(tensor.format,
              scale == 0.5f ? quant::WeightFormat::kQ4_1 : quant::WeightFormat::kF32);
    std::vector<float> values(64);
    quant::DequantizeRowFor(tensor.format)(tensor.bytes.data(), 64, values.data());
    const float step = BfloatToFloat(FloatToBfloat(scale)),
                bias = BfloatToFloat(FloatToBfloat(-7.5f * scale));
    for (std::size_t i = 0; i < 64; ++i) {
      const auto code = static_cast<float>(i < 56 ? i % 8 : i == 63 ? 15 : 0);
      EXPECT_EQ(values[i], code * step + bias) << i;
    }
    ASSERT_EQ(checkpoint.decisions().size(), 1u);
    EXPECT_EQ(checkpoint.decisions()[0].subject, "tensors beside the head");
  }
}

TEST_F(MaplePackTest, OddPacksAreRefused) {
  SafetensorsBuilder wide;
  wide.Add(stacks_ + "gate_proj.weight", "U32", {2, 2, 4}, Words(4));
  wide.Add(stacks_ + "gate_proj.row_alpha", "BF16", {4}, Numbers({1, 1, 1, 1}));
  EXPECT_THAT(RefusalOf(wide), HasSubstr("row_alpha: 2 x 2 expected, 4 found"));
  SafetensorsBuilder mixed, alone;
  for (const int e : {0, 1}) {
    const std::string stem = experts_ + std::to_string(e) + ".up_proj.";
    mixed.Add(stem + "weight", "U32", {2, 4}, Words(2));
    alone.Add(stem + "weight", "U32", {2, 4}, Words(2));
  }
  alone.Add(experts_ + "0.up_proj.row_alpha", "BF16", {2}, Numbers({1, 1}));
  EXPECT_THAT(RefusalOf(alone), HasSubstr("1.up_proj.weight\": its scales are missing"));
  mixed.Add(experts_ + "0.up_proj.row_alpha", "BF16", {2}, Numbers({1, 1}));
  mixed.Add(experts_ + "1.up_proj.scales", "BF16", {2, 1}, Numbers({1, 1}));
  mixed.Add(experts_ + "1.up_proj.biases", "BF16", {2, 1}, Numbers({-1, -1}));
  EXPECT_THAT(RefusalOf(mixed), HasSubstr("scales as those of expert 0 expected"));
  SafetensorsBuilder types;
  types.Add(stacks_ + "gate_proj.weight", "U32", {2, 2, 4}, Words(4));
  types.AddZeros(stacks_ + "gate_proj.row_alpha", "I32", {2, 2}, 16);
  EXPECT_THAT(RefusalOf(types), HasSubstr("row_alpha: type F32, F16 or BF16"));
}

TEST_F(HfFolderTest, FloatsMayBeTernaryInGroups) {
  WriteConfig(R"(,"quantization_config":{"quant_method":"bitnet"})", "");
  std::vector<float> weights(2 * 256, 0.0f);
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = i / 128 % 2 == 0 ? 1.0f : -3.0f;
  const auto read = [&]() -> std::string {
    SafetensorsBuilder builder = Embedding();
    builder.Add("model.layers.0.mlp.up_proj.weight", "F32", {2, 256}, BytesOf(weights));
    Write("model.safetensors", builder.Build());
    const Checkpoint checkpoint = Open(folder_);
    Decisions decisions;
    auto opener = TernaryOpener::Create(checkpoint, &decisions).value();
    const auto source = opener.Open(*checkpoint.Find("blk.0.ffn_up.weight")).value();
    std::vector<std::uint8_t> codes(256);
    std::vector<float> scales(source.scales_per_row());
    const auto done = source.ReadRows(1, 1, codes.data(), scales.data());
    if (!done) return done.error().message;
    return fmt::format("{} groups, {} and {}, codes {} and {}", scales.size(), scales.front(),
                       scales.back(), codes[0], codes[255]);
  };
  EXPECT_EQ(read(), "2 groups, 1 and 3, codes 2 and 0");
  weights[300] = 0.5f;
  EXPECT_THAT(read(), HasSubstr("row 1"));
}

}  // namespace
}  // namespace bittern::formats
