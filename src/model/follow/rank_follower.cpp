// SPDX-License-Identifier: Apache-2.0
// A sequence of rank 0 stands here for one pass only: its pages and its length are told anew each
// time. Pages of a pool here are all in use, since rank 0 alone counts them.
#include "model/follow/rank_follower.hpp"

#include <algorithm>
#include <deque>
#include <vector>

#include "model/trace.hpp"

namespace bittern::model {
namespace {

/// Takes part in what a tracer on rank 0 wants to see.
class NoTracer : public Tracer {
 public:
  void OnValues(const TracePlace&, std::span<const std::byte>) noexcept override {}
};

/// A segment with the memory that rank 0's caller has on its side.
struct OwnedSegment {
  OwnedSegment(KvPool* pool, PackedReader* in, std::size_t hidden_size)
      : pages(in->List<std::uint32_t>()),
        sequence(pool, pages, in->Value<int>()),
        state(in->Value<std::uint64_t>()),
        tokens(in->List<std::int32_t>()) {
    segment.rows = in->Value<std::size_t>();
    if (in->Value<bool>()) segment.request = in->Value<CandidateRequest>();
    allowed = in->List<std::uint64_t>();
    ids = in->List<std::int32_t>();
    if (in->Value<bool>()) hidden.resize(segment.rows * hidden_size);
    segment.tag = in->Value<int>();
    candidates.resize(segment.rows);
    segment.sequence = &sequence;
    segment.tokens = tokens;
    segment.candidates = candidates;
    segment.allowed = allowed;
    segment.ids = ids;
    segment.hidden = hidden;
  }
  OwnedSegment(const OwnedSegment&) = delete;
  OwnedSegment& operator=(const OwnedSegment&) = delete;

  std::vector<std::uint32_t> pages;  // the members in the order in which they are told
  KvSequence sequence;
  std::uint64_t state;
  std::vector<std::int32_t> tokens, ids;
  std::vector<std::uint64_t> allowed;
  std::vector<float> hidden;
  std::vector<CandidateLogits> candidates;
  Segment segment;
};

}  // namespace

/// The first pass with a pool makes it here, of the same number of pages.
Result<RankFollower::Followed*> RankFollower::PoolOf(std::uint64_t id, int num_pages, KvType type) {
  auto at = pools_.find(id);
  if (at == pools_.end()) {
    auto pool = BITTERN_TRY(KvPool::Create(model_.config(), num_pages, type));
    at = pools_.emplace(id, Followed{std::move(pool)}).first;
    for (int page = 0; page < num_pages; ++page) static_cast<void>(at->second.pool.Take());
  }
  return &at->second;
}

/// PageLog::StateChange: to 0 is an end, from 0 is a beginning, both numbers are a copy.
Result<void> RankFollower::ChangeStates(std::span<const PageLog::StateChange> changes,
                                        Followed* followed) {
  auto& states = followed->states;
  for (const PageLog::StateChange& change : changes) {
    if (change.to == 0) {
      states.erase(change.from);
    } else if (change.from != 0) {
      states.at(change.to)->Assign(*states.at(change.from));
    } else {
      auto state = RecurrentState::Create(followed->pool.state_size(), nullptr);
      if (state == nullptr) return Fail(ErrorCode::kOutOfMemory, "the state of a sequence");
      states[change.to] = std::move(state);
    }
  }
  return {};
}

/// Memory of a pass grows with the largest pass so far and never shrinks; the team is as large as
/// rank 0's.
Result<void> RankFollower::GrowState(const PassFacts& facts) {
  PassFacts& sizes = sizes_;
  if (!threads_ || threads_->size() != facts.num_threads) {
    state_.reset();
    threads_.reset();
    threads_ = BITTERN_TRY(ThreadPool::Create(facts.num_threads));
  }
  if (state_ && facts.max_tokens <= sizes.max_tokens &&
      facts.max_positions <= sizes.max_positions && facts.screen_vectors == sizes.screen_vectors) {
    return {};
  }
  sizes = {.max_tokens = std::max(sizes.max_tokens, facts.max_tokens),
           .max_positions = std::max(sizes.max_positions, facts.max_positions),
           .screen_vectors = facts.screen_vectors,
           .num_threads = facts.num_threads,
           .traced = false,
           .watched = false};
  state_.reset();
  state_ = BITTERN_TRY(ForwardState::Create(model_, sizes.max_tokens, sizes.max_positions,
                                            facts.num_threads, sizes.screen_vectors));
  return {};
}

/// Reads as RankLeader::Begin has written, does what happened to pages and states, and makes the
/// pass. Its result is not used: rank 0 collects logits and failures within the pass.
Result<void> RankFollower::Run(PackedReader pass) {
  for (const std::uint64_t id : pass.List<std::uint64_t>()) pools_.erase(id);
  const auto id = pass.Value<std::uint64_t>();
  const int num_pages = pass.Value<int>();
  Followed* followed = BITTERN_TRY(PoolOf(id, num_pages, pass.Value<KvType>()));
  KvPool* pool = &followed->pool;
  for (const PageLog::Copy& copy : pass.List<PageLog::Copy>()) {
    pool->Copy(copy.from, copy.to, copy.positions);
  }
  pool->log()->copies.clear();
  BITTERN_TRY(ChangeStates(pass.List<PageLog::StateChange>(), followed));
  const auto facts = pass.Value<PassFacts>();
  BITTERN_TRY(GrowState(facts));
  std::deque<OwnedSegment> owned;
  std::vector<Segment> segments;
  const auto count = pass.Value<std::size_t>();
  for (std::size_t i = 0; i < count; ++i) {
    owned.emplace_back(pool, &pass, static_cast<std::size_t>(model_.config().hidden_size));
    if (pool->state_size() != 0) {
      owned.back().sequence.UseState(followed->states.at(owned.back().state));
    }
    segments.push_back(owned.back().segment);
  }
  NoTracer tracer;
  const PassWatcher watcher = [](int) { return true; };  // rank 0's word counts
  state_->SetTracer(facts.traced ? &tracer : nullptr);
  state_->SetWatcher(facts.watched ? &watcher : nullptr);
  static_cast<void>(Forward(model_, segments, *state_, *threads_));
  return {};
}

}  // namespace bittern::model
