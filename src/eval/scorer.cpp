// SPDX-License-Identifier: Apache-2.0
// A group runs as one lane of tokens that all its items begin with, then as one lane for what is
// left of each item, which starts as a fork of the first. The logits of a position score the next
// token of every item that the lane belongs to. One thread plans; passes and scores use the team.
#include "eval/scorer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <optional>

#include "runtime/machine.hpp"

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

/// A sequence on its way.
struct Lane {
  std::size_t group;
  int item;  // kWholeGroup: the common beginning
  std::span<const TokenId> inputs;
  std::size_t first_row;  // positions from here on want their logits
  model::KvSequence cache;

  [[nodiscard]] std::size_t done() const { return static_cast<std::size_t>(cache.length()); }
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

class Scoring {
 public:
  Scoring(runtime::Machine& machine, std::span<const ScoreGroup> groups,
          const ScoreOptions& options)
      : machine_(machine), groups_(groups), options_(options), open_(groups.size()) {
    const std::size_t most = kLogitBytes / sizeof(float) / machine.vocab_size();
    max_rows_ = std::clamp<std::size_t>(most, 8, static_cast<std::size_t>(options.batch_size));
    logits_.resize(max_rows_ * machine.vocab_size());
  }

  Result<ScoreStats> Run(
      const std::function<Result<void>(std::size_t, const GroupScores&)>& on_group);

 private:
  struct Part {
    Lane* lane;
    std::size_t first, count, rows;  // positions of the lane; the last `rows` want logits
    std::size_t logits_row;
  };
  void Admit();
  void AddTargets(const Part& part);
  void PlanParts();
  Result<void> RunPass();
  void ScoreRows();
  void EndLanes();
  void Fork(Lane* common);

