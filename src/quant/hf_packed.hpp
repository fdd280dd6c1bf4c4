// SPDX-License-Identifier: Apache-2.0
// Ternary weights as Hugging Face's `bitnet` integration stores them: a uint8 tensor [ceil(M/4), K]
// for a logical matrix of M rows and K columns, cut into four blocks of R = ceil(M/4) rows.
//
//              bits 1-0      bits 3-2          bits 5-4           bits 7-6
//   byte(p,k)  w[p][k]       w[R + p][k]       w[2R + p][k]       w[3R + p][k]
//
// So neither four neighbouring rows nor four neighbouring columns share a byte. Codes 0, 1, 2 stand
// for -1, 0, +1; code 3 never occurs in a row below M. Where M is not a multiple of 4 the fields of
// rows from M on are ignored. The scale is another tensor. Source: transformers,
// integrations/bitnet.py, pack_weights.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.hpp"

namespace bittern::quant {

/// Rows of bytes that hold `rows` logical rows.
[[nodiscard]] constexpr std::size_t HfPackedRows(std::size_t rows) noexcept {
  return rows / 4 + (rows % 4 != 0 ? 1 : 0);
}

/// A whole packed tensor. bytes: HfPackedRows(rows) * cols.
struct HfPackedView {
  std::span<const std::byte> bytes;
  std::size_t rows = 0, cols = 0;  ///< logical
};

/// Logical rows [first, first + count) as codes 0, 1, 2; codes: count * cols, first + count <=
/// rows. Error kCorruptFile: a code 3, with its row and column. Thread-safe.
[[nodiscard]] Result<void> UnpackHfRows(const HfPackedView& view, std::size_t first,
                                        std::size_t count, std::span<std::uint8_t> codes);

/// The inverse for a whole matrix: codes 0..2 of rows * cols weights; fields of rows that do not
/// exist are 0. out: HfPackedRows(rows) * cols bytes.
void PackHf(std::span<const std::uint8_t> codes, std::size_t rows, std::size_t cols,
            std::span<std::byte> out) noexcept;

}  // namespace bittern::quant
