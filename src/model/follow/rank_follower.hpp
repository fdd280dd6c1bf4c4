// SPDX-License-Identifier: Apache-2.0
// The other ranks' side of passes (leader.hpp): the pages and the scratch memory that rank 0 has,
// made as they are first heard of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>

#include "base/threads/thread_pool.hpp"
#include "model/model.hpp"
#include "model/rank_leader.hpp"
#include "model/ranks/packed.hpp"

namespace bittern::model {

/// One model's, which outlives it. Runs passes with as many threads as rank 0 does.
class RankFollower {
 public:
  explicit RankFollower(const Model* model) : model_(*model) {}

  /// Runs a pass that rank 0 has told, from behind the model's number. Error kOutOfMemory.
  [[nodiscard]] Result<void> Run(PackedReader pass);

 private:
  [[nodiscard]] Result<KvPool*> PoolOf(std::uint64_t id, int num_pages, KvType type);
  [[nodiscard]] Result<void> GrowState(const PassFacts& facts);

  const Model& model_;
  std::optional<ThreadPool> threads_;
  std::map<std::uint64_t, KvPool> pools_;  // rank 0's number of each
  std::optional<ForwardState> state_;
  PassFacts sizes_{};
};

}  // namespace bittern::model
