// SPDX-License-Identifier: Apache-2.0
#include "quant/hf_packed.hpp"

#include <algorithm>
#include <string>

namespace bittern::quant {
namespace {

constexpr unsigned kInvalid = 3;

/// One logical row: a two-bit field of each byte of a packed row. Returns the OR of (code & code
/// >> 1), which is set only if some code is 3: one pass without branches.
unsigned UnpackField(const std::byte* packed, unsigned shift, std::size_t cols,
                     std::uint8_t* codes) {
  unsigned invalid = 0;
  for (std::size_t k = 0; k < cols; ++k) {
    const unsigned code = std::to_integer<unsigned>(packed[k]) >> shift & 3;
    codes[k] = static_cast<std::uint8_t>(code);
    invalid |= code & code >> 1;
  }
  return invalid;
}

}  // namespace

Result<void> UnpackHfRows(const HfPackedView& view, std::size_t first, std::size_t count,
                          std::span<std::uint8_t> codes) {
  const std::size_t block_rows = HfPackedRows(view.rows);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t row = first + i;
    const auto shift = static_cast<unsigned>(2 * (row / block_rows));
    const std::byte* packed = view.bytes.data() + row % block_rows * view.cols;
    std::uint8_t* out = codes.data() + i * view.cols;
    if (UnpackField(packed, shift, view.cols, out) == 0) continue;
    const auto column = std::find(out, out + view.cols, kInvalid) - out;
    return Fail(ErrorCode::kCorruptFile, "code 3 at row " + std::to_string(row) + ", column " +
                                             std::to_string(column) + "; codes are 0, 1 and 2");
  }
  return {};
}

void PackHf(std::span<const std::uint8_t> codes, std::size_t rows, std::size_t cols,
            std::span<std::byte> out) noexcept {
  std::ranges::fill(out, std::byte{0});
  const std::size_t block_rows = HfPackedRows(rows);
  for (std::size_t row = 0; row < rows; ++row) {
    const auto shift = static_cast<unsigned>(2 * (row / block_rows));
    std::byte* packed = out.data() + row % block_rows * cols;
    for (std::size_t k = 0; k < cols; ++k) {
      packed[k] |= static_cast<std::byte>(codes[row * cols + k] << shift);
    }
  }
}

}  // namespace bittern::quant
