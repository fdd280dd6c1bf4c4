// SPDX-License-Identifier: Apache-2.0
// A group runs as one lane of tokens that all its items begin with, then as one lane for what is
// left of each item, which starts as a fork of the first. The logits of a position score the next
// token of every item that the lane belongs to. One thread plans; passes and scores use the team.
#include "eval/scorer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <optional>

#include "runtime/prompt_check.hpp"
#include "runtime/sequence.hpp"

namespace bittern::eval {
namespace {

constexpr std::size_t kLogitBytes = std::size_t{64} << 20;  // of one pass
constexpr int kWholeGroup = -1;

/// Tokens of an item that run: the last one is only scored.
std::size_t InputsOf(const ScoreItem& item) { return item.tokens.size() - 1; }

/// Inputs that all items of a group begin with.
std::size_t CommonInputs(const ScoreGroup& group, bool share) {
  if (!share && group.size() > 1) return 0;
  std::size_t common = InputsOf(group[0]);
  for (const ScoreItem& item : group) {
    common = std::min(common, InputsOf(item));
    for (std::size_t i = 0; i < common; ++i) {
      if (item.tokens[i] != group[0].tokens[i]) common = i;
    }
  }
  return common;
}

int Pages(std::size_t positions) { return model::PagesFor(static_cast<int>(positions)); }

/// Pages that a group holds at most: its common beginning, and those of each item's own.
int PagesOf(const ScoreGroup& group, std::size_t common) {
  int pages = Pages(common);
  for (const ScoreItem& item : group) {
    const int shared = static_cast<int>(common) / model::kPagePositions;
    if (InputsOf(item) > common) pages += Pages(InputsOf(item)) - shared;
  }
  return pages;
}

/// A sequence on its way. Logits are wanted from the first position that scores a token.
struct Lane {
  std::size_t group;
  int item;  // kWholeGroup: the common beginning
  runtime::Sequence sequence;
};

/// A group on its way.
struct Open {
  int pages = 0;
  std::size_t lanes = 0;  // that have not ended
  GroupScores scores;
};

/// A row of logits and the token that it scores.
struct Target {
  std::size_t row;
  TokenId token;
  TokenScore* score;
  std::size_t group, item, scored;
};

/// All groups of one call. `lanes_` and `open_` are touched by the planning thread only; threads of
/// the team write scores, each target its own.
class Scoring {
 public:
  Scoring(runtime::ExecutionResources& resources, std::span<const ScoreGroup> groups,
          const ScoreOptions& options)
      : resources_(resources), groups_(groups), options_(options), open_(groups.size()) {
    const std::size_t most = kLogitBytes / sizeof(float) / resources.vocab_size();
    max_rows_ = std::clamp<std::size_t>(most, 8, static_cast<std::size_t>(options.batch_size));
    logits_.resize(max_rows_ * resources.vocab_size());
  }

  Result<ScoreStats> Run(
      const std::function<Result<void>(std::size_t, const GroupScores&)>& on_group);

 private:
  void Admit();
  void AddTargets(const Lane& lane, const runtime::Part& part, std::size_t logits_row);
  void PlanParts();
  Result<void> RunPass();
  void ScoreRows();
  void EndLanes();
  void Fork(Lane* common);

