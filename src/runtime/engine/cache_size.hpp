// SPDX-License-Identifier: Apache-2.0
// How many positions an engine's memory for keys and values holds, and the engine that has so
// many. Any thread.
#pragma once

#include <cstddef>

#include "base/result.hpp"
#include "model/model.hpp"
#include "runtime/engine/engine.hpp"
#include "runtime/session.hpp"

namespace bittern::runtime {

/// EngineOptions::cache_tokens for so many bytes: no more than all sequences can use, and one
/// context at least. Error kOutOfMemory: not even one page.
[[nodiscard]] Result<int> CacheTokens(const model::ModelConfig& config, int context_length,
                                      int max_sequences, std::size_t bytes, model::KvType kv_type);

/// An engine for `parallel` (1 or more) sequences that run at the same time, each with the context,
/// keys, values, batches and threads of `session`; keys and values of all take `cache_bytes` at
/// most. Error kOutOfMemory: they are too few for one page.
[[nodiscard]] Result<EngineOptions> EngineFor(const model::ModelConfig& config,
                                              const SessionOptions& session, int parallel,
                                              std::size_t cache_bytes);

}  // namespace bittern::runtime
