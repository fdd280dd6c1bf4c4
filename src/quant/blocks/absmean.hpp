// SPDX-License-Identifier: Apache-2.0
// From float master weights to ternary codes, as BitNet b1.58 does in training: the scale of a
// matrix is the mean of its absolute values, S = max(mean |w|, 1e-5), and
//
//   code = clamp(round_half_even(w * (1 / S)), -1, +1) + 1,   weight = (code - 1) * S
//
// with 1 / S computed in float first, since multiplying by it and dividing by S may differ in the
// last bit and so in a code. Source: transformers, integrations/bitnet.py, WeightQuant.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.hpp"
#include "quant/weight_format.hpp"

namespace bittern::quant {

struct AbsmeanScale {
  float scale = 0;       ///< S: weight = (code - 1) * scale
  float reciprocal = 0;  ///< 1 / S in float; codes come from w * reciprocal
};

/// Sum of |w| over one row of n weights, in double, from the first to the last. The sum of a
/// matrix is that of its rows, in double, from the first to the last: threads may share the rows
/// out and still agree on every bit. format: one with a decoder in quant/blocks/dequantize.hpp.
[[nodiscard]] double AbsSumOfRow(WeightFormat format, std::span<const std::byte> row,
                                 std::size_t n);

/// The scale of a matrix of `count` weights whose AbsSumOfRow add up to `sum`. Error
/// kCorruptFile: the sum is not finite, that is, some weight is not.
[[nodiscard]] Result<AbsmeanScale> AbsmeanFromSum(double sum, std::size_t count);

/// The codes 0, 1, 2 of one row; row: codes.size() weights in `format`.
void AbsmeanCodes(WeightFormat format, std::span<const std::byte> row, float reciprocal,
                  std::span<std::uint8_t> codes);

/// All of it for a matrix: codes (rows * cols) and their scale. Error as AbsmeanFromSum.
[[nodiscard]] Result<AbsmeanScale> QuantizeAbsmean(WeightFormat format,
                                                   std::span<const std::byte> bytes,
                                                   std::size_t rows, std::size_t cols,
                                                   std::span<std::uint8_t> codes);

/// Another rule, Maple's: the weights of a row are kept whose magnitude is above 0.7 of the row's
/// mean; code = the sign of those, the others are 0. Returns the scale, which is the mean magnitude
/// of those that are kept, as bf16 holds it; 0 where none is. The means are computed in double,
/// from the first weight to the last; the threshold is a float. Not finite where a weight is not.
[[nodiscard]] float ThresholdCodes(WeightFormat format, std::span<const std::byte> row,
                                   std::span<std::uint8_t> codes);

}  // namespace bittern::quant
