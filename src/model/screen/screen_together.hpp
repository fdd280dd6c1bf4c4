// SPDX-License-Identifier: Apache-2.0
// Estimates of many vectors at once: the scan of the screened head where several sequences want
// their logits. Each vector is int8, and five bits of a row are put together once for up to sixteen
// of them. The sums are integers, so the estimates are the same in any company.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/threads/thread_pool.hpp"

namespace bittern::kernels {
struct ScreenOps;
}

namespace bittern::model {

struct ScreenedHead;

/// From so many vectors on they are scanned together.
inline constexpr std::size_t kFewestTogether = 4;
/// Tiles of 16 rows that meet all vectors before the next ones are read.
inline constexpr std::size_t kTilesTogether = 8;

/// One vector of a scan.
struct TogetherVector {
  const std::int8_t* acts;  ///< (padded_cols)
  std::int32_t sum;         ///< of acts
  float factor;             ///< of every estimate, with the step of its row
  float* estimates;         ///< (rows padded to 16)
  float* tile_best;         ///< (tiles): the largest estimate of each
};

/// Bytes of acts and sums that a thread needs for `num_vectors`.
[[nodiscard]] std::size_t TogetherActs(std::size_t num_vectors, std::size_t padded_cols) noexcept;
[[nodiscard]] std::size_t TogetherSums() noexcept;

/// Brings the vectors into the order in which the kernel meets them.
void GatherTogether(std::span<const TogetherVector> vectors, std::size_t padded_cols,
                    std::int8_t* acts);

/// Estimates of the rows of at most kTilesTogether tiles, for all vectors, after five bits.
/// acts: of GatherTogether; sums: scratch memory of TogetherSums() elements.
void EstimateTogether(const kernels::ScreenOps& ops, const ScreenedHead& head, Range tiles,
                      std::span<const TogetherVector> vectors, const std::int8_t* acts,
                      std::int32_t* sums);

}  // namespace bittern::model
