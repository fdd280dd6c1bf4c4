// SPDX-License-Identifier: Apache-2.0
// A network of random weights small enough to be made in a test, with every part open to
// sabotage. Never part of the library.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "base/byte_alphabet.hpp"
#include "formats/gguf/gguf_builder_for_test.hpp"
#include "quant/i2s.hpp"
#include "quant/ternary_codec.hpp"

namespace bittern::model {

/// 2 layers, hidden 256, FFN 512, 2 heads, 1 KV head, vocabulary 300, of any architecture; its
/// ternary tensors are I2_S, one scale each, until Recode. The first layer of qwen35 is a delta
/// layer of 2 key heads and 4 value heads of 32. Layers of maple and qwen3moe have 6 experts of 128
/// neurons, of which 3 are chosen; the first layer of maple sees 9 positions.
class SmallModel {
 public:
  using Bytes = std::vector<std::byte>;
  struct Tensor {
    quant::WeightFormat format;
    std::vector<std::uint64_t> shape;
    Bytes data;
  };

  explicit SmallModel(std::string name = "bitnet-b1.58") : architecture(std::move(name)) {
    const bool sub_norms = architecture.starts_with("bitnet");
    keys = {{"block_count", 2},
            {"context_length", 64},
            {"embedding_length", kHidden},
            {"feed_forward_length", kFfn},
            {"attention.head_count", 2},
            {"attention.head_count_kv", 1}};
    if (architecture == "qwen35") AddDeltaKeys();
    if (architecture == "maple") AddWindowKeys();
    if (has_experts()) AddExpertKeys();
    if (architecture == "minicpm") {
      float_keys = {{"embedding_scale", 12}, {"residual_scale", 0.7f}, {"logit_scale", 2.5f}};
    }
    AddFloats("token_embd.weight", {kHidden, kVocab}, 0.05f);
    for (int i = 0; i < 2; ++i) {
      const std::string p = "blk." + std::to_string(i) + ".";
      AddFloats(p + "attn_norm.weight", {kHidden}, 0.1f, 1);
      if (sub_norms) AddFloats(p + "attn_sub_norm.weight", {kHidden}, 0.1f, 1);
      const bool recurrent = architecture == "qwen35";
      AddFloats(p + (recurrent ? "post_attention_norm.weight" : "ffn_norm.weight"), {kHidden}, 0.1f,
                1);
      if (sub_norms) AddFloats(p + "ffn_sub_norm.weight", {kFfn}, 0.1f, 1);
      if (recurrent && i == 0) {
        AddDelta(p);
      } else {
        AddAttention(p);
      }
      if (has_experts()) {
        AddExperts(p);
        continue;
      }
      AddTernary(p + "ffn_gate.weight", kHidden, kFfn);
      AddTernary(p + "ffn_up.weight", kHidden, kFfn);
      AddTernary(p + "ffn_down.weight", kFfn, kHidden);
    }
    AddFloats("output_norm.weight", {kHidden}, 0.1f, 1);
  }

  void AddAttention(const std::string& p) {
    const bool gated = architecture == "qwen35";
    if (architecture == "qwen3" || has_experts() || architecture == "hunyuan-dense" || gated) {
      AddFloats(p + "attn_q_norm.weight", {kHidden / 2}, 0.1f, 1);
      AddFloats(p + "attn_k_norm.weight", {kHidden / 2}, 0.1f, 1);
    }
    AddTernary(p + "attn_q.weight", kHidden, gated ? 2 * kHidden : kHidden);
    AddTernary(p + "attn_k.weight", kHidden, kHidden / 2);
    AddTernary(p + "attn_v.weight", kHidden, kHidden / 2);
    AddTernary(p + "attn_output.weight", kHidden, kHidden);
  }

  [[nodiscard]] bool has_experts() const {
    return architecture == "maple" || architecture == "qwen3moe";
  }

  void AddWindowKeys() {
    keys["rope.dimension_count"] = 64;
    keys["attention.sliding_window"] = 9;
    windowed = {true, false};
    clamps = {0.5f, 1.5f};
  }

