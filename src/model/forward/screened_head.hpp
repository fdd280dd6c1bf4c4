// SPDX-License-Identifier: Apache-2.0
// The output head by elimination (docs/design/0004-screened-head.md). Beside the head stands a
// coarse copy of it in bit planes, with the exact size of what each plane leaves out; so a scan of
// the copy bounds every logit from both sides, rows that cannot be among the best are dropped, and
// the few others are computed from the head itself, as a full scan would. Same logits, same
// candidates, a third of the memory traffic.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <vector>

#include "base/aligned_buffer.hpp"
#include "base/result.hpp"
#include "base/threads/thread_pool.hpp"
#include "kernels/registry.hpp"

namespace bittern::model {

struct Context;
struct DenseMatrix;
struct HeadRow;

/// Immutable after Build.
struct ScreenedHead {
  std::size_t rows = 0, cols = 0;
  std::size_t padded_cols = 0;                           ///< quant::ScreenCols(cols)
  AlignedBuffer<std::uint8_t> nibbles, bits, pairs;      // quant/layouts/screen_planes.hpp
  AlignedBuffer<float> step, norm, rest4, rest5, rest7;  // (rows padded to 16): kernels::ScreenRow
  float largest_norm = 0;

  [[nodiscard]] bool empty() const noexcept { return rows == 0; }
  [[nodiscard]] std::size_t bytes() const noexcept {
    return nibbles.size() + bits.size() + pairs.size() + 5 * step.size() * sizeof(float);
  }

  /// Makes the copy with all threads of the pool; `done`, if any, is told by each of them which
  /// rows of the head it will not read again. An empty copy where a row is not finite (then nothing
  /// can be bounded). Error: kOutOfMemory.
  [[nodiscard]] static Result<ScreenedHead> Build(const DenseMatrix& head,
                                                  const kernels::Kernels& kernels, ThreadPool& pool,
                                                  const std::function<void(Range)>& done = {});
};

/// Which logits are wanted: every one that is at least the count-th best; with count 0, every one
/// that is at least the best less `within`.
struct CandidateRequest {
  std::size_t count = 1;
  float within = 0;

  bool operator==(const CandidateRequest&) const = default;
};
inline constexpr std::size_t kMaxCandidateCount = 1024;  ///< of CandidateRequest::count

/// The logits that a request is about, by ascending id.
struct CandidateLogits {
  std::vector<std::int32_t> ids;
  std::vector<float> logits;
};

/// How many rows each step of the screen let through, summed over tokens.
struct ScreenStats {
  std::uint64_t tokens = 0, rows = 0;
  std::uint64_t tokens_of_8_bits = 0;  ///< among them: vectors that 8 bits hold well enough
  std::uint64_t tiles_of_bits = 0;     ///< tiles of 16 rows that four bits let through
  std::uint64_t after_5_bits = 0, after_7_bits = 0;
};

/// Vectors that one scan of the coarse copy serves: enough for a sequence and its drafts, and at
/// most for many sequences.
inline constexpr std::size_t kScreenVectors = 4, kMostScreenVectors = 32;

/// Scratch memory of a screen.
struct ScreenScratch {
  /// One of the vectors of a scan, as one thread sees it.
  struct Part {
    std::vector<float> ordered;  // (kMaxCandidateCount): estimates of its best tiles
    std::vector<float> seeds;    // (kMaxCandidateCount): exact logits, for the threshold
    std::size_t num_seeds = 0;
    AlignedBuffer<std::int8_t> high, low;  // (padded_cols): the vector, quantised
  };
  struct Thread {
    std::vector<Part> parts;                   // of each vector
    std::vector<std::uint32_t> live_tiles;     // (tiles of a piece, and 16): with a survivor
    AlignedBuffer<std::int8_t> together_acts;  // screen_together.hpp
    std::vector<std::int32_t> together_sums;
    ScreenStats stats;
  };
  /// One of the vectors of a scan, as all threads share it.
  struct Vector {
    AlignedBuffer<float> estimates;    // (rows padded to 16)
    AlignedBuffer<float> tile_best;    // (tiles of the head): the best estimate of each
    AlignedBuffer<std::uint32_t> ids;  // survivors, then candidates; a slice per piece of the head
    AlignedBuffer<float> logits;       // of the candidates
    std::vector<std::size_t> found;    // candidates in the slice of each piece
    float threshold = 0;               // set by one thread
  };
  std::vector<Vector> vectors;
  std::vector<float> all_seeds;
  std::vector<Thread> threads;

  /// For `num_vectors` (1..kMostScreenVectors) at once. Nothing is allocated for an empty head.
  /// Error: kOutOfMemory.
  [[nodiscard]] static Result<ScreenScratch> Create(const ScreenedHead& head,
                                                    std::size_t num_vectors, int num_threads);
};

/// Finds the candidates of some rows among the rows of the head; x: (rows.size(), cols), the final
/// norm's output. Each row's candidates go where its segment says, written by one thread, by
/// ascending id; none where the logits would not have been finite. Collective; ends with a barrier.
void FindCandidates(const Context& context, std::span<const HeadRow> rows, const float* x);

}  // namespace bittern::model
