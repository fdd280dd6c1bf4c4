// SPDX-License-Identifier: Apache-2.0
// The search in the screened head (screened_head.hpp), and its scratch memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/memory/aligned_buffer.hpp"
#include "base/result.hpp"
#include "model/candidates.hpp"
#include "model/forward/rows.hpp"
#include "model/screen/screen_codes.hpp"
#include "model/screened_head.hpp"

namespace bittern::model {

struct Context;
struct HeadRow;

/// Scratch memory of a screen.
struct ScreenScratch {
  /// One of the vectors of a scan, as one thread sees it.
  struct Part {
    std::vector<float> ordered;  // (kMaxCandidateCount): estimates of its best tiles
    std::vector<float> seeds;    // (kMaxCandidateCount): exact logits, for the threshold
    std::size_t num_seeds = 0;
    AlignedBuffer<std::int8_t> high, low;  // (padded_cols): the vector, quantised
    CodesVector by_codes;                  // instead, where the head has codes
  };
  struct Thread {
    std::vector<Part> parts;                   // of each vector
    std::vector<std::uint32_t> live_tiles;     // (tiles of a piece, and 16): with a survivor
    AlignedBuffer<std::int8_t> together_acts;  // screen_together.hpp
    std::vector<std::int32_t> together_sums;
    CodesScratch by_codes;
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
  CopyTurn turn = CopyTurn::kReadHead;  // of the pass, set by one thread
  std::vector<Thread> threads;

  /// For `num_vectors` (1..kMostScreenVectors) at once. Nothing is allocated for an empty head.
  /// Error: kOutOfMemory.
  [[nodiscard]] static Result<ScreenScratch> Create(const ScreenedHead& head,
                                                    std::size_t num_vectors, int num_threads);
};

/// Finds the candidates of some rows among the rows of the head; x: (rows.size(), cols), the final
/// norm's output. Each row's candidates go where its segment says, written by one thread, by
/// ascending id; none where the logits would not have been finite. Collective; ends with a barrier.
void FindCandidates(const Context& context, std::span<const HeadRow> rows, FloatRows x);

}  // namespace bittern::model
