// SPDX-License-Identifier: Apache-2.0
// Rows are decoded in chunks that fit the stack, so that no row length costs memory.
#include "quant/blocks/absmean.hpp"

#include <algorithm>
#include <cmath>

#include "base/float16.hpp"
#include "quant/blocks/dequantize.hpp"

namespace bittern::quant {
namespace {

constexpr float kLeastScale = 1e-5f;
constexpr std::size_t kChunk = 1024;  // a multiple of every block

/// Calls use(first, floats) for every chunk of the row.
template <class Use>
void ForEachChunk(WeightFormat format, std::span<const std::byte> row, std::size_t n, Use use) {
  const DequantizeRowFn decode = DequantizeRowFor(format);
  const WeightFormatInfo& info = InfoOf(format);
  float values[kChunk];
  for (std::size_t first = 0; first < n; first += kChunk) {
    const std::size_t count = std::min(kChunk, n - first);
    decode(row.data() + first / info.block_elements * info.block_bytes, count, values);
    use(first, std::span<const float>(values, count));
  }
}

}  // namespace

double AbsSumOfRow(WeightFormat format, std::span<const std::byte> row, std::size_t n) {
  double sum = 0;
  ForEachChunk(format, row, n, [&sum](std::size_t, std::span<const float> values) {
    for (const float value : values) sum += std::fabs(static_cast<double>(value));
  });
  return sum;
}

Result<AbsmeanScale> AbsmeanFromSum(double sum, std::size_t count) {
  if (!std::isfinite(sum)) {
    return Fail(ErrorCode::kCorruptFile, "expected finite weights, found a NaN or an infinity");
  }
  const auto mean = static_cast<float>(sum / static_cast<double>(count));
  const float scale = std::max(mean, kLeastScale);
  return AbsmeanScale{scale, 1.0f / scale};
}

void AbsmeanCodes(WeightFormat format, std::span<const std::byte> row, float reciprocal,
                  std::span<std::uint8_t> codes) {
  ForEachChunk(format, row, codes.size(),
               [&codes, reciprocal](std::size_t first, std::span<const float> values) {
                 for (std::size_t i = 0; i < values.size(); ++i) {
                   // Rounding half to even sends 0.5 to 0, so only what is beyond becomes 1.
                   const float scaled = values[i] * reciprocal;
                   codes[first + i] =
                       static_cast<std::uint8_t>(1 + (scaled > 0.5f) - (scaled < -0.5f));
                 }
               });
}

Result<AbsmeanScale> QuantizeAbsmean(WeightFormat format, std::span<const std::byte> bytes,
                                     std::size_t rows, std::size_t cols,
                                     std::span<std::uint8_t> codes) {
  const std::size_t row_bytes = bytes.size() / rows;
  double sum = 0;
  for (std::size_t row = 0; row < rows; ++row) {
    sum += AbsSumOfRow(format, bytes.subspan(row * row_bytes, row_bytes), cols);
  }
  const AbsmeanScale scale = BITTERN_TRY(AbsmeanFromSum(sum, rows * cols));
  for (std::size_t row = 0; row < rows; ++row) {
    AbsmeanCodes(format, bytes.subspan(row * row_bytes, row_bytes), scale.reciprocal,
                 codes.subspan(row * cols, cols));
  }
  return scale;
}

float ThresholdCodes(WeightFormat format, std::span<const std::byte> row,
                     std::span<std::uint8_t> codes) {
  constexpr float kShare = 0.7f;
  const auto mean = static_cast<float>(AbsSumOfRow(format, row, codes.size()) /
                                       static_cast<double>(codes.size()));
  const float least = kShare * mean;
  double sum = 0;
  std::size_t kept = 0;
  ForEachChunk(format, row, codes.size(), [&](std::size_t first, std::span<const float> values) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      const bool keeps = std::fabs(values[i]) > least;
      codes[first + i] = static_cast<std::uint8_t>(keeps ? (values[i] > 0 ? 2 : 0) : 1);
      kept += static_cast<std::size_t>(keeps);
      if (keeps) sum += std::fabs(static_cast<double>(values[i]));
    }
  });
  if (!std::isfinite(mean)) return mean;
  if (kept == 0) return 0;
  return BfloatToFloat(FloatToBfloat(static_cast<float>(sum / static_cast<double>(kept))));
}

}  // namespace bittern::quant
