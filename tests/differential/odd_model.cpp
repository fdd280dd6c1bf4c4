// SPDX-License-Identifier: Apache-2.0
#include "odd_model.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <stdexcept>

#include "base/byte_alphabet.hpp"
#include "base/float16.hpp"
#include "quant/blocks/dequantize.hpp"
#include "quant/blocks/quantize.hpp"

namespace bittern::differential {
namespace {

using quant::WeightFormat;

/// Formats that embeddings and heads may have.
struct DenseFormat {
  const char* name;
  WeightFormat format;
  int halves;  ///< binary16 numbers that a block begins with, where there is no encoder
};
constexpr DenseFormat kDense[] = {
    {"f32", WeightFormat::kF32, 0},   {"f16", WeightFormat::kF16, 0},
    {"bf16", WeightFormat::kBF16, 0}, {"q8_0", WeightFormat::kQ8_0, 0},
    {"q6_k", WeightFormat::kQ6_K, 0}, {"q4_0", WeightFormat::kQ4_0, 1},
    {"q4_1", WeightFormat::kQ4_1, 2}, {"q5_0", WeightFormat::kQ5_0, 1},
    {"q5_1", WeightFormat::kQ5_1, 2}, {"q4_k", WeightFormat::kQ4_K, 2},
    {"q5_k", WeightFormat::kQ5_K, 2}, {"iq4_nl", WeightFormat::kIQ4_NL, 1}};

const DenseFormat& FindDense(const std::string& name) {
  for (const DenseFormat& format : kDense) {
    if (name == format.name) return format;
  }
  throw std::runtime_error("no dense format " + name);
}

float FloatOf(const Json& spec, const char* key) { return spec[key].get<float>(); }

}  // namespace

OddModel::OddModel(const Json& spec) : spec_(spec), rng_(spec["seed"].get<std::uint32_t>()) {
  const std::string architecture = spec["architecture"];
  const std::size_t hidden = Size("hidden"), ffn = Size("ffn");
  for (const Json& special : spec["rows"]) rows_[{special[0], special[1]}] = special[2];
  const bool recurrent = architecture == "qwen35";
  AddKeys(spec);
  AddVocabulary(Size("vocab"));
  AddDense("token_embd.weight", spec["embedding"], Size("vocab"), hidden);
  if (spec["head"] != "tied") AddDense("output.weight", spec["head"], Size("vocab"), hidden);
  AddNorm("output_norm.weight", hidden, 1);
  const float norm = FloatOf(spec, "norm_scale");
  for (std::size_t i = 0; i < Size("layers"); ++i) {
    const std::string p = "blk." + std::to_string(i) + ".";
    AddNorm(p + "attn_norm.weight", hidden, norm);
    AddNorm(p + (recurrent ? "post_attention_norm.weight" : "ffn_norm.weight"), hidden, norm);
    if (architecture == "gemma3") {
      AddNorm(p + "post_attention_norm.weight", hidden, norm);
      AddNorm(p + "post_ffw_norm.weight", hidden, norm);
    }
    if (spec.contains("input_norms")) {
      for (const char* name : {"attn_q", "attn_k", "attn_v", "ffn_gate", "ffn_up"}) {
        AddNorm(p + name + "_norm_in.weight", hidden, norm);
      }
      AddNorm(p + "attn_output_norm_in.weight", Size("heads") * Size("head_dim"), norm);
      AddNorm(p + "ffn_down_norm_in.weight", ffn, norm);
    }
    if (architecture.starts_with("bitnet")) {
      AddNorm(p + "attn_sub_norm.weight", Size("heads") * Size("head_dim"), norm);
      AddNorm(p + "ffn_sub_norm.weight", ffn, norm);
    }
    if (recurrent && (i + 1) % Size("interval") != 0) {
      AddDelta(p);
    } else {
      AddAttention(p);
    }
    if (spec.contains("experts")) {
      AddExperts(p);
      continue;
    }
    AddTernary(p + "ffn_gate.weight", ffn, hidden);
    AddTernary(p + "ffn_up.weight", ffn, hidden);
    AddTernary(p + "ffn_down.weight", hidden, ffn);
  }
  if (spec.contains("long_rope")) AddFactors(spec["long_rope"]);
  if (!tilings_.empty()) builder_.AddArray("ternary.tl.tiling", tilings_);
  if (spec.contains("rotation")) AddRotation(spec["rotation"], spec["head"] == "tied");
}

/// The oracle has the description of these. Both lists are as long as the largest head.
void OddModel::AddFactors(const Json& lists) {
  for (const char* list : {"long", "short"}) {
    auto factors = lists[list].get<std::vector<float>>();
    factors.resize(Size("head_dim") / 2);
    std::vector<std::byte> data(factors.size() * sizeof(float));
    std::memcpy(data.data(), factors.data(), data.size());
    builder_.AddTensor(std::string("rope_factors_") + list + ".weight",
                       static_cast<std::uint32_t>(WeightFormat::kF32), {factors.size()},
                       std::move(data));
  }
}

void OddModel::AddRotation(const Json& rotation, bool tied) {
  const std::string p = "prism.hadamard.";
  builder_.Add(p + "version", tied ? 2u : 1u);
  builder_.Add(p + "block_size", rotation["block"].get<std::uint32_t>());
  builder_.Add(p + "transform", std::string("normalized-sylvester-walsh-hadamard"));
  builder_.Add(p + "axis", std::string("input-last-dimension"));
  if (tied) builder_.Add(p + "tied_output", true);
  if (rotation["values_by_key"]) builder_.Add(p + "gdn_v_grouped", true);
  if (!tied) matrices_.push_back("output.weight");
  builder_.AddStrings(p + "weight_names", matrices_);
  builder_.AddStrings(p + "inverse_weight_names", {"token_embd.weight"});
  const bool plain = rotation["signs"].empty();
  builder_.Add(p + "sign_mode", std::string(plain ? "identity" : "explicit"));
  if (plain) return;
  std::vector<std::int32_t> all;
  for (const Json& signs : rotation["signs"]) {
    for (const Json& sign : signs) all.push_back(sign.get<std::int32_t>());
  }
  builder_.AddArray(p + "sign_widths", rotation["widths"].get<std::vector<std::int32_t>>());
  builder_.AddArray(p + "sign_values", all);
}

void OddModel::AddAttention(const std::string& p) {
  const std::string architecture = spec_["architecture"];
  const std::size_t hidden = Size("hidden"), head_dim = Size("head_dim");
  const std::size_t q_size = Size("heads") * head_dim, kv_size = Size("kv_heads") * head_dim;
  const float norm = FloatOf(spec_, "norm_scale");
  const bool gated = architecture == "qwen35";
  const bool normed = architecture == "qwen3" || architecture == "gemma3" ||
                      spec_.contains("experts") || architecture == "hunyuan-dense";
  if (normed || gated) {
    AddNorm(p + "attn_q_norm.weight", head_dim, norm);
    AddNorm(p + "attn_k_norm.weight", head_dim, norm);
  }
  AddTernary(p + "attn_q.weight", gated ? 2 * q_size : q_size, hidden);
  AddTernary(p + "attn_k.weight", kv_size, hidden);
  AddTernary(p + "attn_v.weight", kv_size, hidden);
  AddTernary(p + "attn_output.weight", hidden, q_size);
}

void OddModel::AddExperts(const std::string& p) {
  const std::size_t hidden = Size("hidden"), neurons = Size("neurons"), experts = Size("experts");
  const float across = 1 / std::sqrt(static_cast<float>(hidden));
  AddFloats(p + "ffn_gate_inp.weight", experts, hidden, 0, FloatOf(spec_, "router") * across);
  AddTernary(p + "ffn_gate_exps.weight", neurons, hidden, experts);
  AddTernary(p + "ffn_up_exps.weight", neurons, hidden, experts);
  AddTernary(p + "ffn_down_exps.weight", hidden, neurons, experts);
}

void OddModel::AddDelta(const std::string& p) {
  const std::size_t hidden = Size("hidden"), heads = Size("value_heads"), dim = Size("delta_dim");
  const std::size_t mix = (2 * Size("key_heads") + heads) * dim;
  const float across = 1 / std::sqrt(static_cast<float>(hidden));
  AddTernary(p + "attn_qkv.weight", mix, hidden);
  AddTernary(p + "attn_gate.weight", heads * dim, hidden);
  AddFloats(p + "ssm_beta.weight", heads, hidden, 0, across);
  AddFloats(p + "ssm_alpha.weight", heads, hidden, 0, across);
  AddFloats(p + "ssm_conv1d.weight", mix, Size("taps"), 0.1f, 0.5f);
  AddFloats(p + "ssm_dt.bias", 1, heads, -1, 1);
  AddFloats(p + "ssm_a", 1, heads, -1, 0.2f);
  AddNorm(p + "ssm_norm.weight", dim, FloatOf(spec_, "norm_scale"));
  AddTernary(p + "ssm_out.weight", hidden, heads * dim);
}

std::string OddModel::KindOf(const std::string& tensor, std::size_t row) const {
  for (const int key : {static_cast<int>(row), -1}) {
    if (const auto found = rows_.find({tensor, key}); found != rows_.end()) return found->second;
  }
  return "";
}

void OddModel::AddKeys(const Json& spec) {
  const std::string architecture = spec["architecture"], a = architecture + ".";
  builder_.Add("general.architecture", architecture);
  const std::pair<const char*, const char*> kNumbers[] = {{"block_count", "layers"},
                                                          {"embedding_length", "hidden"},
                                                          {"feed_forward_length", "ffn"},
                                                          {"attention.head_count", "heads"},
                                                          {"attention.head_count_kv", "kv_heads"},
                                                          {"attention.key_length", "head_dim"},
                                                          {"attention.value_length", "head_dim"},
                                                          {"vocab_size", "vocab"}};
  for (const auto& [key, name] : kNumbers) builder_.Add(a + key, spec[name].get<std::uint32_t>());
  const bool recurrent = architecture == "qwen35";
  const bool windows = architecture == "maple";
  builder_.Add(a + "rope.dimension_count",
               spec[recurrent || windows ? "rotated_dim" : "head_dim"].get<std::uint32_t>());
  if (spec.contains("experts")) {
    const std::pair<const char*, const char*> kExperts[] = {
        {"expert_count", "experts"},
        {"expert_used_count", "used"},
        {"expert_feed_forward_length", "neurons"}};
    for (const auto& [key, name] : kExperts) builder_.Add(a + key, spec[name].get<std::uint32_t>());
  }
  if (windows) {
    builder_.Add(a + "attention.sliding_window", spec["window"].get<std::uint32_t>());
    auto windowed = spec["windowed"].get<std::vector<bool>>();
    auto clamps = spec["clamps"].get<std::vector<float>>();
    windowed.resize(Size("layers"));
    clamps.resize(Size("layers"));
    builder_.AddArray(a + "attention.sliding_window_pattern", windowed);
    builder_.AddArray(a + "swiglu_clamp_exp", clamps);
  }
  if (architecture == "gemma3" && spec.contains("windowed")) {
    auto windowed = spec["windowed"].get<std::vector<bool>>();
    windowed.resize(Size("layers"));
    builder_.Add(a + "attention.sliding_window", spec["window"].get<std::uint32_t>());
    builder_.AddArray(a + "attention.sliding_window_pattern", windowed);
    builder_.Add(a + "rope.freq_base_swa", FloatOf(spec, "window_theta"));
  }
  if (recurrent) {
    const std::pair<const char*, const char*> kDelta[] = {{"full_attention_interval", "interval"},
                                                          {"ssm.conv_kernel", "taps"},
                                                          {"ssm.state_size", "delta_dim"},
                                                          {"ssm.group_count", "key_heads"},
                                                          {"ssm.time_step_rank", "value_heads"}};
    for (const auto& [key, name] : kDelta) builder_.Add(a + key, spec[name].get<std::uint32_t>());
    const auto inner = Size("value_heads") * Size("delta_dim");
    builder_.Add(a + "ssm.inner_size", static_cast<std::uint32_t>(inner));
  }
  if (spec.contains("scales_of_stream")) {
    for (const auto& [key, value] : spec["scales_of_stream"].items()) {
      builder_.Add(a + key, value.get<float>());
    }
  }
  if (spec.contains("long_rope")) {
    builder_.Add(a + "rope.scaling.type", std::string("longrope"));
    builder_.Add(a + "rope.scaling.original_context_length",
                 spec["long_rope"]["original"].get<std::uint32_t>());
  }
  if (spec.contains("yarn")) {
    builder_.Add(a + "rope.scaling.type", std::string("yarn"));
    builder_.Add(a + "rope.scaling.factor", spec["yarn"]["factor"].get<float>());
    builder_.Add(a + "rope.scaling.original_context_length",
                 spec["yarn"]["original"].get<std::uint32_t>());
  }
  builder_.Add(a + "context_length", 512u);
  builder_.Add(a + "attention.layer_norm_rms_epsilon", FloatOf(spec, "eps"));
  builder_.Add(a + "rope.freq_base", FloatOf(spec, "theta"));
  if (spec["activation"] != "") {
    builder_.Add(a + "hidden_activation", spec["activation"].get<std::string>());
  }
  const std::string layout = spec["layout"];
  if (layout.starts_with("i2_s:")) builder_.Add("ternary.layout", layout.substr(5));
}

void OddModel::AddVocabulary(std::size_t size) {
  std::vector<std::string> tokens;
  std::vector<std::int32_t> types;
  for (int byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    AppendSpelling({&c, 1}, &tokens.emplace_back());
    types.push_back(1);
  }
  tokens.push_back("ab");  // a vocabulary has merges
  types.push_back(1);
  for (std::size_t i = tokens.size(); i < size; ++i) {
    tokens.push_back("<extra_" + std::to_string(i) + ">");
    types.push_back(3);
  }
  builder_.Add("tokenizer.ggml.model", "gpt2").Add("tokenizer.ggml.pre", "llama-bpe");
  builder_.AddStrings("tokenizer.ggml.tokens", tokens);
  builder_.AddArray("tokenizer.ggml.token_type", types);
  builder_.AddStrings("tokenizer.ggml.merges", {"a b"});
  builder_.Add("tokenizer.ggml.eos_token_id", static_cast<std::uint32_t>(size - 1));
}

void OddModel::Keep(const std::string& name, std::size_t rows, std::size_t cols,
                    std::size_t group_cols, const void* weights, std::size_t weight_bytes,
                    const std::vector<float>& scales) {
  table_.push_back({{"name", name},
                    {"rows", rows},
                    {"cols", cols},
                    {"group_cols", group_cols},
                    {"offset", numbers_.size()}});
  numbers_.append(static_cast<const char*>(weights), weight_bytes);
  numbers_.append(reinterpret_cast<const char*>(scales.data()), scales.size() * sizeof(float));
}

void OddModel::AddNorm(const std::string& name, std::size_t size, float scale) {
  AddFloats(name, 1, size, scale, 0.1f * scale);
}

void OddModel::AddFloats(const std::string& name, std::size_t rows, std::size_t cols, float mean,
                         float deviation) {
  std::normal_distribution<float> normal(0, 1);
  std::vector<float> values(rows * cols);
  for (float& value : values) value = mean + deviation * normal(rng_);
  std::vector<std::byte> data(values.size() * sizeof(float));
  std::memcpy(data.data(), values.data(), data.size());
  Keep(name, rows, cols, 0, values.data(), data.size(), {});
  std::vector<std::uint64_t> shape{cols};
  if (rows > 1) shape.push_back(rows);
  builder_.AddTensor(name, static_cast<std::uint32_t>(WeightFormat::kF32), shape, std::move(data));
}

void OddModel::AddDense(const std::string& name, std::string format, std::size_t rows,
                        std::size_t cols) {
  if (cols % quant::InfoOf(FindDense(format).format).block_elements != 0) {
    substitutes_[name] = format = "f16";
  }
  const DenseFormat& dense = FindDense(format);
  const quant::WeightFormatInfo& info = quant::InfoOf(dense.format);
  const std::size_t row_bytes = cols / info.block_elements * info.block_bytes;
  std::vector<std::byte> data(rows * row_bytes);
  std::vector<float> values(rows * cols);
  std::normal_distribution<float> normal(0, FloatOf(spec_, "embedding_scale"));
  for (std::size_t r = 0; r < rows; ++r) {
    float* row = values.data() + r * cols;
    std::byte* bytes = data.data() + r * row_bytes;
    const std::string kind = KindOf(name, r);
    for (std::size_t c = 0; c < cols; ++c) {
      row[c] = normal(rng_);
      if (kind == "huge") row[c] *= 1e30f;
      if (kind == "tiny") row[c] *= 1e-30f;
      if (kind == "zero" || (kind == "onehot" && c != r % cols)) row[c] = 0;
    }
    if (kind == "duplicate" && r > 0) {
      std::memcpy(bytes, bytes - row_bytes, row_bytes);
    } else if (const auto encode = quant::QuantizeRowFor(dense.format)) {
      encode(row, cols, bytes);
    } else {
      for (std::size_t b = 0; b < row_bytes; ++b) bytes[b] = static_cast<std::byte>(rng_());
      for (std::size_t b = 0; b < row_bytes; b += info.block_bytes) {
        for (int h = 0; h < dense.halves; ++h) {
          const std::uint16_t half = FloatToHalf(kind == "zero" ? 0.0f : normal(rng_) / 16);
          std::memcpy(bytes + b + 2 * static_cast<std::size_t>(h), &half, 2);
        }
      }
    }
    quant::DequantizeRowFor(dense.format)(bytes, cols, row);
  }
  Keep(name, rows, cols, 0, values.data(), values.size() * sizeof(float), {});
  builder_.AddTensor(name, static_cast<std::uint32_t>(dense.format), {cols, rows}, std::move(data));
}

void OddModel::AddTernary(const std::string& name, std::size_t rows_of_one, std::size_t cols,
                          std::size_t experts) {
  const std::size_t rows = rows_of_one * std::max<std::size_t>(1, experts);
  matrices_.push_back(name);
  const quant::TernaryCodec* codec = quant::FindCodec(spec_["layout"].get<std::string>());
  if (codec == nullptr) throw std::runtime_error("no ternary layout of that name");
  auto tiling = quant::DefaultTiling(codec->format, rows, cols);
  const bool tiled =
      codec->layout == quant::TernaryLayout::kTl1 || codec->layout == quant::TernaryLayout::kTl2;
  if ((tiled && (!tiling || experts != 0)) ||
      !codec->check(rows, cols, tiling.value_or(quant::TlTiling{}))) {
    codec = &quant::CodecOf(quant::TernaryLayout::kF32);
    substitutes_[name] = "f32";
    tiling.reset();
  }
  std::vector<std::uint8_t> codes(rows * cols);
  for (std::size_t r = 0; r < rows; ++r) {
    const std::string kind = KindOf(name, r);
    for (std::size_t c = 0; c < cols; ++c) {
      std::uint8_t& code = codes[r * cols + c];
      code = static_cast<std::uint8_t>(rng_() % 3);
      if (codec->layout == quant::TernaryLayout::kQ1_0) {  // knows no zeros
        code &= 2;
        continue;
      }
      if (codec->layout == quant::TernaryLayout::kStq1_0) {  // one zero of four
        const bool zero = (c / 64 + c % 16) % 4 == c % 64 / 16;
        code = zero ? std::uint8_t{1} : static_cast<std::uint8_t>(code & 2);
        continue;
      }
      if (kind == "zero") code = 1;
      if (kind == "onehot") code = c == r % cols ? 2 : 1;
      if (kind == "ones") code = 2;
      if (kind == "duplicate" && r > 0) code = codes[(r - 1) * cols + c];
    }
  }
  const std::size_t dot = name.find('.', 4);  // "blk.3.attn_q.weight"
  const std::string short_name = name.substr(dot + 1, name.rfind('.') - dot - 1);
  const float base = spec_["scales"][short_name].get<float>();
  const float spread = FloatOf(spec_, "row_spread");
  std::normal_distribution<float> normal;
  const std::size_t per_row = codec->ScalesPerRow(cols);
  std::vector<float> scales(rows * per_row, codec->stored_scale(base));
  if (codec->grain != quant::ScaleGrain::kTensor && spread > 0) {
    for (float& scale : scales) scale = codec->stored_scale(base * std::exp(spread * normal(rng_)));
  }
  for (const Json& special : spec_["row_scales"]) {  // [tensor, row, scale]
    if (special[0] != name || codec->grain == quant::ScaleGrain::kTensor) continue;
    const std::size_t row = special[1].get<std::size_t>() % rows;
    std::fill_n(scales.begin() + static_cast<std::ptrdiff_t>(row * per_row), per_row,
                codec->stored_scale(special[2].get<float>()));
  }
  std::vector<std::byte> data(codec->bytes(rows, cols, tiling.value_or(quant::TlTiling{})));
  codec->pack({codes, scales, rows, cols, tiling.value_or(quant::TlTiling{})}, data.data());
  if (tiled && tiling) {
    for (const std::size_t n : {rows, cols, tiling->bm_rows, tiling->bk_cols, tiling->group_rows}) {
      tilings_.push_back(static_cast<std::uint32_t>(n));
    }
  }
  std::vector<std::int8_t> weights(codes.begin(), codes.end());
  for (std::int8_t& weight : weights) --weight;
  Keep(name, rows, cols, (cols + per_row - 1) / per_row, weights.data(), weights.size(), scales);
  std::vector<std::uint64_t> dims{cols, rows_of_one};
  if (experts != 0) dims.push_back(experts);
  builder_.AddTensor(name, static_cast<std::uint32_t>(codec->format), dims, std::move(data));
}

void OddModel::WriteModel(const std::filesystem::path& path) {
  const auto bytes = builder_.Build();
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
}

Json OddModel::WriteNumbers(const std::filesystem::path& path) const {
  std::ofstream(path, std::ios::binary)
      .write(numbers_.data(), static_cast<std::streamsize>(numbers_.size()));
  return table_;
}

}  // namespace bittern::differential
