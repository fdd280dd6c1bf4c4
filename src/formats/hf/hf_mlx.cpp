// SPDX-License-Identifier: Apache-2.0
// A word of type U32 holds 16 codes of a row, low bits first, so its bytes in order do as well.
#include "formats/hf/hf_mlx.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <string>
#include <utility>

#include "base/float16.hpp"
#include "base/text/display.hpp"

namespace bittern::formats {
namespace {

using quant::WeightFormat;

constexpr std::uint64_t kCodesOfWord = 16;
constexpr std::string_view kWeight = ".weight", kScales = ".scales", kBiases = ".biases";

tl::unexpected<Error> CorruptPack(std::string message) {
  return Fail(ErrorCode::kCorruptFile, std::move(message));
}

std::string_view StemOf(std::string_view name) {
  return name.substr(0, name.size() - kWeight.size());
}

std::string ShapeText(const std::vector<std::uint64_t>& shape) {
  std::string text;
  for (const std::uint64_t size : shape) {
    text += fmt::format("{}{}", text.empty() ? "" : " x ", size);
  }
  return text.empty() ? "a number" : text;
}

std::uint8_t CodeAt(std::span<const std::byte> words, std::size_t i) {
  return static_cast<std::uint8_t>(std::to_integer<unsigned>(words[i / 4]) >> (2 * (i % 4)) & 3);
}

}  // namespace

MlxSides::MlxSides(std::span<const SafetensorsEntry> entries, std::uint64_t group_cols)
    : group_cols_(group_cols) {
  if (group_cols == 0) return;
  for (const SafetensorsEntry& entry : entries) {
    if (!entry.name.ends_with(kScales) && !entry.name.ends_with(kBiases)) continue;
    sides_.emplace(entry.name, &entry);
  }
}

Result<void> MlxSides::SetMatrix(const SafetensorsEntry& entry, TensorPlaces* places,
                                 Tensor* tensor) const {
  if (group_cols_ == 0) {
    return Fail(ErrorCode::kUnsupported,
                "type F32, F16 or BF16 expected, U32 found; config.json has no \"quantization\" of "
                "MLX's");
  }
  if (entry.shape.size() != 2 || !entry.name.ends_with(kWeight)) {
    return CorruptPack(
        fmt::format("a weight of two dimensions expected, {} found", ShapeText(entry.shape)));
  }
  const std::uint64_t rows = entry.shape[0], cols = entry.shape[1] * kCodesOfWord;
  if (cols % group_cols_ != 0) {
    return CorruptPack(
        fmt::format("{} columns: a multiple of group_size {} expected", cols, group_cols_));
  }
  const std::vector<std::uint64_t> expected = {rows, cols / group_cols_};
  for (const auto& [suffix, bytes] :
       {std::pair{kScales, &places->scales}, {kBiases, &places->biases}}) {
    const auto found = sides_.find(fmt::format("{}{}", StemOf(entry.name), suffix));
    if (found == sides_.end())
      return CorruptPack(fmt::format("its {} are missing", suffix.substr(1)));
    const SafetensorsEntry& side = *found->second;
    if (side.shape != expected) {
      return CorruptPack(fmt::format("{}: {} expected, {} found", suffix.substr(1),
                                     ShapeText(expected), ShapeText(side.shape)));
    }
    const WeightFormat format = side.dtype == "F16"    ? WeightFormat::kF16
                                : side.dtype == "BF16" ? WeightFormat::kBF16
                                                       : WeightFormat::kF32;
    if (quant::InfoOf(format).name != side.dtype ||
        (suffix == kBiases && format != places->scale_format)) {
      return Fail(ErrorCode::kUnsupported,
                  fmt::format("{}: type F32, F16 or BF16, the same of both, expected, {} found",
                              suffix.substr(1), side.dtype));
    }
    places->scale_format = format;
    *bytes = side.bytes;
  }
  places->group_cols = group_cols_;
  tensor->format = WeightFormat::kMlx2;
  tensor->shape[0] = cols;
  return {};
}

Result<std::vector<std::byte>> MlxSides::MakeBlocks(const SafetensorsEntry& entry,
                                                    Tensor* tensor) const {
  TensorPlaces places;
  BITTERN_TRY(SetMatrix(entry, &places, tensor));
  const std::size_t group = places.group_cols, groups = tensor->num_elements() / group;
  const std::size_t code_bytes = group / 4, block_bytes = 2 + code_bytes;
  const std::size_t per_row = tensor->row_elements() / group;
  std::vector<std::byte> blocks(groups * block_bytes);
  for (std::size_t i = 0; i < groups; ++i) {
    const auto [scale, bias] = places.ScaleAndBias(i);
    const std::uint16_t half = FloatToHalf(std::fabs(scale));
    std::byte* block = blocks.data() + i * block_bytes;
    bool ternary = bias == -scale;
    for (std::size_t k = 0; k < group; ++k) {
      const std::uint8_t code = CodeAt(entry.bytes, i * group + k);
      ternary = ternary && code != 3;
      const unsigned turned = scale < 0 ? 2u - code : code;
      block[2 + k / 4] |= static_cast<std::byte>((turned & 3) << (2 * (k % 4)));
    }
    if (!ternary || HalfToFloat(half) != std::fabs(scale)) {
      return Fail(ErrorCode::kUnsupported,
                  fmt::format("row {}, column {}: expected ternary weights (minus the scale as "
                              "bias, codes 0 to 2) of a scale that binary16 holds, found scale {} "
                              "and bias {}",
                              i / per_row, i % per_row * group, scale, bias));
    }
    std::memcpy(block, &half, sizeof half);
  }
  tensor->format = group == 64 ? WeightFormat::kQ2_0 : WeightFormat::kPQ2_0;
  return blocks;
}

Result<std::vector<std::byte>> MlxSides::MakeFloats(const SafetensorsEntry& entry,
                                                    Tensor* tensor) const {
  TensorPlaces places;
  BITTERN_TRY(SetMatrix(entry, &places, tensor));
  std::vector<float> values(tensor->num_elements());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto [scale, bias] = places.ScaleAndBias(i / places.group_cols);
    values[i] = static_cast<float>(CodeAt(entry.bytes, i)) * scale + bias;
  }
  tensor->format = WeightFormat::kF32;
  const auto bytes = std::as_bytes(std::span(values));
  return std::vector<std::byte>(bytes.begin(), bytes.end());
}

}  // namespace bittern::formats
