// SPDX-License-Identifier: Apache-2.0
// Many sequences at a time, measured and shown in the columns of llama-batched-bench.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include "runtime/engine/engine.hpp"

namespace bittern::bench {

struct ParallelBench {
  int num_prompt = 128, num_gen = 64;    ///< tokens of each sequence, 1 and 2 at least
  std::span<const std::int32_t> counts;  ///< of sequences, each 1 or more
  bool json_lines = false;               ///< a line of JSON for each count, not a table
  runtime::EngineOptions engine;         ///< sequences and context are set by each test
};

/// Runs B sequences for each B of counts and writes a row: the seconds until all have read their
/// prompts (T_PP) and from then to the end (T_TG), and tokens per second. Errors: those of
/// Engine::Create; kContextFull. `write` gets text, `on_start` the number of sequences of a test
/// before it and 0 after it.
[[nodiscard]] Result<void> RunParallelBench(
    const std::shared_ptr<const runtime::LoadedModel>& model, const ParallelBench& bench,
    const std::function<void(std::string_view)>& write, const std::function<void(int)>& on_start);

}  // namespace bittern::bench
