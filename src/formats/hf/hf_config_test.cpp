// SPDX-License-Identifier: Apache-2.0
// config.json of each family of models, each setting that is refused, each value that is missing.
#include "formats/hf/hf_config.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/json/json.hpp"

namespace bittern::formats {
namespace {

using ::testing::HasSubstr;

/// The published config.json of BitNet b1.58 2B-4T, as far as it is read.
constexpr std::string_view kBitnet =
    R"({"architectures":["BitNetForCausalLM"],"model_type":"bitnet","hidden_act":"relu2",)"
    R"("hidden_size":2560,"intermediate_size":6912,"num_hidden_layers":30,)"
    R"("num_attention_heads":20,"num_key_value_heads":5,"rms_norm_eps":1e-05,)"
    R"("rope_theta":500000.0,"max_position_embeddings":4096,"vocab_size":128256,)"
    R"("tie_word_embeddings":true,"quantization_config":{"quant_method":"bitnet",)"
    R"("linear_class":"autobitlinear","quantization_mode":"offline"}})";

struct Read {
  HfConfig config;
  Metadata metadata;
  std::string error;  // empty: read
  ErrorCode code = ErrorCode::kInternal;
};

Read ReadText(std::string_view text) {
  Read read;
  const auto json = Json::Parse(text, {});
  EXPECT_TRUE(json) << json.error().message;
  auto config = ReadHfConfig(*json, &read.metadata);
  if (config) {
    read.config = *config;
  } else {
    read.error = config.error().message;
    read.code = config.error().code;
  }
  return read;
}

/// The text with one part replaced.
Read With(std::string_view from, std::string_view to) {
  std::string text(kBitnet);
  text.replace(text.find(from), from.size(), to);
  return ReadText(text);
}

std::uint64_t Uint(const Read& read, std::string_view key) {
  return read.metadata.GetUint(key).value().value_or(0);
}
double Float(const Read& read, std::string_view key) {
  return read.metadata.GetFloat(key).value().value_or(-1);
}
std::string_view Text(const Read& read, std::string_view key) {
  return read.metadata.GetString(key).value().value_or("");
}

TEST(HfConfig, Bitnet2B4T) {
  const Read read = ReadText(kBitnet);
  ASSERT_EQ(read.error, "");
  EXPECT_EQ(Text(read, "general.architecture"), "bitnet-b1.58");
  EXPECT_EQ(Text(read, "bitnet-b1.58.hidden_activation"), "relu2");
  EXPECT_EQ(Text(read, "bittern.rope_pairing"), "neox");
  EXPECT_EQ(Uint(read, "bitnet-b1.58.embedding_length"), 2560u);
  EXPECT_EQ(Uint(read, "bitnet-b1.58.feed_forward_length"), 6912u);
  EXPECT_EQ(Uint(read, "bitnet-b1.58.block_count"), 30u);
  EXPECT_EQ(Uint(read, "bitnet-b1.58.attention.head_count"), 20u);
  EXPECT_EQ(Uint(read, "bitnet-b1.58.attention.head_count_kv"), 5u);
  EXPECT_EQ(Uint(read, "bitnet-b1.58.rope.dimension_count"), 128u);
  EXPECT_EQ(Uint(read, "bitnet-b1.58.context_length"), 4096u);
  EXPECT_EQ(Uint(read, "bitnet-b1.58.vocab_size"), 128256u);
  EXPECT_EQ(Float(read, "bitnet-b1.58.attention.layer_norm_rms_epsilon"),
            static_cast<double>(1e-5f));
  EXPECT_EQ(Float(read, "bitnet-b1.58.rope.freq_base"), 500000);
  EXPECT_EQ(read.metadata.Find("bitnet-b1.58.attention.key_length"), nullptr);
  EXPECT_EQ(read.config.linear_class, "autobitlinear");
  EXPECT_EQ(read.config.float_weights, HfFloatWeights::kRefused);
  EXPECT_EQ(read.config.tied_head, true);
  EXPECT_EQ(read.config.q_size, 2560u);
  EXPECT_EQ(read.config.kv_size, 640u);
}

TEST(HfConfig, MastersOfBitnet) {
  EXPECT_EQ(With("\"offline\"", "\"online\"").config.float_weights, HfFloatWeights::kMasters);
}

// 1bitLLM's bitnet_b1_58 models: SiLU, no quantization_config, masters in float.
TEST(HfConfig, BitnetWithSilu) {
  const Read read =
      ReadText(R"({"architectures":["BitnetForCausalLM"],"hidden_act":"silu","hidden_size":1536,)"
               R"("intermediate_size":4096,"num_hidden_layers":24,"num_attention_heads":16,)"
               R"("rms_norm_eps":1e-05,"rope_theta":10000.0,"rope_scaling":null,"weight_bits":1,)"
               R"("input_bits":8,"max_position_embeddings":2048,"vocab_size":32002})");
  ASSERT_EQ(read.error, "");
  EXPECT_EQ(Text(read, "general.architecture"), "bitnet");
  EXPECT_EQ(Text(read, "bitnet.hidden_activation"), "silu");
  EXPECT_EQ(Uint(read, "bitnet.attention.head_count_kv"), 16u);
  EXPECT_EQ(read.config.float_weights, HfFloatWeights::kEither);
  EXPECT_FALSE(read.config.has_quantization);
  EXPECT_EQ(read.config.tied_head, std::nullopt);
}

// The published config.json of Hunyuan-1.8B-Instruct, as far as it is read.
constexpr std::string_view kHunyuan =
    R"({"architectures":["HunYuanDenseV1ForCausalLM"],"hidden_act":"silu","hidden_size":2048,)"
    R"("intermediate_size":6144,"num_hidden_layers":32,"num_attention_heads":16,)"
    R"("num_key_value_heads":4,"head_dim":128,"rms_norm_eps":1e-05,"rope_theta":10000.0,)"
    R"("rope_scaling":{"alpha":1000.0,"beta_fast":32,"beta_slow":1,"factor":1.0,"mscale":1.0,)"
    R"("mscale_all_dim":1.0,"type":"dynamic"},"tie_word_embeddings":true,"use_cla":false,)"
    R"("use_qk_norm":true,"max_position_embeddings":262144,"vocab_size":120818})";

TEST(HfConfig, HunyuanHasItsAlphaInTheBase) {
  Read read = ReadText(kHunyuan);
  ASSERT_EQ(read.error, "");
  EXPECT_EQ(Text(read, "general.architecture"), "hunyuan-dense");
  EXPECT_EQ(Float(read, "hunyuan-dense.rope.freq_base"), 11158840);
  EXPECT_EQ(Text(read, "hunyuan-dense.rope.scaling.type"), "");
  const auto with = [](std::string_view from, std::string_view to) {
    std::string text(kHunyuan);
    text.replace(text.find(from), from.size(), to);
    return ReadText(text).error;
  };
  EXPECT_THAT(with("\"alpha\":1000.0,", ""), HasSubstr("alpha"));
  EXPECT_THAT(with("\"alpha\":1000.0", "\"alpha\":0.5"), HasSubstr("alpha"));
  EXPECT_THAT(with("\"factor\":1.0", "\"factor\":2.0"), HasSubstr("factor"));
  EXPECT_THAT(with("\"use_cla\":false", "\"use_cla\":true"), HasSubstr("use_cla"));
}

constexpr std::string_view kMiniCpm =
    R"({"architectures":["MiniCPMForCausalLM"],"hidden_act":"silu","hidden_size":4096,)"
    R"("intermediate_size":16384,"num_hidden_layers":32,"num_attention_heads":1024,)"
    R"("num_key_value_heads":2,"rms_norm_eps":1e-05,"rope_theta":10000.0,"scale_emb":12,)"
    R"("scale_depth":1.4,"dim_model_base":256,"rope_scaling":{"rope_type":"longrope",)"
    R"("long_factor":[0.9977,1.5],"short_factor":[1,1.25],)"
    R"("original_max_position_embeddings":32768},)"
    R"("max_position_embeddings":32768,"vocab_size":73448})";

TEST(HfConfig, MiniCpmScalesAndFactors) {
  const Read read = ReadText(kMiniCpm);
  ASSERT_EQ(read.error, "");
  EXPECT_EQ(Text(read, "general.architecture"), "minicpm");
  EXPECT_EQ(Float(read, "minicpm.embedding_scale"), 12);
  EXPECT_NEAR(Float(read, "minicpm.residual_scale"), 1.4 / std::sqrt(32.0), 1e-8);
  EXPECT_EQ(Float(read, "minicpm.logit_scale"), 16);
  EXPECT_EQ(Text(read, "minicpm.rope.scaling.type"), "longrope");
  EXPECT_EQ(Uint(read, "minicpm.rope.scaling.original_context_length"), 32768u);
  EXPECT_EQ(read.config.long_factors, (std::vector<float>{0.9977f, 1.5f}));
  EXPECT_EQ(read.config.short_factors, (std::vector<float>{1, 1.25f}));
  for (const auto& [from, to, named] :
       {std::tuple{"\"scale_emb\":12,", "", "scale_emb"},
        {"\"scale_depth\":1.4", "\"scale_depth\":-1", "scale_depth"},
        {"\"dim_model_base\":256", "\"dim_model_base\":0", "dim_model_base"},
        {"\"long_factor\":[0.9977,1.5],", "", "long_factor is missing"},
        {"[1,1.25]", "[1]", "short_factor: 2 numbers expected"},
        {"[1,1.25]", "[1,0]", "short_factor"},
        {"[1,1.25]", "[1,null]", "short_factor"},
        {"[1,1.25]", "7", "short_factor"}}) {
    std::string text(kMiniCpm);
    text.replace(text.find(from), std::string_view(from).size(), to);
    EXPECT_THAT(ReadText(text).error, HasSubstr(named));
  }
}

TEST(HfConfig, LlamaWithScaledRope) {
  const Read read = ReadText(
      R"({"architectures":["LlamaForCausalLM"],"hidden_act":"silu","hidden_size":4096,)"
      R"("intermediate_size":14336,"num_hidden_layers":32,"num_attention_heads":32,)"
      R"("num_key_value_heads":8,"rms_norm_eps":1e-05,"rope_theta":500000.0,"head_dim":128,)"
      R"("rope_scaling":{"factor":8.0,"low_freq_factor":1.0,"high_freq_factor":4.0,)"
      R"("original_max_position_embeddings":8192,"rope_type":"llama3"},)"
      R"("max_position_embeddings":131072,"vocab_size":128256,)"
      R"("quantization_config":{"quant_method":"bitnet"}})");
  ASSERT_EQ(read.error, "");
  EXPECT_EQ(Text(read, "general.architecture"), "llama");
  EXPECT_EQ(Text(read, "llama.rope.scaling.type"), "llama3");
  EXPECT_EQ(Float(read, "llama.rope.scaling.factor"), 8);
  EXPECT_EQ(Float(read, "llama.rope.scaling.low_freq_factor"), 1);
  EXPECT_EQ(Float(read, "llama.rope.scaling.high_freq_factor"), 4);
  EXPECT_EQ(Uint(read, "llama.rope.scaling.original_context_length"), 8192u);
  EXPECT_TRUE(read.config.has_quantization);
  EXPECT_EQ(read.config.linear_class, std::nullopt);
}

TEST(HfConfig, Qwen3WithItsOwnHeadSizeAndNewerRopeParameters) {
  const Read read = ReadText(
      R"({"architectures":["Qwen3ForCausalLM"],"hidden_act":"silu","hidden_size":1024,)"
      R"("intermediate_size":3072,"num_hidden_layers":28,"num_attention_heads":16,"head_dim":128,)"
      R"("num_key_value_heads":8,"rms_norm_eps":1e-06,"use_sliding_window":false,)"
      R"("rope_parameters":{"rope_theta":1000000,"rope_type":"default"},)"
      R"("max_position_embeddings":40960,"vocab_size":151936})");
  ASSERT_EQ(read.error, "");
  EXPECT_EQ(Float(read, "qwen3.rope.freq_base"), 1e6);
  EXPECT_EQ(read.metadata.Find("qwen3.rope.scaling.type"), nullptr);
  EXPECT_EQ(Uint(read, "qwen3.attention.key_length"), 128u);
  EXPECT_EQ(Uint(read, "qwen3.attention.value_length"), 128u);
  EXPECT_EQ(read.config.q_size, 2048u);
  EXPECT_EQ(read.config.kv_size, 1024u);
  EXPECT_EQ(read.config.float_weights, HfFloatWeights::kAsIs);
}

/// A folder of Gemma's text model, as far as it is read.
constexpr std::string_view kGemma =
    R"({"architectures":["Gemma3TextModel"],"hidden_activation":"gelu_pytorch_tanh",)"
    R"("hidden_size":640,"intermediate_size":2048,"num_hidden_layers":3,"num_attention_heads":4,)"
    R"("num_key_value_heads":1,"head_dim":256,"rms_norm_eps":1e-06,"rope_theta":1000000,)"
    R"("rope_local_base_freq":20000,"sliding_window":512,"query_pre_attn_scalar":256,)"
    R"("layer_types":["sliding_attention","sliding_attention","full_attention"],)"
    R"("attn_logit_softcapping":null,"tie_word_embeddings":false,)"
    R"("max_position_embeddings":32768,"vocab_size":262144})";

Read GemmaWith(std::string_view from, std::string_view to) {
  std::string text(kGemma);
  text.replace(text.find(from), from.size(), to);
  return ReadText(text);
}

TEST(HfConfig, GemmaHasWindowsWithARotationOfTheirOwn) {
  const Read read = ReadText(kGemma);
  ASSERT_EQ(read.error, "");
  EXPECT_EQ(Text(read, "general.architecture"), "gemma3");
  EXPECT_EQ(Text(read, "gemma3.hidden_activation"), "gelu");
  EXPECT_EQ(Uint(read, "gemma3.attention.sliding_window"), 512u);
  EXPECT_EQ(read.metadata.GetBools("gemma3.attention.sliding_window_pattern").value(),
            (std::vector<bool>{true, true, false}));
  EXPECT_EQ(Float(read, "gemma3.rope.freq_base"), 1e6);
  EXPECT_EQ(Float(read, "gemma3.rope.freq_base_swa"), 20000);
  EXPECT_EQ(read.config.tied_head, std::nullopt);  // the class has no head at all

  const Read newer =
      GemmaWith(R"("rope_theta":1000000,"rope_local_base_freq":20000)",
                R"("rope_parameters":{"full_attention":{"rope_theta":5,"rope_type":"default"},)"
                R"("sliding_attention":{"rope_theta":7,"rope_type":"default"}})");
  EXPECT_EQ(Float(newer, "gemma3.rope.freq_base"), 5);
  EXPECT_EQ(Float(newer, "gemma3.rope.freq_base_swa"), 7);

  constexpr std::string_view kTypes =
      R"("layer_types":["sliding_attention","sliding_attention","full_attention"])";
  const Read period = GemmaWith(kTypes, R"("sliding_window_pattern":2)");
  EXPECT_EQ(period.metadata.GetBools("gemma3.attention.sliding_window_pattern").value(),
            (std::vector<bool>{true, false, true}));
  const Read none = GemmaWith(kTypes, R"("sliding_window_pattern":1)");
  EXPECT_EQ(none.error, "");
  EXPECT_EQ(none.metadata.Find("gemma3.attention.sliding_window"), nullptr);
}

TEST(HfConfig, GemmaRefusesByName) {
  const struct {
    std::string_view from, to, words;
  } cases[] = {
      {"gelu_pytorch_tanh", "gelu", "silu or gelu_pytorch_tanh expected, gelu found"},
      {":256,\"layer", ":64,\"layer", "query_pre_attn_scalar: 256 expected, the size of a head"},
      {"softcapping\":null", "softcapping\":50", "attn_logit_softcapping: null expected, 50 found"},
      {"\"hidden_size\"", "\"use_bidirectional_attention\":true,\"hidden_size\"",
       "use_bidirectional_attention"},
      {"[\"sliding_attention\",", "[", "layer_types: 3 texts expected"},
      {"[\"sliding_attention\"", "[\"chunked\"", "\"full_attention\" expected, \"chunked\""},
      {"[\"sliding_attention\"", "[4", "\"full_attention\" expected, 4 found"},
      {"\"sliding_window\":512", "\"other\":512", "sliding_window is missing"},
      {"\"rope_theta\"", R"("rope_scaling":{"rope_type":"linear","factor":8},"rope_theta")",
       "a network with windows and without scaling expected, \"linear\" found"},
      {"hidden_activation", "other", "hidden_act is missing"},
  };
  for (const auto& c : cases) EXPECT_THAT(GemmaWith(c.from, c.to).error, HasSubstr(c.words));
}

/// A folder of Qwen 3.5's, a text model within one of pictures, as far as it is read.
constexpr std::string_view kQwen35 =
    R"({"architectures":["Qwen3_5ForConditionalGeneration"],"tie_word_embeddings":false,)"
    R"("text_config":{"hidden_act":"silu","hidden_size":256,"intermediate_size":512,)"
    R"("num_hidden_layers":4,"num_attention_heads":4,"num_key_value_heads":2,"head_dim":64,)"
    R"("rms_norm_eps":1e-06,"max_position_embeddings":2048,"vocab_size":512,)"
    R"("layer_types":["linear_attention","full_attention","linear_attention","full_attention"],)"
    R"("linear_conv_kernel_dim":4,"linear_key_head_dim":64,"linear_value_head_dim":64,)"
    R"("linear_num_key_heads":2,"linear_num_value_heads":6,"attn_output_gate":true,)"
    R"("rope_parameters":{"rope_type":"default","rope_theta":10000000}}})";

/// An object of MLX's in front of the text.
std::string Packed(std::string_view object) {
  return R"({"quantization":)" + std::string(object) + "," + std::string(kQwen35.substr(1));
}

TEST(HfConfig, Qwen35HasDeltaLayersInATextModelOfItsOwn) {
  const Read read = ReadText(kQwen35);
  ASSERT_EQ(read.error, "");
  EXPECT_EQ(Text(read, "general.architecture"), "qwen35");
  EXPECT_EQ(Uint(read, "qwen35.full_attention_interval"), 2u);
  EXPECT_EQ(Uint(read, "qwen35.ssm.conv_kernel"), 4u);
  EXPECT_EQ(Uint(read, "qwen35.ssm.state_size"), 64u);
  EXPECT_EQ(Uint(read, "qwen35.ssm.group_count"), 2u);
  EXPECT_EQ(Uint(read, "qwen35.ssm.time_step_rank"), 6u);
  EXPECT_EQ(Uint(read, "qwen35.ssm.inner_size"), 384u);
  EXPECT_EQ(Uint(read, "qwen35.rope.dimension_count"), 16u);  // a quarter, as its class has it
  EXPECT_EQ(read.metadata.GetInts("qwen35.rope.dimension_sections").value(),
            (std::vector<std::int32_t>{3, 3, 2, 0}));
  EXPECT_EQ(Float(read, "qwen35.rope.freq_base"), 1e7);
  EXPECT_EQ(read.config.tied_head, false);
  EXPECT_EQ(read.config.mlx.bits, 0u);
  const struct {
    std::string_view from, to, words;
  } cases[] = {
      {"\"linear_attention\",\"full", "\"full_attention\",\"full", "in every 1th layer"},
      {"gate\":true", "gate\":false", "attn_output_gate: true expected"},
      {"value_head_dim\":64", "value_head_dim\":32", "linear_value_head_dim: 64 as"},
      {"value_heads\":6", "value_heads\":5", "a multiple of linear_num_key_heads 2 expected, 5"},
      {"\"linear_conv_kernel_dim\"", "\"other\"", "linear_conv_kernel_dim is missing"},
  };
  for (const auto& c : cases) {
    std::string text(kQwen35);
    text.replace(text.find(c.from), c.from.size(), c.to);
    EXPECT_THAT(ReadText(text).error, HasSubstr(c.words));
  }
}

TEST(HfConfig, PacksOfMlxAreOfTwoBits) {
  const Read read =
      ReadText(Packed(R"({"group_size":128,"bits":2,"a":false,"b":{"group_size":64,"bits":4}})"));
  ASSERT_EQ(read.error, "");
  EXPECT_EQ(read.config.mlx.group_cols, 128u);
  ASSERT_EQ(read.config.mlx_modules.size(), 1u);
  EXPECT_EQ(read.config.mlx_modules.at("b").bits, 4u);
  EXPECT_EQ(read.config.mlx_modules.at("b").group_cols, 64u);
  for (const auto& [object, words] :
       {std::pair{R"({"group_size":64,"bits":4})", "bits 2 of mode affine expected, bits 4"},
        {R"({"group_size":64,"bits":2,"mode":"mxfp4"})", "of mode mxfp4 found"},
        {R"({"group_size":32,"bits":2})", "group_size: 64 or 128 expected, 32 found"},
        {R"({"bits":2})", "group_size is missing"},
        {R"({"group_size":64,"bits":2,"lm_head":{"group_size":64,"bits":8}})",
         "quantization: lm_head: bits 2 or 4 of mode affine expected, bits 8"},
        {R"({"group_size":64,"bits":2,"lm_head":{"group_size":256,"bits":4}})",
         "lm_head: group_size: 64 or 128 expected, 256 found"}}) {
    EXPECT_THAT(ReadText(Packed(object)).error, HasSubstr(words));
  }
}

TEST(HfConfig, MapleHasExpertsAndWindows) {
  constexpr std::string_view kMaple =
      R"({"architectures":["MapleForCausalLM"],"hidden_act":"silu","hidden_size":256,)"
      R"("moe_intermediate_size":128,"num_hidden_layers":2,"num_attention_heads":4,)"
      R"("num_key_value_heads":2,"head_dim":64,"rms_norm_eps":1e-06,"rope_theta":10000,)"
      R"("partial_rotary_factor":0.5,"max_position_embeddings":2048,"vocab_size":512,)"
      R"("layer_types":["sliding_attention","full_attention"],"sliding_window":64,)"
      R"("num_experts":8,"num_experts_per_tok":2,"num_shared_experts":0,"norm_topk_prob":true})";
  const Read read = ReadText(kMaple);
  ASSERT_EQ(read.error, "");
  EXPECT_EQ(Uint(read, "maple.expert_count"), 8u);
  EXPECT_EQ(Uint(read, "maple.expert_used_count"), 2u);
  EXPECT_EQ(Uint(read, "maple.expert_feed_forward_length"), 128u);
  EXPECT_EQ(Uint(read, "maple.attention.sliding_window"), 64u);
  EXPECT_EQ(read.metadata.GetBools("maple.attention.sliding_window_pattern").value(),
            (std::vector<bool>{true, false}));
  EXPECT_EQ(read.metadata.GetFloats("maple.swiglu_clamp_exp").value(), (std::vector<float>{7, 7}));
  EXPECT_EQ(read.config.float_weights, HfFloatWeights::kThresholds);
  for (const auto& [from, to, words] :
       {std::tuple{"shared_experts\":0", "shared_experts\":1", "num_shared_experts: 0 expected, 1"},
        {"prob\":true", "prob\":false", "norm_topk_prob: true expected"},
        {"per_tok\":2", "per_tok\":9", "9 and 8 found"},
        {"\"layer_types\"", "\"other\"", "layer_types is missing"},
        {"\"num_experts\"", "\"other\"", "num_experts is missing"}}) {
    std::string text(kMaple);
    text.replace(text.find(from), std::string_view(from).size(), to);
    EXPECT_THAT(ReadText(text).error, HasSubstr(words));
  }
}

TEST(HfConfig, Qwen3HasExpertsInEveryLayer) {
  constexpr std::string_view kMixture =
      R"({"architectures":["Qwen3MoeForCausalLM"],"hidden_act":"silu","hidden_size":256,)"
      R"("intermediate_size":512,"moe_intermediate_size":128,"num_hidden_layers":2,)"
      R"("num_attention_heads":4,"num_key_value_heads":2,"head_dim":64,"rms_norm_eps":1e-06,)"
      R"("rope_theta":1000000,"max_position_embeddings":2048,"vocab_size":512,)"
      R"("mlp_only_layers":[],"decoder_sparse_step":1,"num_experts":8,"num_experts_per_tok":2,)"
      R"("norm_topk_prob":true})";
  const Read read = ReadText(kMixture);
  ASSERT_EQ(read.error, "");
  EXPECT_EQ(Uint(read, "qwen3moe.expert_count"), 8u);
  EXPECT_EQ(Uint(read, "qwen3moe.expert_used_count"), 2u);
  EXPECT_EQ(Uint(read, "qwen3moe.expert_feed_forward_length"), 128u);
  for (const auto& [from, to, words] :
       {std::tuple{"layers\":[]", "layers\":[1]",
                   "an empty list expected (experts in every layer), a list of 1 found"},
        {"step\":1", "step\":2", "decoder_sparse_step: 1 expected, 2 found"},
        {"prob\":true", "prob\":false", "norm_topk_prob: true expected, false found"},
        {",\"norm_topk_prob\":true", "", "norm_topk_prob: true expected, nothing found"}}) {
    std::string text(kMixture);
    text.replace(text.find(from), std::string_view(from).size(), to);
    EXPECT_THAT(ReadText(text).error, HasSubstr(words));
  }
}

TEST(HfConfig, RefusesByName) {
  const struct {
    std::string_view from, to, words;
  } cases[] = {
      {"BitNetForCausalLM", "GPT2LMHeadModel", "architecture \"GPT2LMHeadModel\" is not supported"},
      {"\"bitnet\",\"linear", "\"gptq\",\"linear", "quant_method \"gptq\""},
      {"\"offline\"", "\"later\"", "quantization_mode \"later\""},
      {"\"linear_class\"", "\"use_rms_norm\":true,\"linear_class\"", "use_rms_norm"},
      {"\"hidden_size\"", "\"use_sliding_window\":true,\"hidden_size\"", "use_sliding_window"},
      {"\"hidden_size\"", "\"input_bits\":4,\"hidden_size\"", "input_bits 4"},
  };
  for (const auto& c : cases) {
    const Read read = With(c.from, c.to);
    EXPECT_THAT(read.error, HasSubstr(c.words));
    EXPECT_EQ(read.code, ErrorCode::kUnsupported) << c.words;
  }
}

TEST(HfConfig, RefusesWhatIsMissingOrImpossible) {
  for (const char* key : {"architectures", "hidden_act", "hidden_size", "intermediate_size",
                          "num_hidden_layers", "num_attention_heads", "rms_norm_eps", "rope_theta",
                          "max_position_embeddings", "vocab_size"}) {
    const std::string quoted = "\"" + std::string(key) + "\"";
    const Read read = With(quoted, "\"other\"");
    EXPECT_THAT(read.error, HasSubstr(std::string(key) + " is missing"));
    EXPECT_EQ(read.code, ErrorCode::kCorruptFile);
  }
  const struct {
    std::string_view from, to, words;
  } cases[] = {
      {":2560", ":0", "hidden_size: 1 to"},
      {":2560", ":2561", "not a multiple"},
      {":2560", ":-1", "hidden_size: an integer of 1 or more expected, -1 found"},
      {":2560", ":2560.0", "hidden_size: an integer of 1 or more expected, 2560.0 found"},
      {":2560", ":18446744073709551615", "hidden_size: 1 to"},
      {"1e-05", "1e300", "is not a float"},
      {"1e-05", "\"small\"", "rms_norm_eps: a number expected, \"small\" found"},
      {"[\"BitNetForCausalLM\"]", "\"BitNetForCausalLM\"", "an array of one string"},
      {"[\"BitNetForCausalLM\"]", "[]", "an array of one string"},
      {"{\"quant_method\":\"bitnet\",", "{", "quant_method \"\""},
      {"500000.0", "500000.0,\"rope_scaling\":3", "rope_scaling: an object expected"},
      {"500000.0", "500000.0,\"rope_scaling\":{\"type\":\"llama3\",\"factor\":8}",
       "low_freq_factor is missing"},
      {"500000.0", "500000.0,\"partial_rotary_factor\":1.5", "partial_rotary_factor: up to 1"},
      {"true", "1", "tie_word_embeddings: a bool expected"},
  };
  for (const auto& c : cases) EXPECT_THAT(With(c.from, c.to).error, HasSubstr(c.words)) << c.to;
  EXPECT_THAT(ReadText("[]").error, HasSubstr("an object expected"));
}

TEST(HfConfig, RopeThetaIsLeftToTheReaderOfKeysWhereItsClassHasOneDefault) {
  const Read bitnet = With("\"rope_theta\"", "\"other\"");
  EXPECT_THAT(bitnet.error, HasSubstr("rope_theta is missing; add the number"));
  std::string llama(kBitnet);
  llama.replace(llama.find("BitNetForCausalLM"), 17, "LlamaForCausalLM");
  llama.replace(llama.find("rope_theta"), 10, "other");
  const Read read = ReadText(llama);
  EXPECT_EQ(read.error, "");
  EXPECT_EQ(read.metadata.Find("llama.rope.freq_base"), nullptr);
}

TEST(HfConfig, OtherScalingIsPassedOnForTheModelToRefuse) {
  const Read read = With("500000.0", R"(500000.0,"rope_scaling":{"type":"yarn","factor":4})");
  ASSERT_EQ(read.error, "");
  EXPECT_EQ(Text(read, "bitnet-b1.58.rope.scaling.type"), "yarn");
  EXPECT_EQ(Float(read, "bitnet-b1.58.rope.scaling.factor"), 4);
}

}  // namespace
}  // namespace bittern::formats
