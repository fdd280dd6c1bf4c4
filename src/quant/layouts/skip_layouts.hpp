// SPDX-License-Identifier: Apache-2.0
// Two layouts of a ternary matrix in memory from which parts can be left out: single rows (up_proj
// where the gate is zero) and single columns (down_proj where its input is zero). Not file formats;
// made at load. Tile16 interleaves sixteen rows, so it can skip neither.
//
//   rows     row after row, each as I2_S has it (i2s.hpp): blocks of 128 columns, 32 bytes each.
//   columns  column after column; in a column, panels of 256 rows, 64 bytes each:
//            byte b of panel p, bits 2f+1..2f: the code of row 256 p + 64 f + b
//
// Rows past the end of a matrix and columns past the end of a row hold code 1 (weight 0).
#pragma once

#include <cstddef>
#include <cstdint>

namespace bittern::quant {

inline constexpr std::size_t kPanelRows = 256;      ///< rows of a panel of columns
inline constexpr std::size_t kPanelLineBytes = 64;  ///< bytes of one column of a panel

/// Packs num_rows (1..16) rows of codes, cols each, as `rows`. out: sixteen rows.
void PackRows(const std::uint8_t* codes, std::size_t num_rows, std::size_t cols,
              std::uint8_t* out) noexcept;

/// Packs one panel of `columns` from up to 256 consecutive rows in I2_S order, num_blocks * 32
/// bytes each. The line of column c goes to out + c * column_bytes, for whole blocks of columns.
void PackPanel(const std::uint8_t* i2s_rows, std::size_t num_rows, std::size_t num_blocks,
               std::uint8_t* out, std::size_t column_bytes) noexcept;

}  // namespace bittern::quant