  runtime::Machine& machine_;
  std::span<const ScoreGroup> groups_;
  const ScoreOptions& options_;
  std::deque<Open> open_;
  std::deque<Lane> lanes_;  // in the order in which they run
  std::size_t next_group_ = 0, next_report_ = 0;
  int pages_taken_ = 0;
  std::size_t max_rows_;
  std::vector<float> logits_;
  std::vector<Part> parts_;
  std::vector<Target> targets_;
  ScoreStats stats_;
};

/// Starts groups while there are pages for all that they may need.
void Scoring::Admit() {
  while (next_group_ < groups_.size()) {
    const ScoreGroup& group = groups_[next_group_];
    const std::size_t common = CommonInputs(group, options_.share);
    const int pages = PagesOf(group, common);
    if (pages_taken_ + pages > machine_.pages().num_pages()) return;
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
    lanes_.push_back({next_group_, kWholeGroup, std::span(group[0].tokens).first(common), first_row,
                      model::KvSequence(&machine_.pages())});
    ++next_group_;
  }
}

/// The tokens that the rows of a part score.
void Scoring::AddTargets(const Part& part) {
  const Lane& lane = *part.lane;
  const ScoreGroup& group = groups_[lane.group];
  for (std::size_t k = 0; k < part.rows; ++k) {
    const std::size_t scored = part.first + part.count - part.rows + k + 1;
    for (std::size_t i = 0; i < group.size(); ++i) {
      if (lane.item != kWholeGroup && static_cast<std::size_t>(lane.item) != i) continue;
      const ScoreItem& item = group[i];
      if (scored < item.first_scored || scored >= item.tokens.size()) continue;
      targets_.push_back({part.logits_row + k, item.tokens[scored],
                          &open_[lane.group].scores[i][scored - item.first_scored], lane.group, i,
                          scored - item.first_scored});
    }
  }
}

/// Fills a pass, the oldest lanes first.
void Scoring::PlanParts() {
  parts_.clear();
  targets_.clear();
  std::size_t tokens_left = static_cast<std::size_t>(options_.batch_size), rows = 0;
  for (Lane& lane : lanes_) {
    std::size_t count = std::min(lane.inputs.size() - lane.done(), tokens_left);
    const std::size_t plain = lane.first_row - std::min(lane.first_row, lane.done());
    count = std::min(count, plain + (max_rows_ - rows));
    if (count == 0) continue;
    const Part part{&lane, lane.done(), count, count - std::min(count, plain), rows};
    AddTargets(part);
    parts_.push_back(part);
    rows += part.rows;
    tokens_left -= count;
  }
}

Result<void> Scoring::RunPass() {
  std::vector<model::Segment> segments;
  const std::size_t width = machine_.vocab_size();
  for (const Part& part : parts_) {
    if (!part.lane->cache.Reserve(static_cast<int>(part.count))) {
      return Fail(ErrorCode::kInternal, "the pages of a scored text are gone");
    }
    segments.push_back(
        {.sequence = &part.lane->cache,
         .tokens = part.lane->inputs.subspan(part.first, part.count),
         .rows = part.rows,
         .logits = std::span(logits_).subspan(part.logits_row * width, part.rows * width)});
    stats_.tokens_run += part.count;
  }
  ++stats_.passes;
  BITTERN_TRY(machine_.Run(segments));
  auto failures = machine_.state().failures();
  for (const Part& part : parts_) {
    for (std::size_t i = 0; i < part.count; ++i) {
      if (!failures[i]) continue;
      return tl::unexpected(model::NotFiniteError(*failures[i], static_cast<int>(part.first + i)));
    }
    failures = failures.subspan(part.count);
  }
  return {};
}

void Scoring::ScoreRows() {
  const std::size_t width = machine_.vocab_size();
  machine_.threads().Run([&](Team& team) {
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
  const std::size_t shared = common->inputs.size();
  for (std::size_t i = 0; i < group.size(); ++i) {
    const ScoreItem& item = group[i];
    if (InputsOf(item) == shared) continue;
    if (i != 0) stats_.tokens_shared += shared;
    ++open_[common->group].lanes;
    lanes_.push_back({common->group, static_cast<int>(i),
                      std::span(item.tokens).first(InputsOf(item)), item.first_scored - 1,
                      common->cache.Fork(static_cast<int>(shared))});
  }
}

void Scoring::EndLanes() {
  for (std::size_t i = 0; i < lanes_.size();) {
    if (lanes_[i].done() < lanes_[i].inputs.size()) {
      ++i;
      continue;
    }
    Lane lane = std::move(lanes_[i]);
    lanes_.erase(lanes_.begin() + static_cast<std::ptrdiff_t>(i));
    if (lane.item == kWholeGroup) Fork(&lane);
    if (--open_[lane.group].lanes == 0) pages_taken_ -= open_[lane.group].pages;
  }
}

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

Result<void> CheckItem(const ScoreItem& item, const model::ModelConfig& config) {
  if (item.first_scored < 1 || item.first_scored >= item.tokens.size()) {
    return Fail(ErrorCode::kInvalidArgument, "a text without a token to score");
  }
  for (const TokenId id : item.tokens) {
    if (id >= 0 && id < config.vocab_size) continue;
    return Fail(
        ErrorCode::kInvalidArgument,
        fmt::format("token id {} is outside the vocabulary (0..{})", id, config.vocab_size - 1));
  }
  if (InputsOf(item) > static_cast<std::size_t>(config.context_length)) {
    return Fail(ErrorCode::kContextFull,
                fmt::format("a text of {} tokens is too long for the model's context of {}",
                            item.tokens.size(), config.context_length));
  }
  return {};
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
  const auto machine =
      BITTERN_TRY(runtime::Machine::Create(model, {.max_tokens = options.batch_size,
                                                   .max_positions = static_cast<int>(longest),
                                                   .num_pages = pages,
                                                   .num_threads = options.num_threads,
                                                   .kv_type = options.kv_type}));
  return Scoring(*machine, groups, options).Run(on_group);
}

}  // namespace bittern::eval
