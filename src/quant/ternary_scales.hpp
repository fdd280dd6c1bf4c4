// SPDX-License-Identifier: Apache-2.0
// The scales of a ternary tensor in their coarsest exact form, whatever grain its file stores them
// in. A group-scaled file of a tensor-scaled model repeats one number; finding that out lets it run
// with the fast kernels and convert without loss.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "quant/ternary_codec.hpp"

namespace bittern::quant {

/// Scales of rows * cols weights: one per `group_cols` columns of a row.
struct TernaryScales {
  std::size_t rows = 0, cols = 0;
  std::size_t group_cols = 0;  ///< cols where a row has one scale
  std::vector<float> values;   ///< (rows, groups of a row); or one, for the whole tensor
  [[nodiscard]] std::size_t per_row() const noexcept {
    return (cols + group_cols - 1) / group_cols;
  }
};

/// Rows [first, first + count) of a tensor, unpacked and checked: codes (count * cols) and scales
/// (count * codec.ScalesPerRow(cols)), those of all-zero groups set to 0. Errors as UnpackTernary.
/// Thread-safe.
[[nodiscard]] Result<void> UnpackRowsChecked(const TernaryCodec& codec, const TernaryView& view,
                                             std::size_t first, std::size_t count,
                                             std::uint8_t* codes, float* scales);

/// Reads codes (rows * cols) and scales of a whole tensor. A group whose codes are all zero has
/// no scale that matters: it is given as 0. Errors kCorruptFile: a code 3, or a scale that is
/// not finite or not positive where it matters; they name row and column.
[[nodiscard]] Result<TernaryScales> UnpackTernary(const TernaryCodec& codec,
                                                  const TernaryView& view,
                                                  std::span<std::uint8_t> codes);

/// Coarsest grain that says the same: one scale for the tensor, else one a row, else as is.
/// A scale 0 belongs to zeros and agrees with any other. All zero: one scale 0.
[[nodiscard]] TernaryScales Coarsen(TernaryScales scales);

/// The scales as `codec` stores them (rows * codec.ScalesPerRow(cols)), before any rounding to
/// binary16. A scale 0 takes the neighbour's value, or stays 0 for formats of groups.
/// Error kUnsupported: the codec's grain is too coarse for these scales.
[[nodiscard]] Result<std::vector<float>> Regrain(const TernaryScales& scales,
                                                 const TernaryCodec& codec);

}  // namespace bittern::quant
