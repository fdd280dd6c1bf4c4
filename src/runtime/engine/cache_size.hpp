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

/// Memory for keys and values, as it is used, unless a caller says how much.
inline constexpr std::size_t kDefaultCacheBytes = std::size_t{2} << 30;

/// EngineOptions::cache_tokens for so many bytes: no more than all sequences can use, and one
/// context at least. Error kOutOfMemory: not even one page.
[[nodiscard]] Result<int> CacheTokens(const model::ModelConfig& config, int context_length,
                                      int max_sequences, std::size_t bytes, model::KvType kv_type);

/// Options of an engine that runs `parallel` (1 or more) sequences at the same time. Context, type
/// of keys and values, batches and threads are those of `session`. Keys and values of all sequences
/// take `cache_bytes` at most. Error kOutOfMemory: not even one page fits.
[[nodiscard]] Result<EngineOptions> EngineFor(const model::ModelConfig& config,
                                              const SessionOptions& session, int parallel,
                                              std::size_t cache_bytes);

}  // namespace bittern::runtime
