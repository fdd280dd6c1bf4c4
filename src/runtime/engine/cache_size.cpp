// SPDX-License-Identifier: Apache-2.0
#include "runtime/engine/cache_size.hpp"

#include <algorithm>

namespace bittern::runtime {

Result<int> CacheTokens(const model::ModelConfig& config, int context_length, int max_sequences,
                        std::size_t bytes, model::KvType kv_type) {
  const auto pool = BITTERN_TRY(model::KvPool::Create(config, 1, kv_type));
  const double pages = static_cast<double>(bytes) / static_cast<double>(pool.page_bytes());
  const double wanted =
      static_cast<double>(model::PagesFor(context_length)) * model::kPagePositions * max_sequences;
  const double most = std::min(pages * model::kPagePositions, wanted);
  return std::max(context_length, static_cast<int>(std::min(most, 1e9)));
}

Result<EngineOptions> EngineFor(const model::ModelConfig& config, const SessionOptions& session,
                                int parallel, std::size_t cache_bytes) {
  const int context = session.context_length == 0 ? config.context_length : session.context_length;
  const int cache_tokens =
      BITTERN_TRY(CacheTokens(config, context, parallel, cache_bytes, session.kv_type));
  return EngineOptions{.max_sequences = parallel,
                       .context_length = context,
                       .cache_tokens = cache_tokens,
                       .kv_type = session.kv_type,
                       .batch_size = session.batch_size,
                       .num_threads = session.num_threads};
}

}  // namespace bittern::runtime