  runtime::ExecutionResources& resources_;
  std::span<const ScoreGroup> groups_;
  const ScoreOptions& options_;
  std::deque<Open> open_;
  std::deque<Lane> lanes_;  // in the order in which they run
  std::size_t next_group_ = 0, next_report_ = 0;
  int pages_taken_ = 0;
  std::size_t max_rows_;
  std::vector<float> logits_;
  std::vector<runtime::Part> parts_;
  std::vector<Target> targets_;
  ScoreStats stats_;
};

/// Starts groups while there are pages for all that they may need.
void Scoring::Admit() {
  while (next_group_ < groups_.size()) {
    const ScoreGroup& group = groups_[next_group_];
    const std::size_t common = CommonInputs(group, options_.share);
    const int pages = PagesOf(group, common);
    if (pages_taken_ + pages > resources_.pages().num_pages()) return;
    if (lanes_.size() >= static_cast<std::size_t>(options_.batch_size)) return;
    pages_taken_ += pages;
    Open& open = open_[next_group_];
    open.pages = pages;
    open.lanes = 1;
    std::size_t first_row = common;
    for (const ScoreItem& item : group) {
      open.scores.emplace_back(item.tokens.size() - item.first_scored);
      first_row = std::min(first_row, item.first_scored - 1);
    }
    lanes_.push_back(
        {next_group_, kWholeGroup,
         runtime::Sequence(&resources_.pages(), resources_.model().model.config().context_length)});
    lanes_.back().sequence.Append(std::span(group[0].tokens).first(common));
    lanes_.back().sequence.WantFrom(static_cast<int>(first_row));
    ++next_group_;
  }
}

/// The tokens that the rows of a part score.
void Scoring::AddTargets(const Lane& lane, const runtime::Part& part, std::size_t logits_row) {
  const ScoreGroup& group = groups_[lane.group];
  const auto first = static_cast<std::size_t>(lane.sequence.length());
  for (std::size_t k = 0; k < part.rows; ++k) {
    const std::size_t scored = first + part.tokens.size() - part.rows + k + 1;
    for (std::size_t i = 0; i < group.size(); ++i) {
      if (lane.item != kWholeGroup && static_cast<std::size_t>(lane.item) != i) continue;
      const ScoreItem& item = group[i];
      if (scored < item.first_scored || scored >= item.tokens.size()) continue;
      targets_.push_back({logits_row + k, item.tokens[scored],
                          &open_[lane.group].scores[i][scored - item.first_scored], lane.group, i,
                          scored - item.first_scored});
    }
  }
}

/// Fills a pass, the oldest lanes first.
void Scoring::PlanParts() {
  parts_.clear();
  targets_.clear();
  const std::size_t width = resources_.vocab_size();
  std::size_t tokens_left = static_cast<std::size_t>(options_.batch_size), rows = 0;
  for (Lane& lane : lanes_) {
    if (lane.sequence.left_to_read() == 0 || tokens_left == 0) continue;
    runtime::Part part =
        lane.sequence.Plan({.tokens = tokens_left, .rows = max_rows_ - rows, .may_draft = false});
    if (part.tokens.empty()) continue;
    AddTargets(lane, part, rows);
    part.logits = std::span(logits_).subspan(rows * width, part.rows * width);
    rows += part.rows;
    tokens_left -= part.tokens.size();
    stats_.tokens_run += part.tokens.size();
    parts_.push_back(std::move(part));
  }
}

/// Pages are reserved first. Admit has counted them, so a lack of pages is a fault of this program.
Result<void> Scoring::RunPass() {
  for (const runtime::Part& part : parts_) {
    if (!part.sequence->pages().Reserve(static_cast<int>(part.tokens.size()))) {
      return Fail(ErrorCode::kInternal, "the pages of a scored text are gone");
    }
  }
  ++stats_.passes;
  std::vector<std::optional<Error>> errors;
  BITTERN_TRY(runtime::RunParts(&resources_, parts_, nullptr, &errors));
  for (auto& error : errors) {
    if (error) return tl::unexpected(*std::move(error));
  }
  return {};
}

/// Targets of one row lie side by side, so a thread sums a row up once for all its tokens. The
/// score is -ln p in nats; rounding must not make it negative.
void Scoring::ScoreRows() {
  const std::size_t width = resources_.vocab_size();
  resources_.threads().Run([&](Team& team) {
    const Range mine = team.Share(targets_.size());
    std::optional<std::size_t> row;
    double sum = 0;
    std::size_t best = 0;
    for (std::size_t i = mine.begin; i < mine.end; ++i) {
      const Target& target = targets_[i];
      const auto logits = std::span<const float>(logits_).subspan(target.row * width, width);
      if (row != target.row) {
        sum = LogSumExp(logits);
        best = static_cast<std::size_t>(std::ranges::max_element(logits) - logits.begin());
        row = target.row;
      }
      const auto token = static_cast<std::size_t>(target.token);
      *target.score = {std::max(0.0, sum - logits[token]), token == best};
      if (options_.on_row) {
        options_.on_row({target.group, target.item, target.scored, target.token, logits});
      }
    }
  });
}

/// Starts what is left of each item behind the common beginning.
void Scoring::Fork(Lane* common) {
  const ScoreGroup& group = groups_[common->group];
  const int shared = common->sequence.length();
  for (std::size_t i = 0; i < group.size(); ++i) {
    const auto own = std::span(group[i].tokens)
                         .first(InputsOf(group[i]))
                         .subspan(static_cast<std::size_t>(shared));
    if (own.empty()) continue;
    if (i != 0) stats_.tokens_shared += static_cast<std::size_t>(shared);
    ++open_[common->group].lanes;
    lanes_.push_back({common->group, static_cast<int>(i), common->sequence.Fork(shared)});
    lanes_.back().sequence.Append(own);
    lanes_.back().sequence.WantFrom(static_cast<int>(group[i].first_scored) - 1);
  }
}

/// Takes lanes out that have read everything. The lane of a common beginning starts those of the
/// items before it lets the group go.
void Scoring::EndLanes() {
  for (std::size_t i = 0; i < lanes_.size();) {
    if (lanes_[i].sequence.left_to_read() > 0) {
      ++i;
      continue;
    }
    Lane lane = std::move(lanes_[i]);
    lanes_.erase(lanes_.begin() + static_cast<std::ptrdiff_t>(i));
    if (lane.item == kWholeGroup) Fork(&lane);
    if (--open_[lane.group].lanes == 0) pages_taken_ -= open_[lane.group].pages;
  }
}

/// Groups are reported in their order, also where a later one ends first.
Result<ScoreStats> Scoring::Run(
    const std::function<Result<void>(std::size_t, const GroupScores&)>& on_group) {
  Admit();
  while (!lanes_.empty()) {
    if (options_.cancel != nullptr && options_.cancel->load(std::memory_order_relaxed)) {
      return Fail(ErrorCode::kCancelled, "cancelled");
    }
    PlanParts();
    if (!parts_.empty()) {
      BITTERN_TRY(RunPass());
      ScoreRows();
    }
    EndLanes();
    for (; next_report_ < next_group_ && open_[next_report_].lanes == 0; ++next_report_) {
      BITTERN_TRY(on_group(next_report_, open_[next_report_].scores));
      open_[next_report_].scores = {};
    }
    Admit();
  }
  return stats_;
}

/// An item needs a token before the first scored one, since that one's logits score it.
Result<void> CheckItem(const ScoreItem& item, const model::ModelConfig& config) {
  if (item.first_scored < 1 || item.first_scored >= item.tokens.size()) {
    return Fail(ErrorCode::kInvalidArgument, "a text without a token to score");
  }
  BITTERN_TRY(runtime::CheckIds(item.tokens, config.vocab_size));
  return runtime::CheckPrompt(std::span(item.tokens).first(InputsOf(item)), config.vocab_size,
                              config.context_length);
}

/// Pages for as many groups as the memory allows, one at least, and no more than there are.
Result<int> NumPages(const model::ModelConfig& config, std::span<const ScoreGroup> groups,
                     const ScoreOptions& options) {
  const auto pool = BITTERN_TRY(model::KvPool::Create(config, 1, options.kv_type));
  const auto budget = (static_cast<std::size_t>(options.cache_mib) << 20) / pool.page_bytes();
  std::size_t largest = 1, all = 0;
  for (const ScoreGroup& group : groups) {
    const int pages = PagesOf(group, CommonInputs(group, options.share));
    largest = std::max(largest, static_cast<std::size_t>(pages));
    all += static_cast<std::size_t>(pages);
  }
  const std::size_t wanted = std::max(largest, std::min(all, budget));
  return static_cast<int>(std::min<std::size_t>(wanted, 1 << 24));
}

}  // namespace

Result<ScoreStats> Score(
    const std::shared_ptr<const runtime::LoadedModel>& model, std::span<const ScoreGroup> groups,
    const ScoreOptions& options,
    const std::function<Result<void>(std::size_t group, const GroupScores&)>& on_group) {
  if (groups.empty()) return ScoreStats{};
  const model::ModelConfig& config = model->model.config();
  std::size_t longest = 1;
  for (const ScoreGroup& group : groups) {
    if (group.empty()) return Fail(ErrorCode::kInvalidArgument, "a group without texts");
    for (const ScoreItem& item : group) {
      BITTERN_TRY(CheckItem(item, config));
      longest = std::max(longest, InputsOf(item));
    }
  }
  const int pages = BITTERN_TRY(NumPages(config, groups, options));
  const auto resources = BITTERN_TRY(
      runtime::ExecutionResources::Create(model, {.max_tokens = options.batch_size,
                                                  .max_positions = static_cast<int>(longest),
                                                  .num_pages = pages,
                                                  .num_threads = options.num_threads,
                                                  .kv_type = options.kv_type}));
  return Scoring(*resources, groups, options).Run(on_group);
}

}  // namespace bittern::eval
