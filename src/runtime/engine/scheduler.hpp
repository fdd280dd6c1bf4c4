// SPDX-License-Identifier: Apache-2.0
// The scheduler chooses the sequences of a step, and how many tokens of each it runs. It sees
// numbers only and reads no clock. So a simulation can test it (scheduler_test.cpp).
//
// The rules:
//   1. Sequences join in the order in which they came; those of one request take turns with
//      others (Request::turn).
//   2. Sequences that generate run one token each. Fewer rows sometimes make more tokens per
//   second:
//      nine rows can cost much more than eight. Then a step runs fewer sequences, and they take
//      turns.
//   3. Prompts fill the step up, the oldest first. The step may take kSlowdown times as long as
//      without them, and longer where more sequences read than generate.
//   4. Where no page is left, a sequence takes one from the youngest sequence. That one goes back
//   to
//      the queue and computes its tokens again later. So the oldest always proceeds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/engine/step_cost.hpp"

namespace bittern::runtime {

/// A running sequence, as the policy sees it.
struct SequenceView {
  std::uint64_t arrival;  ///< in the order of joining; smaller is older; unique
  int length;             ///< positions in its pages
  int left_to_read;       ///< prompt tokens that have not run; 0: it generates
  int pages;              ///< held
  bool copies_last;       ///< its last page is partial and shared: writing takes one page more
};

/// The resources of a step.
struct StepLimits {
  int max_tokens = 0;     ///< of a step
  int max_sequences = 0;  ///< that run at the same time
  int free_pages = 0;     ///< that can be taken, those of the prefix cache included
};

/// The plan of a step. Indices into the views.
struct StepPlan {
  struct Run {
    std::size_t index;
    int tokens;
  };
  std::vector<Run> run;
  std::vector<std::size_t> preempt;  ///< before the step
};

/// The interface of a policy. Called by one thread.
class SchedulingPolicy {
 public:
  virtual ~SchedulingPolicy() = default;
  /// True if a waiting sequence of `tokens` tokens may join the `running` ones.
  [[nodiscard]] virtual bool Admits(int tokens, std::size_t running,
                                    const StepLimits& limits) const = 0;
  /// The next step. At least one sequence runs if there is any.
  [[nodiscard]] virtual StepPlan Next(std::span<const SequenceView> sequences,
                                      const StepLimits& limits) = 0;
  /// A step over `rows` rows took `seconds`.
  virtual void Observe(std::size_t rows, double seconds) = 0;
};

/// The rules above.
class FairPolicy final : public SchedulingPolicy {
 public:
  static constexpr double kSlowdown = 2.2;

  [[nodiscard]] bool Admits(int tokens, std::size_t running,
                            const StepLimits& limits) const override;
  [[nodiscard]] StepPlan Next(std::span<const SequenceView> sequences,
                              const StepLimits& limits) override;
  void Observe(std::size_t rows, double seconds) override { cost_.Observe(rows, seconds); }

  [[nodiscard]] const StepCost& cost() const noexcept { return cost_; }

 private:
  [[nodiscard]] std::vector<std::size_t> Generating(std::span<const SequenceView> sequences,
                                                    int max_tokens);
  [[nodiscard]] std::size_t BestRows(std::size_t generating) const;
  [[nodiscard]] int PromptTokens(std::size_t rows, std::size_t reading, int max_tokens) const;

  StepCost cost_;
  std::uint64_t last_turn_ = 0;  // the arrival of the sequence whose turn was last
};

}  // namespace bittern::runtime
