// SPDX-License-Identifier: Apache-2.0
// FairPolicy: numbers in, a plan out; no pages, no threads, no clock, so it is tested by
// simulation. Every step: the generating sequences that give most tokens per second (in turn, where
// not all), then as much of the waiting prompts as a step's time allows, oldest first. Where pages
// are short the youngest sequences give theirs up; the oldest always proceeds, so none starves.
#include "runtime/engine/scheduler.hpp"

#include <algorithm>
#include <numeric>

#include "model/kv_pool.hpp"

namespace bittern::runtime {
namespace {

using model::PagesFor;

/// New pages for `tokens` more tokens, one for a copy of a shared last page included.
int PagesNeeded(const SequenceView& view, int tokens) {
  return std::max(0, PagesFor(view.length + tokens) - view.pages) + (view.copies_last ? 1 : 0);
}

/// Gives out pages, and takes them back from the youngest sequences.
class PageBudget {
 public:
  PageBudget(std::span<const SequenceView> sequences, int free_pages)
      : sequences_(sequences), free_(free_pages), gone_(sequences.size()), kept_(sequences.size()) {
    by_age_.resize(sequences.size());
    std::iota(by_age_.begin(), by_age_.end(), std::size_t{0});
    std::ranges::sort(by_age_, {}, [&](std::size_t i) { return sequences[i].arrival; });
  }

  /// Pages for `tokens` more tokens of a sequence, if need be from younger ones. False if that is
  /// not enough: then nothing is taken.
  bool Take(std::size_t index, int tokens) {
    if (gone_[index]) return false;
    const int needed = PagesNeeded(sequences_[index], tokens);
    while (free_ < needed && PreemptYoungerThan(index)) {
    }
    if (free_ < needed) return false;
    free_ -= needed;
    kept_[index] = true;
    return true;
  }
  /// Gives up the sequence's own pages.
  void GiveUp(std::size_t index) {
    gone_[index] = true;
    free_ += sequences_[index].pages;
    preempted_.push_back(index);
  }

  [[nodiscard]] int free() const noexcept { return free_; }
  [[nodiscard]] bool gone(std::size_t index) const { return gone_[index]; }
  [[nodiscard]] std::vector<std::size_t> preempted() && { return std::move(preempted_); }

 private:
  /// Takes the pages of the youngest sequence that is younger than this one and not in the plan.
  bool PreemptYoungerThan(std::size_t index) {
    for (std::size_t i = by_age_.size(); i-- > 0;) {
      const std::size_t youngest = by_age_[i];
      if (sequences_[youngest].arrival <= sequences_[index].arrival) return false;
      if (gone_[youngest] || kept_[youngest]) continue;
      GiveUp(youngest);
      return true;
    }
    return false;
  }

  std::span<const SequenceView> sequences_;
  int free_;
  std::vector<bool> gone_, kept_;  // preempted; in this step's plan
  std::vector<std::size_t> by_age_, preempted_;
};

}  // namespace

/// Admits anything while nothing runs: no sequence would give pages back later.
bool FairPolicy::Admits(int tokens, std::size_t running, const StepLimits& limits) const {
  if (running == 0) return true;
  if (running >= static_cast<std::size_t>(std::max(limits.max_sequences, 1))) return false;
  // Room for the tokens, and for every second running sequence to grow by a page.
  return PagesFor(tokens + 1) + static_cast<int>(running / 2) <= limits.free_pages;
}

/// The number of rows, 1..generating, that gives most tokens per second.
std::size_t FairPolicy::BestRows(std::size_t generating) const {
  std::size_t best = generating;
  double best_rate = static_cast<double>(generating) / cost_.Of(generating);
  const auto consider = [&](std::size_t rows) {
    // More sequences at once are worth a little: each waits less.
    constexpr double kWorth = 1.01;
    const double rate = static_cast<double>(rows) / cost_.Of(rows);
    if (rows >= generating || rate <= kWorth * best_rate) return;
    best = rows;
    best_rate = rate;
  };
  for (std::size_t rows = 1; rows < std::min<std::size_t>(generating, 8); ++rows) consider(rows);
  for (std::size_t rows = 8; rows < generating; rows += rows < 64 ? 8 : rows) consider(rows);
  return best;
}

/// Prompt tokens that a step takes beside `rows` generating sequences, for `reading` others.
int FairPolicy::PromptTokens(std::size_t rows, std::size_t reading, int max_tokens) const {
  constexpr int kLeast = 8;
  const int room = max_tokens - static_cast<int>(rows);
  if (rows == 0) return room;
  const double more = static_cast<double>(reading) / static_cast<double>(rows);
  const double most = kSlowdown * std::max(1.0, more) * cost_.Of(rows);
  int low = std::min(kLeast, room), high = room;
  while (low < high) {
    const int middle = low + (high - low + 1) / 2;
    if (cost_.Of(rows + static_cast<std::size_t>(middle)) <= most) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

/// The sequences that generate in this step, oldest first. They take turns in the order of their
/// arrival where not all of them run.
std::vector<std::size_t> FairPolicy::Generating(std::span<const SequenceView> sequences,
                                                int max_tokens) {
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    if (sequences[i].left_to_read == 0) all.push_back(i);
  }
  if (all.empty()) return all;
  const auto arrival = [&](std::size_t i) { return sequences[i].arrival; };
  std::ranges::sort(all, {}, arrival);
  const std::size_t rows =
      BestRows(std::min(all.size(), static_cast<std::size_t>(std::max(max_tokens, 1))));
  if (rows == all.size()) return all;
  const auto next = std::ranges::upper_bound(all, last_turn_, {}, arrival);
  std::rotate(all.begin(), next, all.end());
  all.resize(rows);
  last_turn_ = arrival(all.back());
  std::ranges::sort(all, {}, arrival);
  return all;
}

/// Generating sequences first, one row each, then prompts, oldest first. Sequences that are not in
/// `run` nor in `preempt` wait and keep their pages.
StepPlan FairPolicy::Next(std::span<const SequenceView> sequences, const StepLimits& limits) {
  StepPlan plan;
  std::vector<std::size_t> reading;
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    if (sequences[i].left_to_read != 0) reading.push_back(i);
  }
  PageBudget pages(sequences, limits.free_pages);
  for (const std::size_t i : Generating(sequences, limits.max_tokens)) {
    if (pages.gone(i)) continue;
    if (pages.Take(i, 1)) {
      plan.run.push_back({i, 1});
    } else {
      pages.GiveUp(i);  // the youngest of those that need a page
    }
  }
  int left = PromptTokens(plan.run.size(), reading.size(), limits.max_tokens);
  std::ranges::sort(reading, {}, [&](std::size_t i) { return sequences[i].arrival; });
  for (const std::size_t i : reading) {
    if (left <= 0) break;
    if (pages.gone(i)) continue;
    const int tokens = std::min(left, sequences[i].left_to_read);
    if (!pages.Take(i, tokens)) {
      if (plan.run.empty()) pages.GiveUp(i);  // cannot happen to the oldest
      continue;
    }
    plan.run.push_back({i, tokens});
    left -= tokens;
  }
  plan.preempt = std::move(pages).preempted();
  return plan;
}

}  // namespace bittern::runtime
