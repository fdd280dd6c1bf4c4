// SPDX-License-Identifier: Apache-2.0
#include "bench/plan.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text/typed_text.hpp"
#include "base/threads/thread_pool.hpp"
#include "bench/lists.hpp"

namespace bittern::bench {
namespace {

constexpr std::int32_t kMostSequences = 4096;

/// Refuses a list whose largest number is above the limit.
Result<void> CheckLimit(const std::vector<std::int32_t>& numbers, std::string_view name,
                        int limit) {
  const int most = *std::ranges::max_element(numbers);
  if (most <= limit) return {};
  return Fail(ErrorCode::kInvalidArgument,
              fmt::format("{}: 0 to {} expected with this model, {} found", name, limit, most));
}

}  // namespace

Result<ThreadedPlan> ParsePlan(const PlanTexts& texts, const PlanNames& names) {
  ThreadedPlan plan;
  plan.prompts = BITTERN_TRY(ParseNumberList(texts.prompts, names.prompts));
  plan.gens = BITTERN_TRY(ParseNumberList(texts.gens, names.gens));
  plan.depths = BITTERN_TRY(ParseNumberList(texts.depths, names.depths));
  plan.threads = BITTERN_TRY(ParseNumberList(texts.threads, names.threads));
  for (const std::string& pair : texts.pairs) {
    plan.pairs.push_back(BITTERN_TRY(ParsePromptAndGen(pair, names.pairs)));
  }
  const int most = *std::ranges::max_element(plan.threads);
  if (most <= ThreadPool::kMaxThreads) return plan;
  return Fail(
      ErrorCode::kInvalidArgument,
      fmt::format("{}: 0 to {} expected, {} found", names.threads, ThreadPool::kMaxThreads, most));
}

/// Refuses tests that the model's context is too short for. A generation needs one position more
/// than its tokens, for the one it starts from.
Result<void> CheckPlan(const BenchPlan& plan, int context_length, const PlanNames& names) {
  BITTERN_TRY(CheckLimit(plan.prompts, names.prompts, context_length));
  BITTERN_TRY(CheckLimit(plan.gens, names.gens, context_length - 1));
  BITTERN_TRY(CheckLimit(plan.depths, names.depths, context_length));
  for (const auto& [prompt, gen] : plan.pairs) {
    if (prompt <= context_length - gen) continue;
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("{}: at most {} tokens together expected with this model, {},{} found",
                            names.pairs, context_length, prompt, gen));
  }
  if (plan.context_length() <= context_length) return {};
  return Fail(ErrorCode::kInvalidArgument,
              fmt::format("{}: a test after {} tokens needs a context of {}, the model has {}",
                          names.depths, *std::ranges::max_element(plan.depths),
                          plan.context_length(), context_length));
}

Result<int> ParseOneNumber(std::string_view text, std::string_view name, std::string_view many) {
  const auto numbers = BITTERN_TRY(ParseIntegers(text, name));
  if (numbers.size() == 1 && numbers[0] >= 1) return numbers[0];
  return Fail(
      ErrorCode::kInvalidArgument,
      fmt::format("{}: with {} one number of 1 or more expected, {} found", name, many, text));
}

Result<std::vector<std::int32_t>> ParseSequenceCounts(std::string_view text,
                                                      std::string_view name) {
  auto counts = BITTERN_TRY(ParseNumberList(text, name));
  for (const std::int32_t count : counts) {
    if (count >= 1 && count <= kMostSequences) continue;
    return Fail(ErrorCode::kInvalidArgument, fmt::format("{}: 1 to {} sequences expected, {} found",
                                                         name, kMostSequences, count));
  }
  return counts;
}

}  // namespace bittern::bench
