// SPDX-License-Identifier: Apache-2.0
// Scores many texts with few passes: a pass takes tokens of as many texts as it has room for, and
// texts of one group share the positions of their common beginning. What a text scores depends on
// its tokens alone, to the bit.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "eval/log_sum_exp.hpp"
#include "runtime/loaded_model.hpp"

namespace bittern::eval {

using tokenizer::TokenId;

/// A text of at least two tokens, of which those from `first_scored` (1..size - 1) on are scored.
struct ScoreItem {
  std::vector<TokenId> tokens;
  std::size_t first_scored = 1;
};

/// Texts that are likely to begin alike, e.g. a question with each of its answers.
using ScoreGroup = std::vector<ScoreItem>;

/// The scores of each item of a group, one for each scored token.
using GroupScores = std::vector<std::vector<TokenScore>>;

/// The logits that score token `scored` (of those scored) of an item.
struct ScoredRow {
  std::size_t group, item, scored;
  TokenId token;
  std::span<const float> logits;
};

struct ScoreOptions {
  model::KvType kv_type = model::KvType::kF16;
  int batch_size = 512;                       ///< tokens of a pass at most
  int cache_mib = 1024;                       ///< for keys and values, unless one group needs more
  int num_threads = 0;                        ///< 0: DefaultThreadCount()
  bool share = true;                          ///< common beginnings run once
  const std::atomic<bool>* cancel = nullptr;  ///< looked at between passes
  /// Called for every row, by several threads at once; must not throw.
  std::function<void(const ScoredRow&)> on_row = {};
};

struct ScoreStats {
  std::size_t passes = 0;
  std::size_t tokens_run = 0;     ///< through the network
  std::size_t tokens_shared = 0;  ///< that did not need to run again
};

/// Scores the groups and calls `on_group` with each, in their order, on the calling thread; an
/// error that it returns ends the work. Errors: kInvalidArgument (an item without scored tokens, an
/// id outside the vocabulary), kContextFull (an item is longer than the model's context),
/// kCancelled, kOutOfMemory; those of running the model.
[[nodiscard]] Result<ScoreStats> Score(
    const std::shared_ptr<const runtime::LoadedModel>& model, std::span<const ScoreGroup> groups,
    const ScoreOptions& options,
    const std::function<Result<void>(std::size_t group, const GroupScores&)>& on_group);

}  // namespace bittern::eval