  void AddExpertKeys() {
    keys.erase("feed_forward_length");
    keys["expert_count"] = kExperts;
    keys["expert_used_count"] = kExpertsUsed;
    keys["expert_feed_forward_length"] = kExpertNeurons;
  }

  void AddExperts(const std::string& p) {
    AddFloats(p + "ffn_gate_inp.weight", {kHidden, kExperts}, 0.06f);
    AddTernary(p + "ffn_gate_exps.weight", kHidden, kExpertNeurons, kExperts);
    AddTernary(p + "ffn_up_exps.weight", kHidden, kExpertNeurons, kExperts);
    AddTernary(p + "ffn_down_exps.weight", kExpertNeurons, kHidden, kExperts);
  }

  void AddDeltaKeys() {
    keys["full_attention_interval"] = 2;
    keys["rope.dimension_count"] = 64;
    keys["ssm.conv_kernel"] = kTaps;
    keys["ssm.state_size"] = kDeltaDim;
    keys["ssm.group_count"] = 2;
    keys["ssm.time_step_rank"] = kDeltaHeads;
    keys["ssm.inner_size"] = kDeltaHeads * kDeltaDim;
  }

  void AddDelta(const std::string& p) {
    constexpr std::uint64_t kMix = (2 * 2 + kDeltaHeads) * kDeltaDim;
    AddTernary(p + "attn_qkv.weight", kHidden, kMix);
    AddTernary(p + "attn_gate.weight", kHidden, kDeltaHeads * kDeltaDim);
    AddFloats(p + "ssm_beta.weight", {kHidden, kDeltaHeads}, 0.06f);
    AddFloats(p + "ssm_alpha.weight", {kHidden, kDeltaHeads}, 0.06f);
    AddFloats(p + "ssm_conv1d.weight", {kTaps, kMix}, 0.5f, 0.1f);
    AddFloats(p + "ssm_dt.bias", {kDeltaHeads}, 1, -1);
    AddFloats(p + "ssm_a", {kDeltaHeads}, 0.1f, -0.5f);
    AddFloats(p + "ssm_norm.weight", {kDeltaDim}, 0.1f, 1);
    AddTernary(p + "ssm_out.weight", kDeltaHeads * kDeltaDim, kHidden);
  }

  void AddFloats(const std::string& name, std::vector<std::uint64_t> shape, float spread,
                 float middle = 0) {
    std::size_t count = 1;
    for (const std::uint64_t size : shape) count *= size;
    std::normal_distribution<float> normal(middle, spread);
    std::vector<float> values(count);
    for (float& value : values) value = normal(rng_);
    Bytes data(count * 4);
    std::memcpy(data.data(), values.data(), data.size());
    tensors[name] = {quant::WeightFormat::kF32, std::move(shape), std::move(data)};
  }

  void AddTernary(const std::string& name, std::uint64_t cols, std::uint64_t rows,
                  std::uint64_t experts = 0) {
    std::vector<std::uint8_t> codes(cols * rows * std::max<std::uint64_t>(1, experts));
    for (auto& code : codes) code = static_cast<std::uint8_t>(rng_() % 3);
    Bytes data(codes.size() / 4 + quant::kI2sTailBytes);
    quant::PackI2s(codes, std::span(data).first(codes.size() / 4));
    tensors[name] = {quant::WeightFormat::kI2_S, {cols, rows}, std::move(data)};
    if (experts != 0) tensors[name].shape.push_back(experts);
    SetScale(name, 0.125f);  // exact in binary16 and bfloat16
  }

  /// The rows of a tensor, of all experts where there are some.
  static std::size_t RowsOf(const Tensor& tensor) {
    return tensor.shape[1] * (tensor.shape.size() > 2 ? tensor.shape[2] : 1);
  }

