// SPDX-License-Identifier: Apache-2.0
// Tokens to change are few and candidates many: where candidates are by id, each is looked up.
#include "runtime/sampling/penalties.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/portable_math.hpp"

namespace bittern::runtime {
namespace {

constexpr float kLargest = std::numeric_limits<float>::max();

/// A token and how often it stands in the window.
struct Counted {
  TokenId id;
  std::size_t count;
};

/// The distinct tokens by ascending id, each with its number.
std::vector<Counted> Count(std::span<const TokenId> tokens) {
  std::vector<TokenId> ids(tokens.begin(), tokens.end());
  std::sort(ids.begin(), ids.end());
  std::vector<Counted> counted;
  for (const TokenId id : ids) {
    if (counted.empty() || counted.back().id != id) counted.push_back({id, 0});
    ++counted.back().count;
  }
  return counted;
}

bool ById(const Candidate& a, const Candidate& b) noexcept { return a.id < b.id; }

/// change(&candidate, entry) for every candidate that `entries`, by ascending id, names.
template <class Entry, class Change>
void ForEachNamed(std::span<const Entry> entries, Candidates* candidates, const Change& change) {
  if (std::is_sorted(candidates->begin(), candidates->end(), ById)) {
    for (const Entry& entry : entries) {
      const auto found = std::ranges::lower_bound(*candidates, entry.id, {}, &Candidate::id);
      if (found != candidates->end() && found->id == entry.id) change(&*found, entry);
    }
    return;
  }
  for (Candidate& candidate : *candidates) {
    const auto found = std::ranges::lower_bound(entries, candidate.id, {}, &Entry::id);
    if (found != entries.end() && found->id == candidate.id) change(&candidate, *found);
  }
}

/// A penalty may go beyond the floats; an infinite logit would mean a forbidden token.
float Bounded(double logit) noexcept {
  return static_cast<float>(
      std::clamp(logit, -static_cast<double>(kLargest), static_cast<double>(kLargest)));
}

}  // namespace

void ApplyLogitBias(std::span<const LogitBias> biases, Candidates* candidates) {
  bool drops = false;
  for (const LogitBias& bias : biases) {
    const auto found = std::ranges::lower_bound(*candidates, bias.id, {}, &Candidate::id);
    if (found == candidates->end() || found->id != bias.id) continue;
    if (bias.bias < -kLargest) {
      found->logit = -std::numeric_limits<float>::infinity();
      drops = true;
    } else if (found->logit >= -kLargest) {
      found->logit = std::clamp(found->logit + bias.bias, -kLargest, kLargest);
    }
  }
  if (!drops) return;
  std::erase_if(*candidates,
                [](const Candidate& candidate) { return candidate.logit < -kLargest; });
}

/// repeat divides a positive logit and multiplies a negative one, so both fall; frequency counts
/// each occurrence, presence counts once.
void ApplyPenalties(std::span<const TokenId> recent, const Penalties& penalties,
                    Candidates* candidates) {
  const std::vector<Counted> counted = Count(recent);
  ForEachNamed(std::span(counted), candidates, [&](Candidate* candidate, const Counted& entry) {
    const float logit = candidate->logit;
    const float repeated = logit > 0 ? logit / penalties.repeat : logit * penalties.repeat;
    const double less =
        static_cast<double>(entry.count) * static_cast<double>(penalties.frequency) +
        static_cast<double>(penalties.presence);
    candidate->logit =
        Bounded(static_cast<double>(std::clamp(repeated, -kLargest, kLargest)) - less);
  });
}

/// For each earlier place whose text agrees with the end of the history: the token that followed
/// there, and the length of the agreement, up to `longest`.
std::vector<Repetition> FindRepetitions(std::span<const TokenId> history, std::size_t longest) {
  // Gusfield's Z algorithm over the reversed history: z[i] is how many tokens before position
  // size - i agree with the last ones.
  const std::size_t size = history.size();
  const auto back = [&](std::size_t i) { return history[size - 1 - i]; };
  std::vector<std::size_t> z(size, 0);
  std::vector<Repetition> repetitions;
  std::size_t left = 0, right = 0;  // the match [left, right) that reaches furthest
  for (std::size_t i = 1; i < size; ++i) {
    std::size_t length = i < right ? std::min(right - i, z[i - left]) : 0;
    while (i + length < size && back(length) == back(i + length)) ++length;
    z[i] = length;
    if (i + length > right) left = i, right = i + length;
    repetitions.push_back({back(i - 1), std::min(length, longest)});
  }
  return repetitions;
}

void ApplyDry(std::span<const TokenId> history, std::size_t since_breaker, const Dry& dry,
              Candidates* candidates) {
  const auto allowed = static_cast<std::size_t>(dry.allowed_length);
  if (history.size() <= allowed || since_breaker < allowed) return;
  std::vector<Repetition> found = FindRepetitions(history, since_breaker);
  std::erase_if(found, [&](const Repetition& entry) { return entry.length < allowed; });
  // The longest of each token.
  std::ranges::sort(found, [](const Repetition& a, const Repetition& b) {
    return a.id != b.id ? a.id < b.id : a.length > b.length;
  });
  const auto rest =
      std::unique(found.begin(), found.end(),
                  [](const Repetition& a, const Repetition& b) { return a.id == b.id; });
  found.erase(rest, found.end());
  // base^n is kept inside the range of a float.
  constexpr double kMostExponent = 88.7228391;
  const double log_base = Log(static_cast<double>(dry.base));
  ForEachNamed(std::span<const Repetition>(found), candidates,
               [&](Candidate* candidate, const Repetition& entry) {
                 const auto over = static_cast<double>(entry.length - allowed);
                 const double penalty = static_cast<double>(dry.multiplier) *
                                        Exp(std::min(over * log_base, kMostExponent));
                 candidate->logit = Bounded(static_cast<double>(candidate->logit) - penalty);
               });
}

}  // namespace bittern::runtime
