// SPDX-License-Identifier: Apache-2.0
// Every byte layout that holds ternary weights, behind one pair of functions: bytes to codes and
// scales, codes and scales to bytes. No SIMD and no I/O; kernels compute from Tile16, which is
// made from what these functions give.
//
// Codes 0, 1, 2 stand for -1, 0, +1 in all of them. A stored scale covers a whole tensor, a row,
// or a group of consecutive columns of a row; weight = (code - 1) * scale.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/result.hpp"
#include "quant/tl_tiling.hpp"
#include "quant/weight_format.hpp"

namespace bittern::quant {

/// A layout by name. One GGUF type id can hide several (I2_S: four).
enum class TernaryLayout {
  kI2sX86,         ///< I2_S in blocks of 128: the official file
  kI2sArm,         ///< I2_S in blocks of 64: quantised by bitnet.cpp on ARM since Nov 2025
  kI2sRow4,        ///< I2_S, four rows interleaved: bitnet.cpp without ACT_PARALLEL
  kI2sSequential,  ///< I2_S, four consecutive weights in a byte, first one on top
  kTl1,
  kTl2,
  kTq1_0,
  kTq2_0,
  kQ2_0,   ///< groups of 64 (type 42 of mainline llama.cpp)
  kPq2_0,  ///< groups of 128 (type 142, and type 42 of older PrismML files)
  kPtq1_0,
  kQ1_0,
  kStq1_0,  ///< one 0 among four weights
  kIq1Bn,
  kIq2Bn,
  kIq2BnR4,
  kF32,  ///< floats of which every row holds only -s, 0 and s
  kF16,
  kBf16,
  kHfPacked,  ///< Hugging Face's uint8 (hf_packed.hpp): the scale is elsewhere and given as 1
  kMlx2,      ///< MLX's packs: likewise
};

/// The weights that a stored scale covers. For kGroup, TernaryCodec::group_cols says how many
/// columns.
enum class ScaleGrain { kTensor, kRow, kGroup };

/// All bytes of a tensor with its logical shape: rows outputs of cols inputs.
struct TernaryView {
  std::span<const std::byte> bytes;
  std::size_t rows = 0, cols = 0;
  TlTiling tiling = {};  ///< TL1 and TL2 only
};

/// A whole tensor's codes (rows * cols) and scales (rows * TernaryCodec::ScalesPerRow).
struct TernaryValues {
  std::span<const std::uint8_t> codes;
  std::span<const float> scales;
  std::size_t rows = 0, cols = 0;
  TlTiling tiling = {};
};

struct TernaryCodec {
  TernaryLayout layout;
  std::string_view name;  ///< "i2_s", "i2_s:arm-64", "tq2_0": for messages and options
  WeightFormat format;
  ScaleGrain grain;
  std::size_t group_cols;  ///< for kGroup
  /// The scale as a file of this format holds it (rounded to binary16, or as it is).
  float (*stored_scale)(float scale) noexcept;

  /// Shapes the layout cannot hold are refused: kUnsupported, with what it needs.
  Result<void> (*check)(std::size_t rows, std::size_t cols, const TlTiling& tiling);
  /// Codes of whole rows that the layout cannot hold are refused alike; null: it holds any.
  Result<void> (*check_codes)(std::span<const std::uint8_t> codes) = nullptr;
  /// Bytes of a tensor, tail included; shape already checked.
  std::size_t (*bytes)(std::size_t rows, std::size_t cols, const TlTiling& tiling);
  /// Rows [first, first + count) as codes (count * cols) and scales (count * ScalesPerRow; a
  /// tensor's one scale is given for every row). Invalid weights give code 3. Thread-safe.
  void (*unpack)(const TernaryView& view, std::size_t first, std::size_t count, std::uint8_t* codes,
                 float* scales) noexcept;
  /// The inverse, a whole tensor at a time; out: bytes(rows, cols) bytes, all of them written.
  /// Codes are 0..2 and pass check_codes; scales are rounded as stored_scale says.
  void (*pack)(const TernaryValues& values, std::byte* out) noexcept;

  [[nodiscard]] std::size_t ScalesPerRow(std::size_t cols) const noexcept {
    return grain == ScaleGrain::kGroup ? (cols + group_cols - 1) / group_cols : 1;
  }
};

[[nodiscard]] std::span<const TernaryCodec> TernaryCodecs() noexcept;
[[nodiscard]] const TernaryCodec& CodecOf(TernaryLayout layout) noexcept;
/// The codec a type stands for unless something says otherwise (I2_S: x86-128); nullptr where
/// the format cannot hold ternary weights (Q4_0, ...).
[[nodiscard]] const TernaryCodec* DefaultCodec(WeightFormat format) noexcept;
/// By TernaryCodec::name; nullptr if there is none.
[[nodiscard]] const TernaryCodec* FindCodec(std::string_view name) noexcept;

}  // namespace bittern::quant
