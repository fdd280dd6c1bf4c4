// SPDX-License-Identifier: Apache-2.0
// The output head by elimination (docs/design/0004-screened-head.md). Beside the head stands a
// copy of it: coarse, in bit planes, with the exact size of what each plane leaves out; or, where
// the head's weights are ternary, whole, as the kernels read them. A scan of the copy bounds every
// logit from both sides. Rows that cannot be among the best are dropped; the few others are
// computed from the head itself, as a full scan would. Same logits, same candidates, a third of the
// memory traffic. The copy may be made behind the first token, which reads the head instead.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "base/memory/aligned_buffer.hpp"
#include "base/result.hpp"
#include "base/threads/thread_pool.hpp"
#include "model/ternary_matrix.hpp"

namespace bittern::kernels {
struct Kernels;
}

namespace bittern::model {

struct DenseMatrix;

/// How far a copy is that is made behind the first token.
enum class CopyStage : std::uint8_t {
  kUntouched,   ///< no pass has wanted it
  kWanted,      ///< by a pass that read the head instead
  kInWork,      ///< a team makes it; other passes read the head
  kMade,        ///< from here on it is immutable
  kImpossible,  ///< a row of the head is not finite
};

/// A pass's part in that.
enum class CopyTurn : std::uint8_t { kReadHead, kMakeCopy, kUseCopy };

/// Immutable once it is made.
struct ScreenedHead {
  std::size_t rows = 0, cols = 0;
  std::size_t padded_cols = 0;                       ///< quant::ScreenCols(cols); with codes, 128s
  AlignedBuffer<std::uint8_t> nibbles, bits, pairs;  // quant/layouts/screen_planes.hpp
  AlignedBuffer<float> step, rest4, rest5, rest7;    // (rows padded to 16): kernels::ScreenRow
  /// In place of these: the head's own weights, grouped, with scales of binary16.
  TernaryMatrix codes;
  AlignedBuffer<float> norm;  // (rows padded to 16): kernels::ScreenRow
  float largest_norm = 0;
  std::unique_ptr<std::atomic<CopyStage>> stage;  ///< null: kMade, by Build or BuildWith

  [[nodiscard]] bool empty() const noexcept { return rows == 0; }
  [[nodiscard]] bool has_codes() const noexcept { return codes.num_tiles != 0; }
  [[nodiscard]] std::size_t bytes() const noexcept {
    const std::size_t planes = nibbles.size() + bits.size() + pairs.size();
    const std::size_t floats = 4 * step.size() + norm.size();
    return planes + codes.tiles.size() + codes.half_scales.size() * sizeof(std::uint16_t) +
           floats * sizeof(float);
  }

  /// Is told by each thread which rows of the head it will not read again; may be empty.
  using RowsDone = std::function<void(Range)>;
  RowsDone rows_done;  ///< for a copy that is made behind the first token

  /// Makes the coarse copy with all threads of the pool. An empty one where a row is not finite
  /// (then nothing can be bounded). Error: kOutOfMemory.
  [[nodiscard]] static Result<ScreenedHead> Build(const DenseMatrix& head,
                                                  const kernels::Kernels& kernels, ThreadPool& pool,
                                                  const RowsDone& done = {});
  /// A copy for Make, whose memory is not touched before. Error: kOutOfMemory.
  [[nodiscard]] static Result<ScreenedHead> Prepare(const DenseMatrix& head);
  /// The turn of a pass that wants the best logits of `vectors` tokens: the first one reads the
  /// head, if that is one token, and the next one makes the copy. Any thread, once a pass.
  [[nodiscard]] CopyTurn NextTurn(std::size_t vectors) noexcept;
  /// Whether the head's rows need not stay in memory: the copy will be made. Any thread.
  [[nodiscard]] bool WillBeMade() const noexcept {
    return rows_done && stage->load(std::memory_order_relaxed) != CopyStage::kImpossible;
  }
  /// For all threads of a team whose turn is kMakeCopy. Ends with a barrier; then `stage` is kMade
  /// or kImpossible.
  void Make(const DenseMatrix& head, const kernels::Kernels& kernels, Team& team);
  /// A copy of ternary weights: `codes` are those of `head`, in one part, kTile16. Else as Build.
  [[nodiscard]] static Result<ScreenedHead> BuildWith(TernaryMatrix codes, const DenseMatrix& head,
                                                      const kernels::Kernels& kernels,
                                                      ThreadPool& pool, const RowsDone& done = {});
};

}  // namespace bittern::model
