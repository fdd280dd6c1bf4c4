// SPDX-License-Identifier: Apache-2.0
// Loading: what a file must have, and the sentence for each way in which it does not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "base/float16.hpp"
#include "model/activation.hpp"
#include "model/load/load_for_test.hpp"
#include "model/model.hpp"
#include "model/small_model_for_test.hpp"
#include "model/weights.hpp"

namespace bittern::model {
namespace {

using load_test::Load;
using load_test::Loaded;
using load_test::Why;
using testing::AllOf;
using testing::HasSubstr;

std::string ChoiceOf(const Decisions& decisions, std::string_view subject) {
  for (const Decision& decision : decisions) {
    if (decision.subject == subject) return decision.choice;
  }
  return "none";
}

TEST(ModelLoad, GoodFileLoads) {
  const auto loaded = Load(SmallModel());
  ASSERT_TRUE(loaded.model) << loaded.model.error().message;
  EXPECT_EQ(loaded.model->config().head_dim, 128);
  EXPECT_EQ(loaded.model->config().vocab_size, 300);
  EXPECT_EQ(ChoiceOf(loaded.decisions, "activation"), "relu2");
  EXPECT_EQ(ChoiceOf(loaded.decisions, "output head"), "token_embd.weight");
  EXPECT_EQ(loaded.model->weights().layers[1].qkv_proj.parts[2].scale, 0.125f);
}

TEST(ModelLoad, CodeThreeIsNamedByTensorRowAndColumn) {
  for (const auto& [row, col] : {std::pair{0u, 0u}, {5u, 127u}, {127u, 168u}}) {
    SmallModel small;
    auto& data = small.tensors.at("blk.1.attn_k.weight").data;
    data[row * 64 + col / 128 * 32 + col % 32] |= std::byte{3} << (6 - 2 * (col % 128 / 32));
    EXPECT_THAT(Why(small), AllOf(HasSubstr("blk.1.attn_k.weight"), HasSubstr("code 3"),
                                  HasSubstr("row " + std::to_string(row) + ","),
                                  HasSubstr("column " + std::to_string(col))));
  }
}

TEST(ModelLoad, ScaleMustBeFiniteAndPositive) {
  for (float scale : {NAN, INFINITY, -INFINITY, 0.0f, -1.0f}) {
    SmallModel small;
    small.SetScale("blk.0.ffn_down.weight", scale);
    EXPECT_THAT(Why(small), AllOf(HasSubstr("blk.0.ffn_down.weight"), HasSubstr("scale")));
  }
}

TEST(ModelLoad, AMatrixOfZerosNeedsNoScale) {
  for (const char* name : {"blk.0.attn_k.weight", "blk.1.ffn_gate.weight", "blk.1.ffn_up.weight",
                           "blk.0.ffn_down.weight"}) {
    for (const float scale : {0.0f, NAN}) {
      SmallModel small;
      const auto rows = small.tensors.at(name).shape[1];
      for (std::size_t row = 0; row < rows; ++row) small.ZeroRow(name, row);
      small.SetScale(name, scale);
      EXPECT_EQ(Why(small), "loaded") << name;
      small.FillRow(name, rows - 1, 2);
      EXPECT_THAT(Why(small), AllOf(HasSubstr(name), HasSubstr("scale"))) << name;
    }
  }
}

// 1e30 times 1e30: each a float, their product is none. In a layout whose words are moved and in
// one that is read code by code.
TEST(ModelLoad, AStoredScaleTimesASeparateOneMustBeFinite) {
  for (const bool recoded : {false, true}) {
    for (const float scale : {1e30f, 1e-30f}) {
      SmallModel small;
      small.SetScale("blk.0.attn_k.weight", scale);
      if (recoded) small.Recode(quant::CodecOf(quant::TernaryLayout::kI2sArm));
      small.AddFloats("blk.0.attn_k.scale", {1}, 0, scale);
      EXPECT_THAT(Why(small), AllOf(HasSubstr("blk.0.attn_k.weight"),
                                    HasSubstr("expected a finite positive scale")));
    }
  }
}

TEST(ModelLoad, NormsMustBeFinite) {
  SmallModel small;
  small.SetFloat("blk.1.ffn_sub_norm.weight", 200, NAN);
  EXPECT_THAT(Why(small), AllOf(HasSubstr("blk.1.ffn_sub_norm.weight"), HasSubstr("200")));
}

TEST(ModelLoad, EveryTensorIsRequired) {
  const SmallModel good;
  for (const auto& [name, tensor] : good.tensors) {
    SmallModel small;
    small.tensors.erase(name);
    EXPECT_THAT(Why(small), AllOf(HasSubstr(name), HasSubstr("missing"))) << name;
  }
}

TEST(ModelLoad, EveryShapeIsChecked) {
  const SmallModel good;
  for (const auto& [name, tensor] : good.tensors) {
    SmallModel small;
    if (tensor.format == quant::WeightFormat::kI2_S) {
      small.AddTernary(name, tensor.shape[0], tensor.shape[1] + 1);
    } else if (tensor.shape.size() == 1) {
      small.AddFloats(name, {tensor.shape[0] + 1}, 1);
    } else {
      small.AddFloats(name, {tensor.shape[0] + 1, tensor.shape[1]}, 1);
    }
    EXPECT_THAT(Why(small), AllOf(HasSubstr(name), HasSubstr("expected"), HasSubstr("found")));
  }
}

TEST(ModelLoad, FormatsInTheWrongPlaceAreNamed) {
  SmallModel dense;
  dense.AddFloats("blk.0.attn_q.weight", {256, 256}, 1);
  EXPECT_THAT(Why(dense), AllOf(HasSubstr("blk.0.attn_q.weight"), HasSubstr("F32")));
  SmallModel ternary;
  ternary.AddTernary("token_embd.weight", 256, 300);
  EXPECT_THAT(Why(ternary), AllOf(HasSubstr("token_embd.weight"), HasSubstr("I2_S")));
}

TEST(ModelLoad, HyperparametersAreChecked) {
  const struct {
    const char* key;
    std::uint32_t value;
    const char* message;
  } kCases[] = {
      {"block_count", 0, "block_count"},
      {"block_count", 0x80000000u, "block_count"},
      {"embedding_length", 0, "embedding_length"},
      {"attention.head_count", 0, "head_count"},
      {"attention.head_count", 3, "head_count"},
      {"attention.head_count_kv", 3, "head_count_kv"},
      {"rope.dimension_count", 32, "rope.dimension_count"},
      {"vocab_size", 301, "vocab_size"},
      {"context_length", 0xffffffffu, "context_length"},
      {"attention.value_length", 32, "value_length"},
  };
  for (const auto& c : kCases) {
    SmallModel small;
    small.keys[c.key] = c.value;
    EXPECT_THAT(Why(small), HasSubstr(c.message)) << c.key << " = " << c.value;
  }
  for (const char* key : {"block_count", "embedding_length", "feed_forward_length",
                          "attention.head_count", "context_length"}) {
    SmallModel small;
    small.keys.erase(key);
    EXPECT_THAT(Why(small), AllOf(HasSubstr(key), HasSubstr("missing; override_kv=bitnet-b1.58"),
                                  HasSubstr("=int:N")));
  }
  SmallModel nan;
  nan.rms_norm_eps = NAN;
  EXPECT_THAT(Why(nan), HasSubstr("layer_norm_rms_epsilon"));
}

// 65537 heads of 65536 are 2^32 + 65536 rows: as an int 65536, which the matrices have.
TEST(ModelLoad, HeadsTimesTheirSizeMustNotWrap) {
  for (const auto& [heads, kv_heads] : {std::pair{65537u, 1u}, {65537u, 65537u}, {65536u, 1u}}) {
    SmallModel small;
    small.keys["attention.head_count"] = heads;
    small.keys["attention.head_count_kv"] = kv_heads;
    small.keys["attention.key_length"] = 65536;
    EXPECT_THAT(Why(small), AllOf(HasSubstr("attention.head_count"), HasSubstr("key_length"),
                                  HasSubstr("expected up to")));
  }
}

TEST(ModelLoad, ForeignPartsAreRefusedAndStrangersReported) {
  SmallModel biased;
  biased.AddFloats("blk.0.attn_q.bias", {128}, 1);
  EXPECT_THAT(Why(biased), HasSubstr("blk.0.attn_q.bias"));
  SmallModel stranger;
  stranger.AddFloats("extra.weight", {7}, 1);
  const auto loaded = Load(stranger);
  ASSERT_TRUE(loaded.model);
  EXPECT_EQ(ChoiceOf(loaded.decisions, "tensor extra.weight"), "ignored");
  SmallModel scaled;
  scaled.texts["bitnet-b1.58.rope.scaling.type"] = "dynamic";
  EXPECT_THAT(Why(scaled), HasSubstr("\"dynamic\" is not supported; supported: none, linear"));
}

// Names of four lengths put the data at every offset modulo 4.
TEST(ModelLoad, EmbeddingsMayLieAtOddAddresses) {
  for (const char* name : {"a", "ab", "abc", "abcd"}) {
    SmallModel small;
    small.alignment = 1;
    small.texts["general.name"] = name;
    small.AddFloats("output.weight", {256, 300}, 0.05f);
    const auto loaded = Load(small);
    ASSERT_TRUE(loaded.model) << loaded.model.error().message;
    const Weights& weights = loaded.model->weights();
    for (const auto& [matrix, tensor] : {std::pair{&weights.embedding, "token_embd.weight"},
                                         {&weights.lm_head, "output.weight"}}) {
      const auto& data = small.tensors.at(tensor).data;
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(matrix->data) % 4, 0u);
      EXPECT_EQ(std::memcmp(matrix->data, data.data(), data.size()), 0) << tensor;
    }
  }
}

TEST(ModelLoad, TensorsThatChangeTheResultAreRefused) {
  for (const char* name :
       {"blk.0.attn_post_norm.weight", "token_embd_norm.weight", "blk.1.attn_q.input_scale",
        "token_embd.scale", "blk.0.attn_qkv.weight", "blk.1.ffn_gate_exps.weight",
        "blk.1.ffn_gate_inp.weight", "blk.0.attn_q_norm.weight", "blk.0.attn_q_norm_in.weight"}) {
    SmallModel small;
    small.AddFloats(name, {1}, 0, 1);
    EXPECT_THAT(Why(small), AllOf(HasSubstr(name), HasSubstr("not supported"))) << name;
  }
  SmallModel longer;
  longer.keys["block_count"] = 1;
  EXPECT_THAT(Why(longer), AllOf(HasSubstr("tensor \"blk.1."), HasSubstr("layers 0 to 0"),
                                 HasSubstr("override_kv=bitnet-b1.58.block_count=int:")));
  SmallModel harmless;
  harmless.AddFloats("rope_freqs.weight", {64}, 0, 1);
  harmless.AddFloats("blk.0.attn_rot_embd.weight", {64}, 0, 1);
  EXPECT_EQ(Why(harmless), "loaded");
}

TEST(ModelLoad, WithoutRopeThetaItIs10000) {
  SmallModel small;
  small.rope_theta.reset();
  const auto loaded = Load(small);
  ASSERT_TRUE(loaded.model) << loaded.model.error().message;
  EXPECT_EQ(loaded.model->config().rope_theta, 10000);
  EXPECT_EQ(ChoiceOf(loaded.decisions, "bitnet-b1.58.rope.freq_base"), "10000");
  small.rope_theta = 0.5f;
  EXPECT_THAT(Why(small), HasSubstr("rope.freq_base: expected 1"));
}

TEST(ModelLoad, SubNormsOfALlamaNameTheArchitectureThatHasThem) {
  SmallModel small("llama");
  small.AddFloats("blk.0.attn_sub_norm.weight", {256}, 0.1f, 1);
  small.AddFloats("blk.0.ffn_sub_norm.weight", {512}, 0.1f, 1);
  small.AddFloats("blk.1.attn_sub_norm.weight", {256}, 0.1f, 1);
  small.AddFloats("blk.1.ffn_sub_norm.weight", {512}, 0.1f, 1);
  EXPECT_THAT(Why(small), AllOf(HasSubstr("blk.0.attn_sub_norm.weight"),
                                HasSubstr("general.architecture=str:bitnet-b1.58")));
  const auto cured = Load(small, "general.architecture=str:bitnet-b1.58");
  ASSERT_TRUE(cured.model) << cured.model.error().message;
  EXPECT_EQ(cured.model->config().num_layers, 2);
}

TEST(ModelLoad, SeparateScaleMultiplies) {
  SmallModel small;
  small.AddFloats("blk.0.attn_k.scale", {1}, 0, 3);
  const auto loaded = Load(small);
  ASSERT_TRUE(loaded.model) << loaded.model.error().message;
  EXPECT_EQ(loaded.model->weights().layers[0].qkv_proj.parts[1].scale, 0.125f * 3.0f);
  EXPECT_EQ(loaded.model->weights().layers[1].qkv_proj.parts[1].scale, 0.125f);
}

TEST(ModelLoad, DeltaLayersAreCheckedByName) {
  EXPECT_EQ(Why(SmallModel("qwen35")), "loaded");
  const std::pair<const char*, std::uint32_t> kWrong[] = {
      {"ssm.inner_size", 127},      {"ssm.inner_size", 256},     {"ssm.time_step_rank", 3},
      {"ssm.state_size", 40},       {"ssm.state_size", 0},       {"ssm.conv_kernel", 0},
      {"ssm.conv_kernel", 65},      {"ssm.group_count", 0},      {"full_attention_interval", 0},
      {"rope.dimension_count", 63}, {"rope.dimension_count", 0}, {"rope.dimension_count", 130}};
  for (const auto& [key, value] : kWrong) {
    SmallModel small("qwen35");
    small.keys[key] = value;
    EXPECT_THAT(Why(small), HasSubstr(std::string("qwen35.") + key)) << value;
    if (std::string_view(key).starts_with("ssm.")) {
      small.keys.erase(key);
      EXPECT_THAT(Why(small), HasSubstr(std::string("qwen35.") + key));
    }
  }
  for (const char* name :
       {"blk.0.attn_qkv.weight", "blk.0.attn_gate.weight", "blk.0.ssm_beta.weight",
        "blk.0.ssm_alpha.weight", "blk.0.ssm_conv1d.weight", "blk.0.ssm_dt.bias", "blk.0.ssm_a",
        "blk.0.ssm_norm.weight", "blk.0.ssm_out.weight", "blk.0.post_attention_norm.weight"}) {
    SmallModel small("qwen35");
    small.tensors.erase(name);
    EXPECT_THAT(Why(small), AllOf(HasSubstr(name), HasSubstr("missing")));
  }
  SmallModel grows("qwen35");
  grows.SetFloat("blk.0.ssm_a", 2, 0.5f);
  EXPECT_THAT(Why(grows), AllOf(HasSubstr("blk.0.ssm_a"), HasSubstr("element 2")));
  for (const char* name :
       {"blk.0.ssm_beta.weight", "blk.0.ssm_conv1d.weight", "blk.0.ssm_dt.bias"}) {
    SmallModel small("qwen35");
    small.SetFloat(name, 1, NAN);
    EXPECT_THAT(Why(small), AllOf(HasSubstr(name), HasSubstr("element 1")));
  }
  SmallModel shape("qwen35");
  shape.AddFloats("blk.0.ssm_conv1d.weight", {3, 256}, 0.5f);
  EXPECT_THAT(Why(shape), AllOf(HasSubstr("ssm_conv1d"), HasSubstr("256 rows of 4")));
  SmallModel listed("qwen35");
  listed.recurrent = {true, false, false};  // llama.cpp counts the layers that only guess
  EXPECT_EQ(Why(listed), "loaded");
  listed.keys.erase("full_attention_interval");
  EXPECT_EQ(Why(listed), "loaded");
  listed.recurrent = {false, true};
  EXPECT_THAT(Why(listed), AllOf(HasSubstr("qwen35.attention.recurrent_layers: element 1"),
                                 HasSubstr("expected false")));
  listed.recurrent = {true};
  EXPECT_THAT(Why(listed), HasSubstr("recurrent_layers: expected 2 elements, found 1"));
  SmallModel other("qwen3");
  other.AddFloats("blk.0.ssm_a", {4}, 0.1f, -1);
  EXPECT_THAT(Why(other), HasSubstr("blk.0.ssm_a"));
}

TEST(ModelLoad, ExpertsAndWindowsAreCheckedByName) {
  EXPECT_EQ(Why(SmallModel("maple")), "loaded");
  const std::pair<const char*, std::uint32_t> kWrong[] = {{"expert_count", 0},
                                                          {"expert_count", 5000},
                                                          {"expert_used_count", 0},
                                                          {"expert_used_count", 7},
                                                          {"expert_feed_forward_length", 100},
                                                          {"expert_feed_forward_length", 0},
                                                          {"attention.sliding_window", 0},
                                                          {"rope.dimension_count", 0},
                                                          {"rope.dimension_count", 130},
                                                          {"expert_shared_count", 1},
                                                          {"expert_group_count", 2},
                                                          {"expert_gating_func", 2},
                                                          {"leading_dense_block_count", 1}};
  for (const auto& [key, value] : kWrong) {
    SmallModel small("maple");
    small.keys[key] = value;
    EXPECT_THAT(Why(small),
                AllOf(HasSubstr(std::string("maple.") + key), HasSubstr(std::to_string(value))));
  }
  for (const char* key : {"expert_count", "expert_used_count", "expert_feed_forward_length",
                          "attention.sliding_window"}) {
    SmallModel small("maple");
    small.keys.erase(key);
    EXPECT_THAT(Why(small), AllOf(HasSubstr(std::string("maple.") + key), HasSubstr("missing")));
  }
  SmallModel width("maple");  // tiles of 16 rows belong to one expert
  width.keys["embedding_length"] = 250;
  EXPECT_THAT(Why(width), AllOf(HasSubstr("maple.embedding_length"), HasSubstr("250")));
  SmallModel rotated("maple");
  rotated.Rotate(1);
  EXPECT_THAT(Why(rotated), AllOf(HasSubstr("prism.hadamard.version"), HasSubstr("experts")));
}

TEST(ModelLoad, WindowsAndClampsHaveAValueForEachLayer) {
  const std::string pattern = "maple.attention.sliding_window_pattern";
  SmallModel number("maple");
  number.windowed = {};
  EXPECT_THAT(Why(number), AllOf(HasSubstr(pattern), HasSubstr("found 0")));
  number.keys["attention.sliding_window_pattern"] = 4;
  EXPECT_THAT(Why(number), AllOf(HasSubstr(pattern), HasSubstr("an array of bool expected")));
  for (const std::size_t count : {1u, 3u}) {
    SmallModel windows("maple"), clamps("maple");
    windows.windowed.assign(count, true);
    EXPECT_THAT(Why(windows), AllOf(HasSubstr(pattern), HasSubstr("each of the 2 layers"),
                                    HasSubstr("found " + std::to_string(count))));
    clamps.clamps.assign(count, 7);
    EXPECT_THAT(Why(clamps), AllOf(HasSubstr("maple.swiglu_clamp_exp"),
                                   HasSubstr("found " + std::to_string(count))));
  }
  for (const float clamp : {0.0f, -7.0f, NAN}) {
    SmallModel small("maple");
    small.clamps[1] = clamp;
    EXPECT_THAT(Why(small), AllOf(HasSubstr("maple.swiglu_clamp_exp"), HasSubstr("element 1")));
  }
  // Other converters leave the count of all layers at 0 and give that of windowed ones.
  SmallModel other("maple"), given("maple");
  other.keys["rope.dimension_count"] = 0;
  other.keys["rope.dimension_count_swa"] = 64;
  const auto loaded = Load(other), expected = Load(given);
  ASSERT_TRUE(loaded.model) << loaded.model.error().message;
  EXPECT_EQ(loaded.model->config().rotated_dim, 64);
  EXPECT_EQ(loaded.model->weights().inv_freq, expected.model->weights().inv_freq);
}

TEST(ModelLoad, TensorsOfExpertsAreCheckedByName) {
  for (const char* name : {"blk.1.ffn_gate_inp.weight", "blk.0.ffn_gate_exps.weight",
                           "blk.0.ffn_up_exps.weight", "blk.1.ffn_down_exps.weight"}) {
    SmallModel small("maple");
    small.tensors.erase(name);
    EXPECT_THAT(Why(small), AllOf(HasSubstr(name), HasSubstr("missing")));
  }
  SmallModel fewer("maple");
  fewer.AddTernary("blk.0.ffn_up_exps.weight", 256, 128, 5);
  EXPECT_THAT(Why(fewer),
              AllOf(HasSubstr("blk.0.ffn_up_exps.weight"), HasSubstr("768"), HasSubstr("640")));
  SmallModel turned("maple");  // as many rows, dealt to experts in another way
  turned.AddTernary("blk.0.ffn_up_exps.weight", 256, 6, 128);
  EXPECT_THAT(Why(turned), AllOf(HasSubstr("blk.0.ffn_up_exps.weight"),
                                 HasSubstr("6 experts of 128 rows, found 128 of 6")));
  SmallModel router("maple");
  router.AddFloats("blk.0.ffn_gate_inp.weight", {256, 5}, 0.1f);
  EXPECT_THAT(Why(router), AllOf(HasSubstr("blk.0.ffn_gate_inp.weight"), HasSubstr("6 rows")));
  SmallModel nan("maple");
  nan.SetFloat("blk.0.ffn_gate_inp.weight", 7, NAN);
  EXPECT_THAT(Why(nan), AllOf(HasSubstr("blk.0.ffn_gate_inp.weight"), HasSubstr("element 7")));
  SmallModel dense("maple"), other("qwen3");
  dense.AddTernary("blk.0.ffn_gate.weight", 256, 512);
  EXPECT_THAT(Why(dense), HasSubstr("blk.0.ffn_gate.weight"));
  other.AddTernary("blk.0.ffn_gate_exps.weight", 256, 128, 6);
  EXPECT_THAT(Why(other), AllOf(HasSubstr("blk.0.ffn_gate_exps.weight"), HasSubstr("experts")));
}

/// A scale of group g of row r.
float GroupScale(std::size_t r, std::size_t g) {
  return 0.0625f * static_cast<float>(1 + (r + 2 * g) % 5);
}

TEST(ModelLoad, ScalesOfGroupsStayHalves) {
  SmallModel small("qwen3");
  small.Recode(*quant::DefaultCodec(quant::WeightFormat::kTQ2_0), GroupScale);
  const auto loaded = Load(small);
  ASSERT_TRUE(loaded.model) << loaded.model.error().message;
  const TernaryMatrix& down = loaded.model->weights().layers[0].down_proj;  // 512 columns
  ASSERT_TRUE(down.grouped());
  EXPECT_EQ(down.group_scales.size(), 0u);
  ASSERT_EQ(down.half_scales.size(), SmallModel::kHidden * 4);
  for (std::size_t row = 0; row < SmallModel::kHidden; ++row) {
    for (std::size_t block = 0; block < 4; ++block) {
      const std::uint16_t half = down.half_scales.data()[(row / 16 * 4 + block) * 16 + row % 16];
      EXPECT_EQ(HalfToFloat(half), GroupScale(row, block / 2));
    }
  }
}

TEST(ModelLoad, MatricesWithGroupsHaveALayoutOfTheirOwn) {
  SmallModel small("qwen3");
  small.Recode(*quant::DefaultCodec(quant::WeightFormat::kTQ2_0), GroupScale);
  for (const auto rows : {MatrixLayout::kTile16, MatrixLayout::kTile48}) {
    for (const auto groups : {MatrixLayout::kTile16, MatrixLayout::kTile48}) {
      const auto loaded = Load(small, {}, {.layout = rows, .grouped_layout = groups});
      ASSERT_TRUE(loaded.model) << loaded.model.error().message;
      for (const LayerWeights& layer : loaded.model->weights().layers) {
        EXPECT_EQ(layer.qkv_proj.layout, groups);
        const TernaryMatrix& down = layer.down_proj;
        EXPECT_EQ(down.layout, groups);
        for (std::size_t row = 0; row < SmallModel::kHidden; ++row) {
          const std::size_t at = row / 16 * down.scales_of_16() + row % 16;
          EXPECT_EQ(HalfToFloat(down.half_scales.data()[at]), GroupScale(row, 0)) << row;
        }
      }
    }
  }
  const auto tables = Load(small, {}, {.layout = MatrixLayout::kTl1});
  ASSERT_FALSE(tables.model);
  EXPECT_THAT(tables.model.error().message, HasSubstr("need layout tile16 or tile48, not tl1"));
  EXPECT_EQ(tables.model.error().code, ErrorCode::kInvalidArgument);  // the file is good
}

TEST(ModelLoad, ScalesThatNoHalfHoldsStayFloats) {
  SmallModel small("qwen3");
  small.Recode(*quant::DefaultCodec(quant::WeightFormat::kPQ2_0), GroupScale);
  SmallModel::Tensor& gate = small.tensors.at("blk.0.ffn_gate.weight");  // stacked with ffn_up
  gate.format = quant::WeightFormat::kF32;
  gate.data.resize(SmallModel::kHidden * SmallModel::kFfn * sizeof(float));
  constexpr float kScale = 0.1f;
  for (std::size_t i = 0; i < SmallModel::kHidden * SmallModel::kFfn; ++i) {
    small.SetFloat("blk.0.ffn_gate.weight", i, kScale * (static_cast<float>(i % 3) - 1));
  }
  const auto loaded = Load(small);
  ASSERT_TRUE(loaded.model) << loaded.model.error().message;
  const TernaryMatrix& stack = loaded.model->weights().layers[0].gate_up_proj;
  EXPECT_EQ(stack.half_scales.size(), 0u);
  ASSERT_GT(stack.group_scales.size(), 0u);
  EXPECT_EQ(stack.group_scales.data()[0], kScale);
  const std::size_t up = stack.parts[1].first_row / 16 * 2 * 16;  // two blocks a tile
  EXPECT_EQ(stack.group_scales.data()[up + 16], GroupScale(0, 1));
}

TEST(Activation, ArchitectureBitnetGoesByTheVocabulary) {
  const auto activation = [](const char* tokenizer, const char* first_token) {
    formats::GgufBuilder builder;
    if (tokenizer != nullptr) builder.Add("tokenizer.ggml.model", tokenizer);
    builder.AddStrings("tokenizer.ggml.tokens", {first_token, "a"});
    const auto path =
        std::filesystem::temp_directory_path() / ("activation" + std::to_string(getpid()));
    const auto bytes = builder.Build();
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    const auto checkpoint = formats::Checkpoint::Open(path).value();
    std::filesystem::remove(path);
    ModelConfig config;
    config.architecture = "bitnet";
    config.traits = formats::FindArchitecture("bitnet");
    Decisions decisions;
    EXPECT_TRUE(ResolveActivation(checkpoint.metadata(), config, &decisions));
    return decisions.at(0);
  };
  const Decision llama3 = activation("gpt2", "<|begin_of_text|>");
  EXPECT_EQ(llama3.choice, "relu2");
  EXPECT_TRUE(llama3.notable);
  const Decision sentence_piece = activation("llama", "<s>");
  EXPECT_EQ(sentence_piece.choice, "silu");
  EXPECT_FALSE(sentence_piece.notable);
  for (const Decision& guess : {activation("gpt2", "<|endoftext|>"), activation(nullptr, "x")}) {
    EXPECT_EQ(guess.choice, "silu");
    EXPECT_TRUE(guess.notable);
    EXPECT_THAT(guess.hint, HasSubstr("override_kv=bitnet.hidden_activation=str:relu2"));
  }
}

TEST(Activation, FollowsTheWrittenRule) {
  const auto activation = [](const SmallModel& small) {
    auto loaded = Load(small);
    return loaded.model ? std::string(formats::ActivationName(loaded.model->config().activation))
                        : loaded.model.error().message;
  };
  SmallModel small;
  small.architecture = "bitnet-25";
  EXPECT_EQ(activation(small), "relu2");
  small.architecture = "bitnet";
  EXPECT_EQ(activation(small), "silu");
  small.texts["bitnet.hidden_activation"] = "relu2";
  EXPECT_EQ(activation(small), "relu2");
  small.texts["bitnet.hidden_activation"] = "gelu";
  EXPECT_THAT(activation(small), HasSubstr("gelu"));
  SmallModel relabelled;
  relabelled.texts["tokenizer.ggml.model"] = "llama";
  EXPECT_EQ(activation(relabelled), "silu");
  SmallModel foreign;
  foreign.architecture = "mamba";
  EXPECT_THAT(activation(foreign), AllOf(HasSubstr("mamba"), HasSubstr("bitnet-b1.58")));
}

}  // namespace
}  // namespace bittern::model
