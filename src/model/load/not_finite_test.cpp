// SPDX-License-Identifier: Apache-2.0
#include "model/load/not_finite.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "quant/blocks/quantize.hpp"

namespace bittern::model {
namespace {

TEST(NotFinite, EveryFormatOfFloatsFindsEveryPlaceAndNothingElse) {
  constexpr std::size_t kRows = 3, kCols = 37;
  for (const auto format :
       {quant::WeightFormat::kF32, quant::WeightFormat::kF16, quant::WeightFormat::kBF16}) {
    const std::size_t row_bytes = kCols * (format == quant::WeightFormat::kF32 ? 4 : 2);
    // The largest of a binary16, 0 and a subnormal are finite.
    std::vector<float> values(kRows * kCols, 65504.0f);
    values[0] = 0;
    values[1] = -1e-7f;
    const auto count = [&] {
      std::vector<std::byte> bytes(kRows * row_bytes);
      quant::QuantizeRowFor(format)(values.data(), values.size(), bytes.data());
      DenseMatrix matrix;
      matrix.format = format;
      matrix.rows = kRows;
      matrix.cols = kCols;
      matrix.row_bytes = row_bytes;
      matrix.data = bytes.data();
      return RowsNotFinite(matrix);
    };
    EXPECT_EQ(count().rows, 0u);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const float kept = std::exchange(values[i], i % 2 == 0 ? NAN : -INFINITY);
      EXPECT_EQ(count().rows, 1u) << i;
      EXPECT_EQ(count().first, i / kCols) << i;
      values[i] = kept;
    }
  }
}

TEST(NotFinite, ScalesOfBlocksAreDecoded) {
  std::vector<float> values(64, 1.0f);
  std::vector<std::byte> bytes(2 * 34);
  quant::QuantizeRowFor(quant::WeightFormat::kQ8_0)(values.data(), 64, bytes.data());
  DenseMatrix matrix;
  matrix.format = quant::WeightFormat::kQ8_0;
  matrix.rows = 2;
  matrix.cols = 32;
  matrix.row_bytes = 34;
  matrix.data = bytes.data();
  EXPECT_EQ(RowsNotFinite(matrix).rows, 0u);
  bytes[35] = std::byte{0x7e};  // the scale of row 1 becomes a NaN
  EXPECT_EQ(RowsNotFinite(matrix).rows, 1u);
  EXPECT_EQ(RowsNotFinite(matrix).first, 1u);
}

}  // namespace
}  // namespace bittern::model
