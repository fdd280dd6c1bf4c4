// SPDX-License-Identifier: Apache-2.0
// Rank 0's side of a pass: what the other ranks must know of it. Pages have the same numbers on all
// ranks. Each rank keeps its own heads in them. So a sequence is told as its list of pages, and a
// copy of a page is told with the next pass.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "model/batch.hpp"
#include "model/ranks/ranks.hpp"

namespace bittern::model {

/// The sizes of the state that a pass runs with (ForwardState::Create). traced, watched: it has a
/// tracer, a watcher.
struct PassFacts {
  int max_tokens, max_positions;
  std::size_t screen_vectors;
  int num_threads;
  bool traced, watched;
};

/// One model's. Any thread.
class RankLeader {
 public:
  RankLeader(Ranks* ranks, std::uint64_t model) : ranks_(*ranks), model_(model) {}
  RankLeader(const RankLeader&) = delete;
  RankLeader& operator=(const RankLeader&) = delete;
  /// Tells the others to let the model go, unless they are lost (Ranks::MarkLost).
  ~RankLeader();

  /// Tells the others to run this pass; it runs until the lock is given back. Ends the processes of
  /// all where ranks are lost.
  [[nodiscard]] std::unique_lock<std::mutex> Begin(std::span<const Segment> segments,
                                                   const PassFacts& facts);

 private:
  /// Numbers of pools that are no more.
  std::vector<std::uint64_t> TakeDropped();

  Ranks& ranks_;
  std::uint64_t model_;
  /// The pools that passes have used; an entry ends with its pool.
  struct KnownPool {
    std::uint64_t id;
    std::weak_ptr<const PageLog> log;
  };
  std::vector<KnownPool> pools_;
};

}  // namespace bittern::model
