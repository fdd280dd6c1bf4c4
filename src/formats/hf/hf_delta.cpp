// SPDX-License-Identifier: Apache-2.0
#include "formats/hf/hf_delta.hpp"

namespace bittern::formats {
namespace {

/// Appends the places of value heads of `unit` rows each, which begin at row `first`.
void AppendHeads(const HfDelta& delta, std::uint64_t first, std::uint64_t unit,
                 std::vector<std::uint32_t>* places) {
  const std::uint64_t repeats = delta.value_heads / delta.key_heads;
  for (std::uint64_t head = 0; head < delta.value_heads; ++head) {
    const std::uint64_t from = head % delta.key_heads * repeats + head / delta.key_heads;
    for (std::uint64_t i = 0; i < unit; ++i) {
      places->push_back(static_cast<std::uint32_t>(first + from * unit + i));
    }
  }
}

}  // namespace

DeltaOrder OrderOfDelta(const HfDelta& delta, TensorId id) {
  DeltaOrder order;
  if (delta.value_heads == delta.key_heads) return order;
  switch (id) {
    case TensorId::kAttnQkv:
    case TensorId::kSsmConv: {
      const std::uint64_t keys = 2 * delta.key_heads * delta.head_dim;  // and queries
      for (std::uint64_t i = 0; i < keys; ++i)
        order.places.push_back(static_cast<std::uint32_t>(i));
      AppendHeads(delta, keys, delta.head_dim, &order.places);
      break;
    }
    case TensorId::kAttnGate:
    case TensorId::kSsmOut:
      order.columns = id == TensorId::kSsmOut;
      AppendHeads(delta, 0, delta.head_dim, &order.places);
      break;
    case TensorId::kSsmBeta:
    case TensorId::kSsmAlpha:
    case TensorId::kSsmDt:
    case TensorId::kSsmA:
      AppendHeads(delta, 0, 1, &order.places);
      break;
    default:
      break;
  }
  return order;
}

}  // namespace bittern::formats