  /// Rewrites every ternary tensor in another layout. scale: of group g of row r of a tensor; by
  /// default what the tensor has.
  void Recode(const quant::TernaryCodec& codec,
              const std::function<float(std::size_t r, std::size_t g)>& scale = {}) {
    for (auto& [name, tensor] : tensors) {
      if (tensor.format != quant::WeightFormat::kI2_S) continue;
      const std::size_t cols = tensor.shape[0], rows = RowsOf(tensor);
      std::vector<std::uint8_t> codes(rows * cols);
      quant::UnpackI2s(tensor.data, codes);
      std::vector<float> scales;
      for (std::size_t i = 0; i < rows * codec.ScalesPerRow(cols); ++i) {
        const std::size_t per_row = codec.ScalesPerRow(cols);
        scales.push_back(scale ? scale(i / per_row, i % per_row) : quant::I2sScale(tensor.data));
      }
      const auto tiling =
          quant::DefaultTiling(codec.format, rows, cols).value_or(quant::TlTiling{});
      tensor.format = codec.format;
      tensor.data.resize(codec.bytes(rows, cols, tiling));
      codec.pack({codes, scales, rows, cols, tiling}, tensor.data.data());
      for (const std::size_t n : {rows, cols, tiling.bm_rows, tiling.bk_cols, tiling.group_rows}) {
        tilings.push_back(static_cast<std::uint32_t>(n));
      }
    }
    const std::string layout(codec.name);
    if (layout.starts_with("i2_s:")) texts["ternary.layout"] = layout.substr(5);
  }

  /// Gives the model a byte-level vocabulary: 256 bytes, then words; the last id ends a text.
  void AddTokenizer() {
    std::vector<std::string> tokens;
    for (int byte = 0; byte < 256; ++byte) {
      tokens.emplace_back();
      AppendSpelling(std::string(1, static_cast<char>(byte)), &tokens.back());
    }
    tokens.push_back("ab");
    while (tokens.size() + 1 < kVocab) tokens.push_back("w" + std::to_string(tokens.size()));
    tokens.push_back("<|end|>");
    texts["tokenizer.ggml.model"] = "gpt2";
    texts["tokenizer.ggml.pre"] = "llama-bpe";
    string_lists["tokenizer.ggml.tokens"] = tokens;
    string_lists["tokenizer.ggml.merges"] = {"a b"};
    whole_keys["tokenizer.ggml.eos_token_id"] = kVocab - 1;
  }

  /// Asks for LongRoPE with factors of either kind that differ.
  void AddLongRope() {
    texts[architecture + ".rope.scaling.type"] = "longrope";
    AddFloats("rope_factors_short.weight", {kHidden / 4}, 0.1f, 1.5f);
    AddFloats("rope_factors_long.weight", {kHidden / 4}, 0.1f, 3);
  }

  /// Says that the weights were rotated, in blocks of 64, with signs of `seed`. In qwen35 the
  /// values of delta layers are by key. The head is the embedding.
  void Rotate(std::uint32_t seed) {
    const std::string p = "prism.hadamard.";
    std::mt19937 rng(seed);
    whole_keys[p + "version"] = 2;
    whole_keys[p + "block_size"] = 64;
    flags[p + "tied_output"] = true;
    if (architecture == "qwen35") flags[p + "gdn_v_grouped"] = true;
    texts[p + "transform"] = "normalized-sylvester-walsh-hadamard";
    texts[p + "axis"] = "input-last-dimension";
    texts[p + "sign_mode"] = "explicit";
    string_lists[p + "weight_names"].clear();
    for (const auto& [name, tensor] : tensors) {
      if (tensor.format != quant::WeightFormat::kI2_S) continue;
      string_lists[p + "weight_names"].push_back(name);
    }
    string_lists[p + "inverse_weight_names"] = {"token_embd.weight"};
    std::vector<std::int32_t>& widths = int_lists[p + "sign_widths"];
    widths = {kFfn, kHidden};
    if (architecture == "qwen35") widths.push_back(kDeltaHeads * kDeltaDim);
    std::vector<std::int32_t>& signs = int_lists[p + "sign_values"];
    signs.clear();
    for (const std::int32_t width : widths) {
      for (std::int32_t i = 0; i < width; ++i) signs.push_back(rng() % 2 == 0 ? 1 : -1);
    }
  }

