// SPDX-License-Identifier: Apache-2.0
// The tests of a run as a caller writes them: lists of numbers become plans, which are compared
// with the model's context. Pure; any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/measure.hpp"

namespace bittern::bench {

/// Lists as ParseNumberList reads them, and what messages call them.
struct PlanTexts {
  std::string_view prompts, gens, depths, threads;
  std::span<const std::string> pairs = {};  ///< each as ParsePromptAndGen reads it
};
struct PlanNames {
  std::string_view prompts = "prompts", gens = "gens", depths = "depths", threads = "threads",
                   pairs = "pairs";
};

/// The tests of each of several thread counts. Thread counts are 0 (one for each physical core) to
/// ThreadPool::kMaxThreads; there is one at least.
struct ThreadedPlan : BenchPlan {
  std::vector<std::int32_t> threads;
};

/// Error kInvalidArgument, naming the list: as ParseNumberList and ParsePromptAndGen; too many
/// threads.
[[nodiscard]] Result<ThreadedPlan> ParsePlan(const PlanTexts& texts, const PlanNames& names);

/// Error kInvalidArgument, naming the list: a test does not fit into `context_length` tokens.
[[nodiscard]] Result<void> CheckPlan(const BenchPlan& plan, int context_length,
                                     const PlanNames& names);

/// The one number of 1 or more that a test of many sequences takes from a list. Error
/// kInvalidArgument, naming the list: another text; `many` is what messages call such a test.
[[nodiscard]] Result<int> ParseOneNumber(std::string_view text, std::string_view name,
                                         std::string_view many);

/// Numbers of sequences that run at the same time, 1 to 4096 each. Error kInvalidArgument.
[[nodiscard]] Result<std::vector<std::int32_t>> ParseSequenceCounts(std::string_view text,
                                                                    std::string_view name);

}  // namespace bittern::bench
