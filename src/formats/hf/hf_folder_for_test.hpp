// SPDX-License-Identifier: Apache-2.0
// A fixture with a folder in which tests write a model. Never part of the library.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "base/float16.hpp"
#include "formats/checkpoint.hpp"
#include "formats/safetensors/safetensors_builder_for_test.hpp"

namespace bittern::formats {

/// A folder of its own for every test, removed at the end.
class HfFolderTest : public ::testing::Test {
 public:
  static Checkpoint Open(const std::filesystem::path& path) {
    auto checkpoint = Checkpoint::Open(path);
    if (!checkpoint) {
      ADD_FAILURE() << checkpoint.error().message;
      std::abort();
    }
    return *std::move(checkpoint);
  }

 protected:
  using Bytes = SafetensorsBuilder::Bytes;

  HfFolderTest() {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::temp_directory_path() /
              ("bittern_hf_" + std::string(info->name()) + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
    Write("config.json", kConfig);
  }
  ~HfFolderTest() override { std::filesystem::remove_all(folder_); }

  void Write(const std::string& name, std::string_view text) {
    std::ofstream(folder_ / name, std::ios::binary) << text;
  }
  void Write(const std::string& name, const Bytes& bytes) {
    Write(name, std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  }
  void WriteConfig(std::string_view from, std::string_view to) {
    std::string text(kConfig);
    text.replace(text.find(from), from.size(), to);
    Write("config.json", text);
  }
  std::string Refusal(const std::filesystem::path& path) {
    const auto checkpoint = Checkpoint::Open(path);
    if (checkpoint) return "opened";
    EXPECT_THAT(checkpoint.error().message, testing::HasSubstr(folder_.string()));
    return checkpoint.error().message;
  }
  std::string Refusal() { return Refusal(folder_); }

  /// One layer, hidden 4, one head of 4, 6 rows in the feed-forward network: 6 % 4 = 2.
  static constexpr const char* kConfig =
      R"({"architectures":["LlamaForCausalLM"],"hidden_act":"silu","hidden_size":4,)"
      R"("intermediate_size":6,"num_hidden_layers":1,"num_attention_heads":1,)"
      R"("rms_norm_eps":1e-6,"rope_theta":10000.0,"max_position_embeddings":8,"vocab_size":3,)"
      R"("quantization_config":{"quant_method":"bitnet"}})";

  static SafetensorsBuilder Embedding() {
    SafetensorsBuilder builder;
    builder.AddZeros("model.embed_tokens.weight", "F32", {3, 4}, 48);
    return builder;
  }
  static Bytes Bf16(float value) {
    const std::uint16_t bits = FloatToBfloat(value);
    Bytes bytes(2);
    std::memcpy(bytes.data(), &bits, 2);
    return bytes;
  }
  static SafetensorsBuilder& AddGate(SafetensorsBuilder& builder, float scale) {
    return builder.AddZeros("model.layers.0.mlp.gate_proj.weight", "U8", {2, 4}, 8)
        .Add("model.layers.0.mlp.gate_proj.weight_scale", "BF16", {1}, Bf16(scale));
  }

  std::filesystem::path folder_;
};

}  // namespace bittern::formats
