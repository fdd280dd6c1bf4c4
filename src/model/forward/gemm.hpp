// SPDX-License-Identifier: Apache-2.0
// Ternary matrix times a batch of more than a few tokens, in pieces of rows that can be dealt out.
// Every layout of tiles, rows or columns becomes Tile16 in the cache and meets one of two kernels,
// which give the same sums: multiply-adds, or tables across tokens.
#pragma once

#include <cstddef>
#include <span>

#include "model/forward/linear.hpp"

namespace bittern::model {

/// How many times as fast as with multiply-adds a batch meets the matrix's pieces; 1 where
/// multiply-adds are taken (Tile16Ops), more by tables (VlutOps).
[[nodiscard]] double GemmGain(const MatrixProduct& product) noexcept;

/// A batch times a matrix, in items that can be dealt out: some rows for some tokens. The rows are
/// a multiple of 16 and may reach into what pads the matrix. The first token is a multiple of 32.
/// Neighbouring items share their rows. All threads of a pass get the same.
struct GemmItem {
  Range rows, tokens;
};
[[nodiscard]] std::size_t GemmItems(const MatrixProduct& product) noexcept;
[[nodiscard]] GemmItem GemmItemAt(const MatrixProduct& product, std::size_t index) noexcept;

/// The part of Gemm that is an item, or any rows and tokens that could be one. Rows of kTile48 are
/// whole tiles of 48. Not kColumns. No barrier.
void GemmPart(const MatrixProduct& product, const GemmItem& item);

/// All of a product of more than a few rows of activations. The team is dealt the rows. Layouts
/// kTile16, kTile48, kRows and kColumns; with scales of groups only where GemmGain is more than 1.
/// No barrier at the end.
void Gemm(const MatrixProduct& product);

/// Tables are faster than multiply-adds for some tokens of `in` and some rows of a grouped matrix.
[[nodiscard]] bool TablesAreFaster(const Context& context, const TernaryMatrix& matrix,
                                   const QuantizedRows& in, std::size_t tokens,
                                   std::size_t rows) noexcept;

/// So many of `count` tokens meet some tiles of it by tables soonest, if multiply-adds take the
/// others: a token or two would cost what half a pass of tables does.
[[nodiscard]] std::size_t TokensByTables(const TilesOfMatrix& of, const QuantizedRows& in,
                                         std::size_t count) noexcept;

/// By tables, the products of tiles of such a matrix, up to kMostGroupedTiles, with tokens from
/// anywhere in a batch; `step` as GroupedRows has it. No barrier.
void LookUpTokens(const TilesOfMatrix& of, std::span<const kernels::GroupedToken> tokens,
                  std::size_t step);

}  // namespace bittern::model
