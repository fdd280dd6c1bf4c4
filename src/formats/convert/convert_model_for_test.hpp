// SPDX-License-Identifier: Apache-2.0
// A tiny ternary model on disk, in any layout and with any scales, for tests of conversions.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "formats/checkpoint.hpp"
#include "formats/gguf/gguf_builder_for_test.hpp"
#include "quant/blocks/quantize.hpp"
#include "quant/ternary_codec.hpp"
#include "quant/tl_tiling.hpp"

namespace bittern::formats {

/// A folder that is there for one test.
class ConvertFolder {
 public:
  ConvertFolder() {
    static int count = 0;
    path_ = std::filesystem::path(testing::TempDir()) /
            ("convert-" + std::to_string(getpid()) + "-" + std::to_string(count++));
    std::filesystem::create_directories(path_);
  }
  ConvertFolder(const ConvertFolder&) = delete;
  ConvertFolder& operator=(const ConvertFolder&) = delete;
  ~ConvertFolder() { std::filesystem::remove_all(path_); }

  [[nodiscard]] std::filesystem::path operator/(const std::string& name) const {
    return path_ / name;
  }
  [[nodiscard]] std::size_t Entries() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(path_), {}));
  }

 private:
  std::filesystem::path path_;
};

/// One layer (hidden 256, FFN 512, 2 heads, 1 KV head), vocabulary 40.
class ConvertModel {
 public:
  static constexpr std::size_t kHidden = 256, kFfn = 512, kVocab = 40;

  quant::TernaryLayout layout = quant::TernaryLayout::kI2sX86;
  std::string architecture = "bitnet-b1.58";
  /// The scale of a row and group; tensors have numbers of their own.
  float (*scale)(std::size_t tensor, std::size_t row,
                 std::size_t group) = [](std::size_t tensor, std::size_t, std::size_t) {
    return 1.1f + 0.013f * static_cast<float>(tensor);
  };
  std::size_t hidden = kHidden;  ///< columns of most matrices
  float embedding_spread = 0.05f;
  GgufBuilder builder;  ///< keys may be added before Write

  Checkpoint Write(const std::filesystem::path& path) {
    AddKeys();
    AddPlain("token_embd.weight", {hidden, kVocab}, embedding_spread, quant::WeightFormat::kF32);
    AddPlain("blk.0.attn_norm.weight", {hidden}, 1, quant::WeightFormat::kF32);
    AddPlain("blk.0.ffn_norm.weight", {hidden}, 1, quant::WeightFormat::kF32);
    AddPlain("output_norm.weight", {hidden}, 1, quant::WeightFormat::kF32);
    AddTernary("blk.0.attn_q.weight", hidden, hidden);
    AddTernary("blk.0.attn_k.weight", hidden / 2, hidden);
    AddTernary("blk.0.attn_v.weight", hidden / 2, hidden);
    AddTernary("blk.0.attn_output.weight", hidden, hidden);
    AddTernary("blk.0.ffn_gate.weight", kFfn, hidden);
    AddTernary("blk.0.ffn_up.weight", kFfn, hidden);
    AddTernary("blk.0.ffn_down.weight", hidden, kFfn);
    const auto bytes = builder.Build();
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    auto checkpoint = Checkpoint::Open(path);
    EXPECT_TRUE(checkpoint) << checkpoint.error().message;
    return *std::move(checkpoint);
  }

 private:
  void AddKeys() {
    const std::string a = architecture + ".";
    builder.Add("general.architecture", architecture)
        .Add(a + "block_count", 1u)
        .Add(a + "context_length", 64u)
        .Add(a + "embedding_length", static_cast<std::uint32_t>(hidden))
        .Add(a + "feed_forward_length", std::uint32_t{kFfn})
        .Add(a + "attention.head_count", 2u)
        .Add(a + "attention.head_count_kv", 1u)
        .Add(a + "attention.layer_norm_rms_epsilon", 1e-5f)
        .Add(a + "rope.freq_base", 10000.0f)
        .Add(a + "vocab_size", std::uint32_t{kVocab});
  }

  void AddPlain(const std::string& name, std::vector<std::uint64_t> shape, float spread,
                quant::WeightFormat format) {
    std::size_t count = 1;
    for (const std::uint64_t size : shape) count *= size;
    std::normal_distribution<float> normal(0, spread);
    std::vector<float> values(count);
    for (float& value : values) value = normal(rng_);
    std::vector<std::byte> data(quant::TensorBytes(quant::InfoOf(format), count, 1).value());
    quant::QuantizeRowFor(format)(values.data(), count, data.data());
    builder.AddTensor(name, static_cast<std::uint32_t>(format), std::move(shape), std::move(data));
  }

  void AddTernary(const std::string& name, std::size_t rows, std::size_t cols) {
    const quant::TernaryCodec& codec = quant::CodecOf(layout);
    std::vector<std::uint8_t> codes(rows * cols);
    for (auto& code : codes) code = static_cast<std::uint8_t>(rng_() % 3);
    const std::size_t per_row = codec.ScalesPerRow(cols);
    std::vector<float> scales(rows * per_row);
    for (std::size_t i = 0; i < scales.size(); ++i) {
      scales[i] = codec.stored_scale(scale(tensors_, i / per_row, i % per_row));
    }
    ++tensors_;
    const auto tiling = quant::DefaultTiling(codec.format, rows, cols).value_or(quant::TlTiling{});
    std::vector<std::byte> data(codec.bytes(rows, cols, tiling));
    codec.pack({codes, scales, rows, cols, tiling}, data.data());
    builder.AddTensor(name, static_cast<std::uint32_t>(codec.format), {cols, rows},
                      std::move(data));
  }

  std::mt19937 rng_{7};
  std::size_t tensors_ = 0;
};

}  // namespace bittern::formats
