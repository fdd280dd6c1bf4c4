// SPDX-License-Identifier: Apache-2.0
// `bittern bench -np`: many sequences at a time, in the columns of llama-batched-bench.
#pragma once

#include <memory>
#include <span>

#include "cli/output.hpp"
#include "runtime/engine/engine.hpp"

namespace bittern::cli {

struct ParallelBench {
  int num_prompt = 128, num_gen = 64;    ///< tokens of each sequence, 1 and 2 at least
  std::span<const std::int32_t> counts;  ///< of sequences, each 1 or more
  bool json_lines = false;               ///< a line of JSON for each count, not a table
  runtime::EngineOptions engine;         ///< sequences and context are set by each test
};

/// Runs B sequences for each B of counts and writes a row: the seconds until all have read their
/// prompts (T_PP) and from then to the end (T_TG), and tokens per second. Errors: those of
/// Engine::Create; kContextFull.
[[nodiscard]] Result<void> RunParallelBench(
    const std::shared_ptr<const runtime::LoadedModel>& model, const ParallelBench& bench,
    StandardOutput* out);

}  // namespace bittern::cli
