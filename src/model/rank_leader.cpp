// SPDX-License-Identifier: Apache-2.0
#include "model/rank_leader.hpp"

#include <algorithm>

#include "model/ranks/packed.hpp"
#include "model/ranks/recurrent_state.hpp"

namespace bittern::model {
namespace {

/// Everything about a segment that changes numbers. Page numbers, not pages: each rank has the keys
/// and values of its own heads under the same numbers.
void PackSegment(const Segment& segment, PackedWriter* out) {
  out->List(segment.sequence->pages());
  out->Value(segment.sequence->length());
  out->Value(segment.sequence->state_id());
  out->List(segment.tokens);
  out->Value(segment.rows);
  out->Value(segment.request.has_value());
  if (segment.request) out->Value(*segment.request);
  out->List(segment.allowed);
  out->List(segment.ids);
  out->Value(!segment.hidden.empty());
  out->Value(segment.tag);
}

}  // namespace

/// Followers free their part of the model. If a rank is lost, no message is sent: it would wait.
RankLeader::~RankLeader() {
  if (ranks_.lost()) return;
  PackedWriter out;
  out.Value(RankCommand::kDrop);
  out.Value(model_);
  const std::scoped_lock lock(ranks_.turn());
  static_cast<void>(BytesOfFirst(ranks_, out.bytes()));
}

/// A pool's log ends with it, which is how its end is noticed here without a call from the pool.
std::vector<std::uint64_t> RankLeader::TakeDropped() {
  std::vector<std::uint64_t> dropped;
  std::erase_if(pools_, [&](const KnownPool& pool) {
    if (!pool.log.expired()) return false;
    dropped.push_back(pool.id);
    return true;
  });
  return dropped;
}

/// The order of Value and List here is the order in which RankFollower::Run reads. Changes of pages
/// and states since the last pass travel with the next one, before its segments, so that followers
/// make them in the order in which rank 0 did. The lock is held until the pass has ended: two
/// models take turns.
std::unique_lock<std::mutex> RankLeader::Begin(std::span<const Segment> segments,
                                               const PassFacts& facts) {
  std::unique_lock lock(ranks_.turn());
  if (ranks_.lost()) {
    constexpr int kExitModel = 2;
    ranks_.EndAll("another model could not be loaded, for which other ranks wait", kExitModel);
  }
  KvPool& pool = segments.front().sequence->pool();
  PageLog& log = *pool.log();
  PackedWriter out;
  out.Value(RankCommand::kPass);
  out.Value(model_);
  out.List(std::span<const std::uint64_t>(TakeDropped()));
  out.Value(log.id);
  out.Value(pool.num_pages());
  out.Value(pool.type());
  out.List(std::span<const PageLog::Copy>(log.copies));
  out.List(std::span<const PageLog::StateChange>(log.states));
  out.Value(facts);
  out.Value(segments.size());
  for (const Segment& segment : segments) PackSegment(segment, &out);
  log.copies.clear();
  log.states.clear();
  if (std::ranges::find(pools_, log.id, &KnownPool::id) == pools_.end()) {
    pools_.push_back({log.id, pool.log()});
  }
  static_cast<void>(BytesOfFirst(ranks_, out.bytes(), RankStep::kTold));
  return lock;
}

}  // namespace bittern::model