  /// Makes every weight of a row 0, or all of them `code` - 1, as long as the tensor is I2_S.
  void ZeroRow(const std::string& name, std::size_t row) { FillRow(name, row, 1); }
  void FillRow(const std::string& name, std::size_t row, std::uint8_t code) {
    Tensor& tensor = tensors.at(name);
    const std::size_t bytes = tensor.shape[0] / 4;
    std::fill_n(tensor.data.begin() + static_cast<std::ptrdiff_t>(row * bytes), bytes,
                static_cast<std::byte>(code * 0x55));
  }

  void SetScale(const std::string& name, float scale) {
    Bytes& data = tensors.at(name).data;
    std::memcpy(&data[data.size() - quant::kI2sTailBytes], &scale, 4);
  }
  void SetFloat(const std::string& name, std::size_t index, float value) {
    std::memcpy(&tensors.at(name).data[index * 4], &value, 4);
  }

  /// Writes the file, named after the running test, and returns its path.
  [[nodiscard]] std::filesystem::path Write() const {
    formats::GgufBuilder builder;
    builder.Add("general.architecture", architecture.c_str());
    for (const auto& [key, value] : keys) builder.Add(architecture + "." + key, value);
    for (const auto& [key, value] : float_keys) builder.Add(architecture + "." + key, value);
    builder.Add(architecture + ".attention.layer_norm_rms_epsilon", rms_norm_eps);
    if (rope_theta) builder.Add(architecture + ".rope.freq_base", *rope_theta);
    const std::string a = architecture + ".";
    if (!windowed.empty()) builder.AddArray(a + "attention.sliding_window_pattern", windowed);
    if (!recurrent.empty()) builder.AddArray(a + "attention.recurrent_layers", recurrent);
    if (!clamps.empty()) builder.AddArray(a + "swiglu_clamp_exp", clamps);
    for (const auto& [key, value] : texts) builder.Add(key, value.c_str());
    for (const auto& [key, value] : string_lists) builder.AddStrings(key, value);
    for (const auto& [key, value] : whole_keys) builder.Add(key, value);
    for (const auto& [key, value] : flags) builder.Add(key, value);
    for (const auto& [key, values] : int_lists) builder.AddArray(key, values);
    if (!tilings.empty()) builder.AddArray("ternary.tl.tiling", tilings);
    for (const auto& [name, tensor] : tensors) {
      builder.AddTensor(name, static_cast<std::uint32_t>(tensor.format), tensor.shape, tensor.data);
    }
    if (alignment != 32) builder.PadTo(alignment).Add("general.alignment", alignment);
    static std::atomic<int> count = 0;  // Windows writes no file that is still mapped
    const auto path =
        std::filesystem::temp_directory_path() /
        ("bittern_small_" + std::to_string(getpid()) + "_" + std::to_string(++count) + ".gguf");
    const Bytes bytes = builder.Build();
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    return path;
  }

  static constexpr std::uint64_t kHidden = 256, kFfn = 512, kVocab = 300;
  static constexpr std::uint32_t kExperts = 6, kExpertsUsed = 3, kExpertNeurons = 128;
  static constexpr std::uint32_t kTaps = 4, kDeltaDim = 32, kDeltaHeads = 4;
  std::string architecture;
  std::map<std::string, std::uint32_t> keys;
  std::map<std::string, float> float_keys;
  std::map<std::string, std::string> texts;
  std::map<std::string, std::vector<std::string>> string_lists;
  std::map<std::string, std::uint32_t> whole_keys;  ///< not behind the architecture's name
  std::map<std::string, bool> flags;
  std::map<std::string, std::vector<std::int32_t>> int_lists;
  std::vector<std::uint32_t> tilings;
  std::vector<bool> windowed;   ///< of maple: for each layer
  std::vector<bool> recurrent;  ///< of qwen35; empty: the file does not say
  std::vector<float> clamps;    ///< of maple; empty: the file does not say
  float rms_norm_eps = 1e-5f;
  std::optional<float> rope_theta = 10000.0f;  ///< nullopt: the file does not say
  std::uint32_t alignment = 32;
  std::map<std::string, Tensor> tensors;

 private:
  std::mt19937 rng_{1};
};

}  // namespace bittern::model
