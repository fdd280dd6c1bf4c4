// SPDX-License-Identifier: Apache-2.0
// Costs are kept in plain decode steps, not seconds: a step slows down as the context grows or a
// neighbour takes the memory bus, and a batch does so with it.
#include "runtime/speculation.hpp"

#include <algorithm>

namespace bittern::runtime {
namespace {

constexpr double kAllowance = 0.01;     // of the time spent may be lost to drafts in the end
constexpr double kFirstCredit = 1.0;    // plain steps that the first drafts may lose
constexpr double kLargestCredit = 8.0;  // so that gains long ago do not pay for a bad stretch
constexpr double kSmallRisk = 0.3;      // plain steps that a draft may risk without credit
constexpr double kMargin = 1.05;        // a draft is expected to gain this much at least
constexpr int kStepsToLearn = 2;        // before the cost of a plain step is believed

/// The assumed cost of a batch if none has been measured: a little less than most CPUs show, so
/// that it is tried once guesses come true, and then known.
double AssumedCost(std::size_t batch) { return 1.8 + 0.2 * static_cast<double>(batch); }

/// Match lengths fall into classes: 2, 3, 4, 5..7, 8..15, 16 and more.
std::size_t ClassOf(std::size_t match_length) {
  if (match_length >= 16) return 5;
  if (match_length >= 8) return 4;
  return std::min<std::size_t>(3, match_length - std::min<std::size_t>(match_length, 2));
}

/// One step of an exponential moving average.
void MoveTowards(double value, double share, double* average) {
  *average += share * (value - *average);
}

}  // namespace

/// Multiplies by 2^64 / golden ratio for each token; the shift brings high bits down.
std::size_t NgramIndex::Hash::operator()(const Ngram& ngram) const noexcept {
  std::uint64_t hash = 0;
  for (const TokenId id : ngram) {
    hash = (hash ^ static_cast<std::uint32_t>(id)) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 29;
  }
  return static_cast<std::size_t>(hash);
}

/// The last `length` tokens, the newest first, padded with -1: n-grams of all lengths share a map.
NgramIndex::Ngram NgramIndex::Last(std::size_t length) const {
  Ngram ngram;
  ngram.fill(-1);
  for (std::size_t i = 0; i < length; ++i) ngram[i] = tokens_[tokens_.size() - 1 - i];
  return ngram;
}

void NgramIndex::Append(TokenId id) {
  // The n-grams that end before `id` get their place now, when something follows them.
  const std::size_t longest = std::min(kLongest, tokens_.size());
  for (std::size_t n = kShortest; n <= longest; ++n) next_of_[Last(n)] = tokens_.size();
  tokens_.push_back(id);
}

NgramIndex::Match NgramIndex::Find() const {
  for (std::size_t n = std::min(kLongest, tokens_.size()); n >= kShortest; --n) {
    if (const auto found = next_of_.find(Last(n)); found != next_of_.end()) {
      return {n, found->second};
    }
  }
  return {};
}

DraftPolicy::DraftPolicy() : credit_(kFirstCredit), chance_{0.2, 0.35, 0.5, 0.65, 0.8, 0.9} {}

/// Learns the cost of a plain step and earns a little credit: kAllowance of a step.
void DraftPolicy::ObserveStep(double seconds) {
  if (steps_ < kStepsToLearn) {
    // The first step may pay for caches and pages; the cheapest of the first is the best guess.
    step_s_ = steps_ == 0 ? seconds : std::min(step_s_, seconds);
    ++steps_;
  } else {
    // A stop of the whole machine says nothing about a step.
    MoveTowards(std::min(seconds, 3 * step_s_), 0.125, &step_s_);
  }
  credit_ = std::min(credit_ + kAllowance, kLargestCredit);
  // A batch that once looked dear is tried again some day.
  for (std::size_t batch = 2; batch < cost_.size(); ++batch) {
    if (cost_[batch] > AssumedCost(batch))
      MoveTowards(AssumedCost(batch), 1.0 / 1024, &cost_[batch]);
  }
}

/// Learns the cost of this size of batch. The credit rises by the steps that its tokens have saved
/// and falls by what the batch has cost.
void DraftPolicy::ObserveBatch(std::size_t batch, double seconds, std::size_t tokens) {
  if (steps_ == 0 || !(step_s_ > 0)) return;
  const double expected = Cost(batch);
  // The very first batch pays for pages and caches too.
  const double cost = std::min(seconds / step_s_, (longest_ > 1 ? 3 : 2) * expected);
  const bool first = cost_[batch] == 0;
  if (first) cost_[batch] = expected;
  MoveTowards(cost, first ? 1.0 : 0.25, &cost_[batch]);
  longest_ = std::max(longest_, batch - 1);
  credit_ += static_cast<double>(tokens) * (1 + kAllowance) - cost;
  credit_ = std::min(credit_, kLargestCredit);
}

void DraftPolicy::ObserveGuess(std::size_t match_length, bool came_true) {
  MoveTowards(came_true ? 1 : 0, 1.0 / 16, &chance_[ClassOf(match_length)]);
}

double DraftPolicy::Chance(std::size_t match_length) const {
  return chance_[ClassOf(match_length)];
}

/// In plain steps; an estimate from the nearest size that was measured, if this one was not.
double DraftPolicy::Cost(std::size_t batch) const {
  if (batch < 2) return 1;
  // A batch that has not been seen: from the next smaller one, else the next larger one: a batch
  // has a fixed cost, worth a few tokens.
  constexpr double kFixed = 4;
  const auto from = [&](std::size_t seen) {
    return cost_[seen] * (static_cast<double>(batch) + kFixed) /
           (static_cast<double>(seen) + kFixed);
  };
  for (std::size_t seen = batch; seen >= 2; --seen) {
    if (cost_[seen] > 0) return from(seen);
  }
  for (std::size_t seen = batch + 1; seen < cost_.size(); ++seen) {
    if (cost_[seen] > 0) return from(seen);
  }
  return AssumedCost(batch);
}

/// The length with most expected tokens for its cost, if that is worth more than plain steps. It
/// grows step by step: at most twice the longest draft so far and one more.
std::size_t DraftPolicy::DraftLength(std::size_t match_length, std::size_t limit) const {
  if (match_length == 0 || steps_ < kStepsToLearn) return 0;
  std::size_t best = 0;
  double best_rate = kMargin, tokens = 1, all_true = 1;
  const double risk = longest_ > 1 ? std::max(credit_, kSmallRisk) : credit_;
  const std::size_t longest = std::min({limit, kMaxDraft, 2 * longest_ + 1});
  for (std::size_t length = 1; length <= longest; ++length) {
    all_true *= Chance(match_length + length - 1);
    tokens += all_true;
    const double cost = Cost(length + 1);
    // The mean loss because the first guess is wrong.
    if ((cost - 1) * (1 - Chance(match_length)) > risk) break;
    if (tokens > best_rate * cost) {
      best_rate = tokens / cost;
      best = length;
    }
  }
  return best;
}

Drafter::Drafter(Speculation mode, std::span<const TokenId> context, DraftPolicy* policy)
    : mode_(mode), policy_(policy) {
  if (mode_ == Speculation::kOff) return;
  for (const TokenId id : context) index_.Append(id);
  Match();
}

void Drafter::Match() {
  const NgramIndex::Match match = index_.Find();
  match_length_ = match.length;
  next_ = match.next;
}

void Drafter::Accept(TokenId id) {
  if (mode_ == Speculation::kOff) return;
  const bool came_true = match_length_ > 0 && index_.tokens()[next_] == id;
  if (match_length_ > 0) policy_->ObserveGuess(match_length_, came_true);
  index_.Append(id);
  if (came_true) {  // the longer the text follows an earlier place, the surer it goes on
    ++match_length_;
    ++next_;
  } else {
    Match();
  }
}

/// The tokens that followed the earlier place which agrees with the end of the text.
void Drafter::Draft(std::size_t limit, std::vector<TokenId>* draft) const {
  draft->clear();
  if (mode_ == Speculation::kOff || match_length_ == 0) return;
  const std::span<const TokenId> tokens = index_.tokens();
  const std::size_t length = mode_ == Speculation::kAlways
                                 ? std::min(limit, kMaxDraft)
                                 : policy_->DraftLength(match_length_, limit);
  for (std::size_t i = 0; i < length; ++i) {
    // Past the end of the text the draft goes on with itself: a text that repeats will repeat.
    const std::size_t from = next_ + i;
    draft->push_back(from < tokens.size() ? tokens[from] : (*draft)[from - tokens.size()]);
  }
}

}  // namespace bittern::runtime
