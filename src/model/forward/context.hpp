// SPDX-License-Identifier: Apache-2.0
// The things that every step of a forward pass can see.
//
// Threads. A pass runs the same code on all threads of a team (SPMD). Each step shares its work out
// by Team::Share or Team::Deal. The rules that keep this free of races:
//   1. A function named *OfTokens, ForTokens, Forward*, Run*, Project, Linear, Gemm, Attend,
//   GatedUp,
//      *Down*, AddFeedForward, Trace* or *Logits is collective: every thread of the team calls it,
//      with equal arguments.
//   2. A step that reads what other threads wrote starts with a barrier. ForTokens does, and ends
//      with one; a projection (Linear) needs none of its own, because its input was quantised
//      inside ForTokens.
//   3. Between two calls of Team::Deal lies at least one barrier.
//   4. A step without a barrier at its end says so; its output may be read after the next one.
#pragma once

#include "base/threads/thread_pool.hpp"
#include "model/batch.hpp"
#include "model/forward/forward_state.hpp"
#include "model/weights.hpp"

namespace bittern::kernels {
struct FloatOps;
}

namespace bittern::model {

struct Context {
  const ModelConfig& config;
  const Weights& weights;
  std::span<const Segment> segments;
  ForwardState::Impl& state;  ///< state.rows tells each row's segment and position
  std::size_t num_tokens;     ///< rows of this batch, of all segments
  Team& team;

  [[nodiscard]] const kernels::FloatOps& floats() const noexcept;
  [[nodiscard]] ThreadScratch& scratch() const noexcept {
    return state.threads[static_cast<std::size_t>(team.index())];
  }
  /// Quantised rows of the batch, in the memory that its steps share: the input of one projection,
  /// then of the next.
  [[nodiscard]] QuantizedRows Quantized(std::size_t cols) const noexcept {
    return {.memory = state.activations, .count = num_tokens, .cols = cols};
  }
  /// A layer's place in the network, from 0.
  [[nodiscard]] int IndexOf(const LayerWeights& layer) const noexcept {
    return static_cast<int>(&layer - weights.layers.data());
  }
  /// The segment of a row, and its position in that sequence.
  [[nodiscard]] const Segment& segment(std::size_t token) const noexcept {
    return segments[state.rows[token].segment];
  }
  [[nodiscard]] std::size_t position(std::size_t token) const noexcept {
    return state.rows[token].position;
  }
};

}  // namespace bittern::model
