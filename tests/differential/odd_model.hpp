// SPDX-License-Identifier: Apache-2.0
// Makes a model file from a description (differential.py writes those), and beside it everything
// the file says as plain numbers, for an oracle that knows no file format.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "formats/gguf/gguf_builder_for_test.hpp"
#include "quant/ternary_codec.hpp"

namespace bittern::differential {

using Json = nlohmann::json;

class OddModel {
 public:
  explicit OddModel(const Json& spec);

  /// The GGUF file.
  void WriteModel(const std::filesystem::path& path);
  /// Tensors one after the other: float32 values, or int8 weights (-1, 0, 1) and float32 scales.
  /// Returns a table: name, shape, columns of a scale (0: floats), offset in bytes.
  Json WriteNumbers(const std::filesystem::path& path) const;
  /// Formats of the tensors, as far as they are not the ones asked for.
  [[nodiscard]] const Json& substitutes() const noexcept { return substitutes_; }

 private:
  void AddKeys(const Json& spec);
  /// How the weights were rotated, after all of them.
  void AddRotation(const Json& rotation, bool tied);
  /// The two lists of LongRoPE.
  void AddFactors(const Json& lists);
  void AddVocabulary(std::size_t size);
  void AddNorm(const std::string& name, std::size_t size, float scale);
  /// Floats around `mean`.
  void AddFloats(const std::string& name, std::size_t rows, std::size_t cols, float mean,
                 float deviation);
  void AddAttention(const std::string& layer);
  void AddDelta(const std::string& layer);
  void AddExperts(const std::string& layer);
  void AddDense(const std::string& name, std::string format, std::size_t rows, std::size_t cols);
  /// experts: not 0: so many times `rows` rows, in a third dimension.
  void AddTernary(const std::string& name, std::size_t rows, std::size_t cols,
                  std::size_t experts = 0);
  void Keep(const std::string& name, std::size_t rows, std::size_t cols, std::size_t group_cols,
            const void* weights, std::size_t weight_bytes, const std::vector<float>& scales);

  [[nodiscard]] std::size_t Size(const char* key) const { return spec_[key].get<std::size_t>(); }
  [[nodiscard]] std::string KindOf(const std::string& tensor, std::size_t row) const;

  const Json& spec_;
  std::map<std::pair<std::string, int>, std::string> rows_;  ///< what rows are made to be; -1: all
  std::mt19937 rng_;
  formats::GgufBuilder builder_;
  std::vector<std::uint32_t> tilings_;
  std::vector<std::string> matrices_;  ///< names of ternary tensors
  std::string numbers_;
  Json table_ = Json::array(), substitutes_ = Json::object();
};

}  // namespace bittern::differential
