// SPDX-License-Identifier: Apache-2.0
// The other ranks' side of passes (leader.hpp): the pages and the scratch memory that rank 0 has,
// made as they are first heard of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>

#include "base/threads/thread_pool.hpp"
#include "model/model.hpp"
#include "model/rank_leader.hpp"
#include "model/ranks/packed.hpp"
#include "model/ranks/recurrent_state.hpp"

namespace bittern::model {

/// One model's, which outlives it. Runs passes with as many threads as rank 0 does.
class RankFollower {
 public:
  explicit RankFollower(const Model* model) : model_(*model) {}

  /// Runs a pass that rank 0 has told, from behind the model's number. Error kOutOfMemory.
  [[nodiscard]] Result<void> Run(PackedReader pass);

 private:
  /// A pool of rank 0, and the recurrent states of its sequences by their numbers.
  struct Followed {
    KvPool pool;
    std::map<std::uint64_t, std::shared_ptr<RecurrentState>> states = {};
  };

  [[nodiscard]] Result<Followed*> PoolOf(std::uint64_t id, int num_pages, KvType type);
  /// Error kOutOfMemory.
  [[nodiscard]] static Result<void> ChangeStates(std::span<const PageLog::StateChange> changes,
                                                 Followed* followed);
  [[nodiscard]] Result<void> GrowState(const PassFacts& facts);

  const Model& model_;
  std::optional<ThreadPool> threads_;
  std::map<std::uint64_t, Followed> pools_;  // rank 0's number of each
  std::optional<ForwardState> state_;
  PassFacts sizes_{};
};

}  // namespace bittern::model
