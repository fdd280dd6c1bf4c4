// SPDX-License-Identifier: Apache-2.0
// Sizes that the kernels and their callers agree on: of blocks, groups, panels, tables and scratch
// memory. Some are part of the numerics contract. Plain data only, as kernel.h.
#pragma once

#include <stddef.h>

namespace bittern::kernels {

/// Positions are summed in blocks of this many, then the blocks' sums in order, so that positions
/// can be split over threads without changing a bit. Also the positions of a page of the cache.
inline constexpr size_t kAttentionBlock = 256;

/// Columns of a group of weights or activations that may have a scale of its own.
inline constexpr size_t kGroupCols = 64;

inline constexpr size_t kGemmTiles = 2;    ///< row tiles of one gemm call at most
inline constexpr size_t kPanelTokens = 8;  ///< tokens side by side in a panel of activations

/// Tokens of one call of VlutOps.
inline constexpr size_t kVlutTokens = 32;
/// Rows that cost as much as making the tables: the share of a call of few rows.
inline constexpr size_t kVlutTableRows = 110;
constexpr size_t VlutScratch(size_t num_tiles) {
  const size_t tables = 4 * 81 * kVlutTokens * 2;
  const size_t offsets = num_tiles * 1024, sums = num_tiles * 16 * kVlutTokens * (2 + 4);
  return tables + offsets + sums;
}

inline constexpr size_t kTl1TableBytes = 64, kTl2TableBytes = 256;  ///< for the columns of a step

/// Bytes of a vector in the order in which a kernel meets its rows.
constexpr size_t OrderedActs(size_t num_blocks) { return (num_blocks + 1) / 2 * 256; }

/// Rows of an attention call at most, all of which each block of keys or values serves in turn: as
/// many as leave their scores in the second-level cache.
inline constexpr size_t kMostAttentionRows = 32, kNearPositions = 8192;
constexpr size_t AttentionRows(size_t positions) {
  return positions <= kNearPositions ? kMostAttentionRows : kMostAttentionRows / 2;
}
/// Floats of scratch for any call whose num_positions + num_tokens are at most max_positions:
/// scores of all rows, two blocks of keys or values as float, sums of all rows.
constexpr size_t AttentionScratch(size_t max_positions, size_t head_dim) {
  const size_t all = (max_positions + 15) / 16 * 16;
  // Windows' headers take the names near and far.
  const size_t few = kMostAttentionRows * (all < kNearPositions ? all : kNearPositions);
  const size_t many = kMostAttentionRows / 2 * all;
  return (few > many ? few : many) + (32 + kMostAttentionRows) * ((head_dim + 15) / 16 * 16);
}

}  // namespace bittern::kernels
