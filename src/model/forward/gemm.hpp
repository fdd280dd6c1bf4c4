// SPDX-License-Identifier: Apache-2.0
// Ternary matrix times a batch of more than a few tokens, in pieces of rows that can be dealt out.
// Every layout of tiles, rows or columns becomes Tile16 in the cache and meets one of two kernels,
// which give the same sums: multiply-adds, or tables across tokens.
#pragma once

#include <cstddef>

#include "model/forward/context.hpp"

namespace bittern::model {

/// How many times as fast as with multiply-adds a batch meets a matrix whose rows are dealt out in
/// pieces of `rows`; at most 1: it is done with multiply-adds (Tile16Ops), else by tables
/// (VlutOps).
[[nodiscard]] double GainOfTables(const Context& context, std::size_t rows) noexcept;
/// The same for the matrix's own pieces, 1 where multiply-adds are taken.
[[nodiscard]] double GemmGain(const Context& context, const TernaryMatrix& matrix) noexcept;

/// Pieces of a matrix of layout kTile16, kTile48 or kRows, and the rows of one: a multiple of 16,
/// which may reach into what pads the matrix. All threads of a pass get the same.
[[nodiscard]] std::size_t GemmPieces(const Context& context, const TernaryMatrix& matrix) noexcept;
[[nodiscard]] Range GemmPieceRows(const Context& context, const TernaryMatrix& matrix,
                                  std::size_t piece) noexcept;

/// One piece's rows of Gemm. No barrier.
void GemmPiece(const Context& context, const TernaryMatrix& matrix, std::size_t piece, float* out);

/// The same for any rows of a matrix; `rows` are whole tiles of 16, of kTile48 of 48.
void GemmRows(const Context& context, const TernaryMatrix& matrix, Range rows, float* out);

/// out[token * matrix.padded_rows() + row] for the whole batch, whose activations are in panels.
/// The team is dealt the rows. Layouts kTile16, kTile48, kRows and kColumns. No barrier at the end.
void Gemm(const Context& context, const TernaryMatrix& matrix, float* out);

}  // namespace bittern::model
