// SPDX-License-Identifier: Apache-2.0
// Keys and values of the tokens seen so far.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/aligned_buffer.hpp"
#include "base/result.hpp"
#include "model/config.hpp"

namespace bittern::model {

/// kI8 is an approximation: a head's key or value is 8-bit integers with one scale.
enum class KvType : std::uint8_t { kF16, kF32, kI8 };

/// Room for `capacity` tokens, allocated at once. Both tensors lie in the order in which the
/// attention kernel walks them (docs/design/0002-attention.md):
///   keys   [layer][kv_head][position / 16][head_dim][position % 16]
///   values [layer][kv_head][position][head_dim padded to 16]
/// and for kI8 what a step of each is worth: [layer][kv_head][position] twice.
/// Not thread-safe.
class KvCache {
 public:
  /// Errors: kInvalidArgument (capacity < 1), kOutOfMemory.
  [[nodiscard]] static Result<KvCache> Create(const ModelConfig& config, int capacity, KvType type);

  [[nodiscard]] int capacity() const noexcept { return capacity_; }
  [[nodiscard]] int length() const noexcept { return length_; }
  [[nodiscard]] KvType type() const noexcept { return type_; }
  [[nodiscard]] std::size_t bytes() const noexcept {
    return keys_.size() + values_.size() + 2 * key_scales_.size() * sizeof(float);
  }

  /// Forgets tokens from `length` on; does nothing if there are not more.
  void Truncate(int length) noexcept {
    if (length >= 0 && length < length_) length_ = length;
  }
  /// Counts `num_tokens` more, whose keys and values have been written.
  void Extend(int num_tokens) noexcept { length_ += num_tokens; }

  /// First byte of a layer's keys or values of one key-value head.
  [[nodiscard]] std::byte* keys(int layer, int kv_head) noexcept {
    return keys_.data() + Offset(layer, kv_head, key_stride_);
  }
  [[nodiscard]] std::byte* values(int layer, int kv_head) noexcept {
    return values_.data() + Offset(layer, kv_head, value_stride_);
  }
  /// kI8 only: what a step is worth, by position.
  [[nodiscard]] float* key_scales(int layer, int kv_head) noexcept {
    return key_scales_.data() + Offset(layer, kv_head, scale_stride_);
  }
  [[nodiscard]] float* value_scales(int layer, int kv_head) noexcept {
    return value_scales_.data() + Offset(layer, kv_head, scale_stride_);
  }

 private:
  [[nodiscard]] std::size_t Offset(int layer, int kv_head, std::size_t stride) const noexcept {
    return (static_cast<std::size_t>(layer) * static_cast<std::size_t>(num_kv_heads_) +
            static_cast<std::size_t>(kv_head)) *
           stride;
  }

  int capacity_ = 0, length_ = 0, num_kv_heads_ = 0;
  KvType type_ = KvType::kF16;
  std::size_t key_stride_ = 0, value_stride_ = 0;  // bytes of one head of one layer
  std::size_t scale_stride_ = 0;                   // floats
  AlignedBuffer<std::byte> keys_, values_;
  AlignedBuffer<float> key_scales_, value_scales_;  // kI8 only
};

}  // namespace bittern::model
