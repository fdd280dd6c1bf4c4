// SPDX-License-Identifier: Apache-2.0
// How many positions an engine's memory for keys and values holds. Any thread.
#pragma once

#include <cstddef>

#include "base/result.hpp"
#include "model/model.hpp"

namespace bittern::runtime {

/// EngineOptions::cache_tokens for so many bytes: no more than all sequences can use, and one
/// context at least. Error kOutOfMemory: not even one page.
[[nodiscard]] Result<int> CacheTokens(const model::ModelConfig& config, int context_length,
                                      int max_sequences, std::size_t bytes, model::KvType kv_type);

}  // namespace bittern::runtime
