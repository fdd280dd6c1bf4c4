// SPDX-License-Identifier: Apache-2.0
// What every step of a forward pass can see. Steps run on all threads of a team at once (SPMD):
// each takes its share. A step that reads what others wrote begins with a barrier (ForTokens); who
// multiplies a matrix needs none, since ForTokens has quantised its input.
#pragma once

#include "base/thread_pool.hpp"
#include "kernels/kernel.h"
#include "model/forward_state.hpp"
#include "model/weights.hpp"

namespace bittern::model {

struct Context {
  const ModelConfig& config;
  const Weights& weights;
  KvCache& cache;
  ForwardState::Impl& state;
  std::size_t num_tokens;  ///< of this batch
  int first_position;      ///< of its first token
  Team& team;

  [[nodiscard]] const kernels::FloatOps& floats() const noexcept {
    return weights.kernels.float32();
  }
  /// Activations are plain rows; see kFewTokens.
  [[nodiscard]] bool few() const noexcept { return num_tokens <= kFewTokens; }
  [[nodiscard]] ThreadScratch& scratch() const noexcept {
    return state.threads[static_cast<std::size_t>(team.index())];
  }
};

}  // namespace bittern::model
