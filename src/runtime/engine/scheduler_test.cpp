// SPDX-License-Identifier: Apache-2.0
// The policy in a simulation: sequences without a model, time from a cost model. Shows that no
// sequence starves and what a token costs beside the best that the cost model allows.
#include "runtime/engine/scheduler.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <random>

#include "model/kv_pool.hpp"

namespace bittern::runtime {
namespace {

/// Milliseconds of a pass, with the step that one machine has between eight rows and nine.
double MeasuredCost(std::size_t rows) {
  const auto n = static_cast<double>(rows);
  return rows <= 8 ? 20 + 6.2 * (n - 1) : 20 + 5.0 * static_cast<double>((rows + 7) / 8 * 8);
}

/// Tokens per millisecond of the best batch of up to `most` rows.
double BestRate(std::size_t most) {
  double best = 0;
  for (std::size_t n = 1; n <= most; ++n) {
    best = std::max(best, static_cast<double>(n) / MeasuredCost(n));
  }
  return best;
}

struct Simulated {
  std::uint64_t arrival;
  int prompt, to_generate;
  int length = 0, known = 0, generated = 0;  // known: prompt and what was sampled
  double joined = 0, longest_wait = 0, last_time = 0;
};

struct Outcome {
  double milliseconds = 0;
  std::size_t rows = 0, useful = 0, preemptions = 0;
  double longest_wait = 0;           // of a sequence that has begun, between two of its steps
  std::vector<std::uint64_t> order;  // in which they ended
};

Outcome Simulate(std::deque<Simulated> waiting, const StepLimits& limits) {
  FairPolicy policy;
  Outcome outcome;
  std::vector<Simulated> running;
  int free_pages = limits.free_pages;
  const auto pages = [](const Simulated& s) { return model::PagesFor(s.length); };
  while (!waiting.empty() || !running.empty()) {
    StepLimits now = limits;
    now.free_pages = free_pages;
    while (!waiting.empty() && policy.Admits(waiting.front().known, running.size(), now)) {
      running.push_back(waiting.front());
      running.back().last_time = outcome.milliseconds;
      waiting.pop_front();
    }
    std::vector<SequenceView> views;
    for (const Simulated& s : running) {
      const int left = s.known - s.length;
      views.push_back(
          {s.arrival, s.length, s.generated > 0 && left == 1 ? 0 : left, pages(s), false});
    }
    const StepPlan plan = policy.Next(views, now);
    EXPECT_TRUE(!plan.run.empty() || !plan.preempt.empty()) << "nothing happens any more";
    if (plan.run.empty() && plan.preempt.empty()) return outcome;
    for (const std::size_t i : plan.preempt) {
      free_pages += pages(running[i]);
      running[i].length = 0;
      ++outcome.preemptions;
    }
    std::size_t rows = 0;
    for (const auto& [index, tokens] : plan.run) {
      Simulated& s = running[index];
      EXPECT_EQ(std::ranges::count(plan.preempt, index), 0);
      free_pages += pages(s);
      s.length += tokens;
      free_pages -= pages(s);
      rows += static_cast<std::size_t>(tokens);
    }
    EXPECT_GE(free_pages, 0);
    EXPECT_LE(rows, static_cast<std::size_t>(limits.max_tokens));
    outcome.milliseconds += rows == 0 ? 0 : MeasuredCost(rows);
    outcome.rows += rows;
    if (rows > 0) policy.Observe(rows, MeasuredCost(rows));
    for (const auto& [index, tokens] : plan.run) {
      Simulated& s = running[index];
      s.longest_wait = std::max(s.longest_wait, outcome.milliseconds - s.last_time);
      s.last_time = outcome.milliseconds;
      if (s.length < s.known) continue;
      ++s.generated;
      ++s.known;
    }
    std::vector<Simulated> left;
    for (std::size_t i = 0; i < running.size(); ++i) {
      Simulated& s = running[i];
      if (s.generated >= s.to_generate) {
        free_pages += pages(s);
        outcome.useful += static_cast<std::size_t>(s.prompt + s.generated);
        outcome.longest_wait = std::max(outcome.longest_wait, s.longest_wait);
        outcome.order.push_back(s.arrival);
      } else if (std::ranges::count(plan.preempt, i) > 0) {
        waiting.insert(std::ranges::upper_bound(waiting, s.arrival, {}, &Simulated::arrival), s);
      } else {
        left.push_back(s);
      }
    }
    running = std::move(left);
  }
  return outcome;
}

std::deque<Simulated> Requests(std::size_t count, int prompt, int generate, unsigned seed) {
  std::mt19937 rng(seed);
  std::deque<Simulated> requests;
  for (std::size_t i = 0; i < count; ++i) {
    const int p = 1 + static_cast<int>(rng() % static_cast<unsigned>(2 * prompt));
    requests.push_back(
        {.arrival = i + 1,
         .prompt = p,
         .to_generate = 1 + static_cast<int>(rng() % static_cast<unsigned>(2 * generate)),
         .known = p});
  }
  return requests;
}

TEST(FairPolicy, NineSequencesAreNotSlowerThanEight) {
  // All generate, so that nothing else hides the rate.
  for (const std::size_t count : {1u, 2u, 4u, 8u, 9u, 12u, 15u, 16u, 17u, 31u, 64u}) {
    std::deque<Simulated> requests;
    for (std::size_t i = 0; i < count; ++i) {
      requests.push_back({.arrival = i + 1, .prompt = 1, .to_generate = 400, .known = 1});
    }
    const Outcome outcome =
        Simulate(requests, {.max_tokens = 512, .max_sequences = 64, .free_pages = 1000});
    const double rate = static_cast<double>(outcome.rows) / outcome.milliseconds;
    EXPECT_GE(rate, 0.95 * BestRate(count)) << count;
  }
}

/// The cost of the work if all sequences begin at once and every row runs at the best rate that so
/// many rows allow: the prompts together, then the n-th tokens of all that have as many.
double IdealMilliseconds(const std::deque<Simulated>& requests) {
  std::size_t prompts = 0;
  int longest = 0;
  for (const Simulated& request : requests) {
    prompts += static_cast<std::size_t>(request.prompt);
    longest = std::max(longest, request.to_generate);
  }
  double ideal = static_cast<double>(prompts) / BestRate(std::min<std::size_t>(prompts, 512));
  for (int n = 1; n < longest; ++n) {
    const auto rows = static_cast<std::size_t>(
        std::ranges::count_if(requests, [n](const Simulated& r) { return r.to_generate > n; }));
    ideal += static_cast<double>(rows) / BestRate(std::min<std::size_t>(rows, 512));
  }
  return ideal;
}

TEST(FairPolicy, CostsNearTheIdealForOneToTenThousandSequences) {
  for (const std::size_t count : {1u, 10u, 100u, 1000u, 10000u}) {
    const int most = static_cast<int>(count);
    const auto requests = Requests(count, 30, count > 1000 ? 10 : 60, 7);
    const Outcome outcome =
        Simulate(requests, {.max_tokens = 512, .max_sequences = most, .free_pages = 4 * most + 8});
    const double ratio = outcome.milliseconds / IdealMilliseconds(requests);
    std::printf("  %zu sequences: %.3f ms a token, %.3f of the ideal, %zu preemptions\n", count,
                outcome.milliseconds / static_cast<double>(outcome.useful), ratio,
                outcome.preemptions);
    EXPECT_LE(ratio, 1.05) << count;
    EXPECT_EQ(outcome.order.size(), count);
  }
}

TEST(FairPolicy, NoSequenceStarvesWherePagesAreTooFewForAll) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    // Sequences of up to 1,200 positions, five pages, in a pool of twelve.
    const auto requests = Requests(40, 300, 300, seed);
    const Outcome outcome =
        Simulate(requests, {.max_tokens = 256, .max_sequences = 16, .free_pages = 12});
    ASSERT_EQ(outcome.order.size(), 40u) << seed;
    // A sequence that has begun is never kept waiting longer than a few whole sequences take.
    EXPECT_LE(outcome.longest_wait, 40 * 1200 * MeasuredCost(1)) << seed;
    // Rows computed twice because of preemption stay a small part.
    EXPECT_LE(static_cast<double>(outcome.rows), 1.5 * static_cast<double>(outcome.useful)) << seed;
  }
}

