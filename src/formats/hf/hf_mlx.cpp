// SPDX-License-Identifier: Apache-2.0
// A word of type U32 holds 16 codes of 2 bits of a row or 8 of 4 bits, low bits first, so its bytes
// in order do as well.
#include "formats/hf/hf_mlx.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/float16.hpp"
#include "base/text/display.hpp"

namespace bittern::formats {
namespace {

using quant::WeightFormat;

constexpr std::string_view kWeight = ".weight", kScales = ".scales", kBiases = ".biases",
                           kRowAlpha = ".row_alpha";

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

unsigned CodeAt(std::span<const std::byte> words, unsigned bits, std::size_t i) {
  const std::size_t at = i * bits;
  return std::to_integer<unsigned>(words[at / 8]) >> (at % 8) & ((1u << bits) - 1);
}

/// The bytes of a tensor of scales or biases. It must have this shape, and the float type *shared
/// if another tensor of the same weight has set that.
Result<std::span<const std::byte>> ReadSide(const SafetensorsEntry& side, std::string_view name,
                                            const std::vector<std::uint64_t>& shape,
                                            std::optional<WeightFormat>* shared) {
  if (side.shape != shape) {
    return CorruptPack(
        fmt::format("{}: {} expected, {} found", name, ShapeText(shape), ShapeText(side.shape)));
  }
  const WeightFormat format = side.dtype == "F16"    ? WeightFormat::kF16
                              : side.dtype == "BF16" ? WeightFormat::kBF16
                                                     : WeightFormat::kF32;
  if (quant::InfoOf(format).name != side.dtype || shared->value_or(format) != format) {
    return Fail(ErrorCode::kUnsupported,
                fmt::format("{}: type F32, F16 or BF16, the same of both, expected, {} found", name,
                            side.dtype));
  }
  *shared = format;
  return side.bytes;
}

/// Blocks of Q4_1: scale and bias in binary16, then byte j holds weights j and 16 + j. nullopt:
/// binary16 does not hold them all.
std::optional<std::vector<std::byte>> MakeQ4_1(std::span<const std::byte> words,
                                               const TensorPlaces& places) {
  constexpr std::size_t kBlock = 32, kBytes = 20;
  const std::size_t count = words.size() * 2;
  std::vector<std::byte> blocks(count / kBlock * kBytes);
  for (std::size_t b = 0; b < count / kBlock; ++b) {
    const auto [scale, bias] = places.ScaleAndBias(b * kBlock / places.group_cols);
    const std::uint16_t halves[] = {FloatToHalf(scale), FloatToHalf(bias)};
    if (HalfToFloat(halves[0]) != scale || HalfToFloat(halves[1]) != bias) return std::nullopt;
    std::byte* block = blocks.data() + b * kBytes;
    std::memcpy(block, halves, sizeof halves);
    for (std::size_t k = 0; k < kBlock; ++k) {
      block[4 + k % 16] |=
          static_cast<std::byte>(CodeAt(words, 4, b * kBlock + k) << (4 * (k / 16)));
    }
  }
  return blocks;
}

/// Blocks of Q2_0 or PQ2_0, which are groups of 64 or 128 columns.
/// A negative scale turns the codes around: (code - 1) * -s is (1 - code) * s. The first block that
/// is not ternary ends the work and is named by its place.
Result<std::vector<std::byte>> MakeTernary(std::span<const std::byte> words,
                                           const TensorPlaces& places, std::size_t per_row) {
  const std::size_t group = places.group_cols, block_bytes = 2 + group / 4;
  std::vector<std::byte> blocks(words.size() * 4 / group * block_bytes);
  for (std::size_t i = 0; i < blocks.size() / block_bytes; ++i) {
    const auto [scale, bias] = places.ScaleAndBias(i);
    const std::uint16_t half = FloatToHalf(std::fabs(scale));
    std::byte* block = blocks.data() + i * block_bytes;
    bool ternary = bias == -scale;
    for (std::size_t k = 0; k < group; ++k) {
      const unsigned code = CodeAt(words, 2, i * group + k);
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
  return blocks;
}

/// MLX's formula, code * scale + bias, with one rounding each.
std::vector<std::byte> ToFloats(std::span<const std::byte> words, unsigned bits,
                                const TensorPlaces& places) {
  std::vector<float> values(words.size() * 8 / bits);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto [scale, bias] = places.ScaleAndBias(i / places.group_cols);
    values[i] = static_cast<float>(CodeAt(words, bits, i)) * scale + bias;
  }
  const auto bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}

}  // namespace

MlxSides::MlxSides(std::span<const SafetensorsEntry> entries, const HfConfig& config)
    : config_(config) {
  if (config.mlx.bits == 0) return;
  for (const SafetensorsEntry& entry : entries) {
    for (const std::string_view suffix : {kScales, kBiases, kRowAlpha}) {
      if (entry.name.ends_with(suffix)) sides_.emplace(entry.name, &entry);
    }
  }
}

/// A weight W.weight of 32-bit words has W.scales and W.biases by group, or W.row_alpha, one scale
/// a row of weights whose bias is minus that. Modules may have packs of their own ("quantization"
/// in config.json); the number of columns follows from the bits of a code.
Result<unsigned> MlxSides::FindSides(const SafetensorsEntry& entry, TensorPlaces* places,
                                     Tensor* tensor) const {
  if (config_.mlx.bits == 0) {
    return Fail(ErrorCode::kUnsupported,
                "type F32, F16 or BF16 expected, U32 found; config.json has no \"quantization\" of "
                "MLX's");
  }
  if (entry.shape.size() < 2 || entry.shape.size() > 3 || !entry.name.ends_with(kWeight)) {
    return CorruptPack(fmt::format("a weight of two or three dimensions expected, {} found",
                                   ShapeText(entry.shape)));
  }
  const std::string_view stem = StemOf(entry.name);
  const auto own = config_.mlx_modules.find(stem);
  const HfMlxPack& pack = own == config_.mlx_modules.end() ? config_.mlx : own->second;
  const std::uint64_t cols = entry.shape.back() * (32 / pack.bits);
  const auto side = [&](std::string_view suffix) -> const SafetensorsEntry* {
    const auto found = sides_.find(fmt::format("{}{}", stem, suffix));
    return found == sides_.end() ? nullptr : found->second;
  };
  tensor->shape[0] = cols;
  std::vector<std::uint64_t> shape(entry.shape.begin(), entry.shape.end() - 1);
  std::optional<WeightFormat> format;
  const SafetensorsEntry* alpha = pack.bits == 2 ? side(kRowAlpha) : nullptr;
  if (alpha != nullptr) {
    places->scales = BITTERN_TRY(ReadSide(*alpha, kRowAlpha.substr(1), shape, &format));
    places->group_cols = cols;
  } else {
    if (cols % pack.group_cols != 0) {
      return CorruptPack(
          fmt::format("{} columns: a multiple of group_size {} expected", cols, pack.group_cols));
    }
    shape.push_back(cols / pack.group_cols);
    for (const auto& [suffix, bytes] :
         {std::pair{kScales, &places->scales}, {kBiases, &places->biases}}) {
      const SafetensorsEntry* found = side(suffix);
      if (found == nullptr) return CorruptPack(fmt::format("its {} are missing", suffix.substr(1)));
      *bytes = BITTERN_TRY(ReadSide(*found, suffix.substr(1), shape, &format));
    }
    places->group_cols = pack.group_cols;
  }
  places->scale_format = *format;
  return static_cast<unsigned>(pack.bits);
}

Result<void> MlxSides::SetMatrix(const SafetensorsEntry& entry, TensorPlaces* places,
                                 Tensor* tensor) const {
  const unsigned bits = BITTERN_TRY(FindSides(entry, places, tensor));
  if (bits != 2) {
    return Fail(ErrorCode::kUnsupported,
                fmt::format("a pack of 2 bits expected of a ternary matrix, of {} found", bits));
  }
  tensor->format = WeightFormat::kMlx2;
  return {};
}

/// Into the blocks of GGUF that hold the same numbers exactly; where there are none, into floats.
Result<std::vector<std::byte>> MlxSides::MakeBlocks(const SafetensorsEntry& entry,
                                                    Tensor* tensor) const {
  TensorPlaces places;
  const unsigned bits = BITTERN_TRY(FindSides(entry, &places, tensor));
  if (bits == 4) {
    if (auto blocks = MakeQ4_1(entry.bytes, places)) {
      tensor->format = WeightFormat::kQ4_1;
      return *std::move(blocks);
    }
  } else if (places.group_cols == 64 || places.group_cols == 128) {
    const std::size_t per_row = tensor->row_elements() / places.group_cols;
    tensor->format = places.group_cols == 64 ? WeightFormat::kQ2_0 : WeightFormat::kPQ2_0;
    return MakeTernary(entry.bytes, places, per_row);
  }
  tensor->format = WeightFormat::kF32;
  return ToFloats(entry.bytes, bits, places);
}

Result<std::vector<std::byte>> MlxSides::MakeFloats(const SafetensorsEntry& entry,
                                                    Tensor* tensor) const {
  TensorPlaces places;
  const unsigned bits = BITTERN_TRY(FindSides(entry, &places, tensor));
  tensor->format = WeightFormat::kF32;
  return ToFloats(entry.bytes, bits, places);
}

}  // namespace bittern::formats
