// SPDX-License-Identifier: Apache-2.0
// A float is NaN or infinite where all bits of its exponent are set, so floats need no decoding.
#include "model/load/not_finite.hpp"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "quant/blocks/dequantize.hpp"

namespace bittern::model {
namespace {

using quant::WeightFormat;

template <class Word>
bool HasFullExponent(const std::byte* row, std::size_t n, Word exponent) {
  unsigned found = 0;
  for (std::size_t i = 0; i < n; ++i) {
    Word word;
    std::memcpy(&word, row + i * sizeof word, sizeof word);
    found |= static_cast<Word>(word & exponent) == exponent ? 1u : 0u;
  }
  return found != 0;
}

bool RowIsNotFinite(const DenseMatrix& matrix, std::size_t row, std::vector<float>* decoded) {
  const std::byte* data = matrix.row(row);
  switch (matrix.format) {
    case WeightFormat::kF32:
      return HasFullExponent<std::uint32_t>(data, matrix.cols, 0x7f800000);
    case WeightFormat::kF16:
      return HasFullExponent<std::uint16_t>(data, matrix.cols, 0x7c00);
    case WeightFormat::kBF16:
      return HasFullExponent<std::uint16_t>(data, matrix.cols, 0x7f80);
    default:
      break;
  }
  decoded->resize(matrix.cols);
  quant::DequantizeRowFor(matrix.format)(data, matrix.cols, decoded->data());
  for (const float value : *decoded) {
    if (!std::isfinite(value)) return true;
  }
  return false;
}

}  // namespace

NotFinite RowsNotFinite(const DenseMatrix& matrix) {
  NotFinite found;
  std::vector<float> decoded;
  for (std::size_t row = 0; row < matrix.rows; ++row) {
    if (!RowIsNotFinite(matrix, row, &decoded)) continue;
    if (found.rows++ == 0) found.first = row;
  }
  return found;
}

}  // namespace bittern::model