TEST(FairPolicy, TheOldestProceedsInEveryStepWherePagesAreShort) {
  FairPolicy policy;
  const std::vector<SequenceView> views = {
      {.arrival = 2, .length = 256, .left_to_read = 0, .pages = 1, .copies_last = false},
      {.arrival = 1, .length = 512, .left_to_read = 0, .pages = 2, .copies_last = false}};
  const StepPlan plan = policy.Next(views, {.max_tokens = 64, .max_sequences = 4, .free_pages = 0});
  ASSERT_EQ(plan.run.size(), 1u);
  EXPECT_EQ(plan.run[0].index, 1u);
  EXPECT_EQ(plan.preempt, (std::vector<std::size_t>{0}));
}

TEST(FairPolicy, APromptSlowsOthersByALimitedFactor) {
  FairPolicy policy;
  for (std::size_t rows = 1; rows <= 128; ++rows) policy.Observe(rows, MeasuredCost(rows));
  std::vector<SequenceView> views(7);
  for (std::size_t i = 0; i < views.size(); ++i) {
    views[i] = {
        .arrival = i + 1, .length = 20, .left_to_read = 0, .pages = 1, .copies_last = false};
  }
  views.push_back(
      {.arrival = 9, .length = 0, .left_to_read = 4000, .pages = 0, .copies_last = false});
  const StepPlan plan =
      policy.Next(views, {.max_tokens = 512, .max_sequences = 8, .free_pages = 100});
  std::size_t rows = 0;
  for (const auto& run : plan.run) rows += static_cast<std::size_t>(run.tokens);
  EXPECT_GT(rows, 15u);
  EXPECT_LE(MeasuredCost(rows), 2.5 * MeasuredCost(7));
}

}  // namespace
}  // namespace bittern::runtime
