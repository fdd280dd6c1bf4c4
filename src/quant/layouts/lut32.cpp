// SPDX-License-Identifier: Apache-2.0
#include "quant/layouts/lut32.hpp"

#include <cstring>

namespace bittern::quant {
namespace {

constexpr std::uint8_t kZeroCode = 1;
constexpr int kZeroTriple = 13;  // 9 * 1 + 3 * 1 + 1

std::size_t ByteOfRow(std::size_t row) noexcept {
  return row >= 8 && row < 16 ? row + 8 : row >= 16 && row < 24 ? row - 8 : row;
}

/// The code of a weight, 1 (weight 0) past the edges.
class PaddedCodes {
 public:
  PaddedCodes(const std::uint8_t* codes, std::size_t rows, std::size_t cols)
      : codes_(codes), rows_(rows), cols_(cols) {}
  [[nodiscard]] unsigned At(std::size_t row, std::size_t col) const noexcept {
    return row < rows_ && col < cols_ ? codes_[row * cols_ + col] : kZeroCode;
  }

 private:
  const std::uint8_t* codes_;
  std::size_t rows_, cols_;
};

void PackTl1Step(const PaddedCodes& codes, std::size_t col, std::uint8_t* out) noexcept {
  for (std::size_t row = 0; row < kLutRows; ++row) {
    const unsigned first = 3 * codes.At(row, col) + codes.At(row, col + 1);
    const unsigned second = 3 * codes.At(row, col + 2) + codes.At(row, col + 3);
    out[ByteOfRow(row)] = static_cast<std::uint8_t>(first << 4 | second);
  }
}

/// 24 columns of 32 rows as eight triples: two indices a byte, then a word of signs for the rows
/// r and r + 16 together.
void PackTl2Step(const PaddedCodes& codes, std::size_t col, std::uint8_t* out) noexcept {
  std::uint16_t signs[16] = {};
  std::memset(out, 0, LutStepBytes(LutKind::kTl2));
  for (std::size_t row = 0; row < kLutRows; ++row) {
    for (std::size_t t = 0; t < 8; ++t) {
      const std::size_t c = col + 3 * t;
      const int s =
          static_cast<int>(9 * codes.At(row, c) + 3 * codes.At(row, c + 1) + codes.At(row, c + 2)) -
          kZeroTriple;
      const auto index = static_cast<unsigned>(s < 0 ? -s : s);
      std::uint8_t& byte = out[t / 2 * kLutRows + ByteOfRow(row)];
      byte = static_cast<std::uint8_t>(byte | index << (t % 2 == 0 ? 4 : 0));
      if (s < 0)
        signs[row % 16] =
            static_cast<std::uint16_t>(signs[row % 16] | 1u << (15 - (2 * t + row / 16)));
    }
  }
  std::memcpy(out + 4 * kLutRows, signs, sizeof signs);
}

}  // namespace

void PackLutTile(LutKind kind, const std::uint8_t* codes, std::size_t num_rows, std::size_t cols,
                 std::uint8_t* tile) noexcept {
  const PaddedCodes padded(codes, num_rows, cols);
  const auto pack = kind == LutKind::kTl1 ? PackTl1Step : PackTl2Step;
  for (std::size_t step = 0; step < LutSteps(kind, cols); ++step) {
    pack(padded, step * LutStepCols(kind), tile + step * LutStepBytes(kind));
  }
}

}  // namespace bittern::quant
