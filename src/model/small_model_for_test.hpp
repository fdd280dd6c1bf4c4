// SPDX-License-Identifier: Apache-2.0
// A network of random weights small enough to be made in a test, with every part open to
// sabotage. Never part of the library.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "formats/gguf_builder_for_test.hpp"
#include "quant/i2s.hpp"

namespace bittern::model {

/// Architecture bitnet-b1.58: 2 layers, hidden 256, FFN 384, 2 heads, 1 KV head, vocabulary 300.
class SmallModel {
 public:
  using Bytes = std::vector<std::byte>;
  struct Tensor {
    quant::WeightFormat format;
    std::vector<std::uint64_t> shape;
    Bytes data;
  };

  SmallModel() {
    keys = {{"block_count", 2},
            {"context_length", 64},
            {"embedding_length", kHidden},
            {"feed_forward_length", kFfn},
            {"attention.head_count", 2},
            {"attention.head_count_kv", 1}};
    AddFloats("token_embd.weight", {kHidden, kVocab}, 0.05f);
    for (int i = 0; i < 2; ++i) {
      const std::string p = "blk." + std::to_string(i) + ".";
      AddFloats(p + "attn_norm.weight", {kHidden}, 0.1f, 1);
      AddFloats(p + "attn_sub_norm.weight", {kHidden}, 0.1f, 1);
      AddFloats(p + "ffn_norm.weight", {kHidden}, 0.1f, 1);
      AddFloats(p + "ffn_sub_norm.weight", {kFfn}, 0.1f, 1);
      AddTernary(p + "attn_q.weight", kHidden, kHidden);
      AddTernary(p + "attn_k.weight", kHidden, kHidden / 2);
      AddTernary(p + "attn_v.weight", kHidden, kHidden / 2);
      AddTernary(p + "attn_output.weight", kHidden, kHidden);
      AddTernary(p + "ffn_gate.weight", kHidden, kFfn);
      AddTernary(p + "ffn_up.weight", kHidden, kFfn);
      AddTernary(p + "ffn_down.weight", kFfn, kHidden);
    }
    AddFloats("output_norm.weight", {kHidden}, 0.1f, 1);
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

  void AddTernary(const std::string& name, std::uint64_t cols, std::uint64_t rows) {
    std::vector<std::uint8_t> codes(cols * rows);
    for (auto& code : codes) code = static_cast<std::uint8_t>(rng_() % 3);
    Bytes data(codes.size() / 4 + quant::kI2sTailBytes);
    quant::PackI2s(codes, std::span(data).first(codes.size() / 4));
    tensors[name] = {quant::WeightFormat::kI2_S, {cols, rows}, std::move(data)};
    SetScale(name, 0.1f);
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
    builder.Add(architecture + ".attention.layer_norm_rms_epsilon", rms_norm_eps);
    builder.Add(architecture + ".rope.freq_base", 10000.0f);
    for (const auto& [key, value] : texts) builder.Add(key, value.c_str());
    for (const auto& [name, tensor] : tensors) {
      builder.AddTensor(name, static_cast<std::uint32_t>(tensor.format), tensor.shape, tensor.data);
    }
    const auto path = std::filesystem::temp_directory_path() /
                      ("bittern_small_" + std::to_string(getpid()) + ".gguf");
    const Bytes bytes = builder.Build();
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    return path;
  }

  static constexpr std::uint64_t kHidden = 256, kFfn = 384, kVocab = 300;
  std::string architecture = "bitnet-b1.58";
  std::map<std::string, std::uint32_t> keys;
  std::map<std::string, std::string> texts;
  float rms_norm_eps = 1e-5f;
  std::map<std::string, Tensor> tensors;

 private:
  std::mt19937 rng_{1};
};

}  // namespace bittern::model
