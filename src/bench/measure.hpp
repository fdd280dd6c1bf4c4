// SPDX-License-Identifier: Apache-2.0
// Tokens per second of reading (a prompt of random tokens) and of writing (single steps), measured
// as llama-bench does. One thread calls; the model's team computes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/report.hpp"
#include "runtime/session.hpp"

namespace bittern::bench {

/// Tests of one thread count: each depth with each prompt, generation and pair. Lists of numbers of
/// tokens, 0 or more; none of the first three may be empty. A test of 0 tokens is left out.
struct BenchPlan {
  std::vector<std::int32_t> prompts, gens, depths;
  std::vector<std::pair<int, int>> pairs = {};  ///< prompt and generation in one test

  /// Tokens that the largest test needs room for.
  [[nodiscard]] int context_length() const;
};

struct MeasureOptions {
  runtime::SessionOptions session;      ///< threads, kv_type, chunks; the context is the plan's
  int repetitions = 5;                  ///< 1 or more
  bool warmup = true;                   ///< each test once before it is measured
  bool machine = false;                 ///< also bandwidth, int8 rate and energy
  int batch_size = 0, ubatch_size = 0;  ///< to be shown
  std::string kv_type = "f16";          ///< to be shown
};

struct BenchListener {
  std::function<void(std::string_view what)> on_progress = {};  ///< may be empty
  std::function<void(const BenchResult& result)> on_result;     ///< when a test has ended
};

/// Runs the tests. Errors: those of Session::Create, kContextFull, kOutOfMemory.
[[nodiscard]] Result<void> RunBench(const std::shared_ptr<const runtime::LoadedModel>& model,
                                    const BenchPlan& plan, const MeasureOptions& options,
                                    const BenchListener& listener);

}  // namespace bittern::bench
