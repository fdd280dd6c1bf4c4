// SPDX-License-Identifier: Apache-2.0
#include "model/kv_cache.hpp"

#include <fmt/format.h>

#include "base/bytes.hpp"

namespace bittern::model {
namespace {

constexpr std::uint64_t kPositions = 16;  // positions that lie side by side in `keys`

}  // namespace

Result<KvCache> KvCache::Create(const ModelConfig& config, int capacity, KvType type) {
  if (capacity < 1) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("context length must be at least 1, got {}", capacity));
  }
  const std::uint64_t element = type == KvType::kI8 ? 1 : type == KvType::kF16 ? 2 : 4;
  const auto dim = static_cast<std::uint64_t>(config.head_dim);
  const std::uint64_t positions =
      (static_cast<std::uint64_t>(capacity) + kPositions - 1) / kPositions * kPositions;
  const std::uint64_t heads = static_cast<std::uint64_t>(config.num_layers) *
                              static_cast<std::uint64_t>(config.num_kv_heads);
  KvCache cache;
  cache.capacity_ = capacity;
  cache.num_kv_heads_ = config.num_kv_heads;
  cache.type_ = type;
  cache.key_stride_ = positions * dim * element;
  cache.value_stride_ = positions * ((dim + 15) / 16 * 16) * element;
  std::uint64_t key_bytes = 0, value_bytes = 0;
  if (!CheckedMultiply(heads, cache.key_stride_, &key_bytes) ||
      !CheckedMultiply(heads, cache.value_stride_, &value_bytes)) {
    return Fail(ErrorCode::kOutOfMemory,
                fmt::format("a KV cache for {} tokens exceeds memory", capacity));
  }
  const std::string what = fmt::format("the KV cache of {} tokens", capacity);
  cache.keys_ = BITTERN_TRY(AlignedBuffer<std::byte>::Create(key_bytes, what));
  cache.values_ = BITTERN_TRY(AlignedBuffer<std::byte>::Create(value_bytes, what));
  if (type == KvType::kI8) {
    cache.scale_stride_ = positions;
    cache.key_scales_ = BITTERN_TRY(AlignedBuffer<float>::Create(heads * positions, what));
    cache.value_scales_ = BITTERN_TRY(AlignedBuffer<float>::Create(heads * positions, what));
  }
  return cache;
}

}  // namespace bittern::model
