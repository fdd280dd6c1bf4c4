// SPDX-License-Identifier: Apache-2.0
// Passes over one sequence at a time, as most tests of the forward pass want them. Never part of
// the library.
#pragma once

#include <span>
#include <vector>

#include "model/model.hpp"

namespace bittern::model {

/// A pool of pages with one sequence. Not movable.
struct OneSequence {
  OneSequence(const ModelConfig& config, int capacity, KvType type)
      : pool(KvPool::Create(config, PagesFor(capacity), type).value()), sequence(&pool) {}
  OneSequence(const OneSequence&) = delete;
  OneSequence& operator=(const OneSequence&) = delete;

  void Truncate(int length) { sequence.Truncate(length); }

  KvPool pool;
  KvSequence sequence;
};

enum class LogitsRows { kNone, kLast, kAll };

/// Runs tokens of the sequence; all logits of the rows asked for.
inline bool Forward(const Model& model, std::span<const std::int32_t> tokens, OneSequence& one,
                    ForwardState& state, ThreadPool& pool, LogitsRows rows,
                    std::span<float> logits) {
  if (!one.sequence.Reserve(static_cast<int>(tokens.size()))) return false;
  const std::size_t count = rows == LogitsRows::kNone   ? 0
                            : rows == LogitsRows::kLast ? 1
                                                        : tokens.size();
  const Segment segment{
      .sequence = &one.sequence, .tokens = tokens, .rows = count, .logits = logits};
  return Forward(model, {&segment, 1}, state, pool);
}

/// The same for the candidates of the last found.size() tokens.
inline bool ForwardCandidates(const Model& model, std::span<const std::int32_t> tokens,
                              OneSequence& one, ForwardState& state, ThreadPool& pool,
                              const CandidateRequest& request, std::span<CandidateLogits> found) {
  if (!one.sequence.Reserve(static_cast<int>(tokens.size()))) return false;
  const Segment segment{.sequence = &one.sequence,
                        .tokens = tokens,
                        .rows = found.size(),
                        .request = request,
                        .candidates = found};
  return Forward(model, {&segment, 1}, state, pool);
}

}  // namespace bittern::model
