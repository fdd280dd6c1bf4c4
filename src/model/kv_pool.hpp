// SPDX-License-Identifier: Apache-2.0
// Keys and values of many sequences in one block of memory, cut into pages of 256 positions.
// Sequences share pages by counting references; a page is copied when a sequence wants to write
// into one that another sequence can see. A page is a block of the attention sum
// (kernels::kAttentionBlock), so where pages lie changes no bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/memory/aligned_buffer.hpp"
#include "base/result.hpp"
#include "kernels/sizes.h"
#include "model/config.hpp"

namespace bittern::model {

/// kI8 is an approximation: a head's key or value is 8-bit integers with one scale.
enum class KvType : std::uint8_t { kF16, kF32, kI8 };

struct PageLog;
class RecurrentState;

/// Positions of a page.
inline constexpr int kPagePositions = static_cast<int>(kernels::kAttentionBlock);

/// Pages that hold `positions` positions.
[[nodiscard]] constexpr int PagesFor(int positions) noexcept {
  return positions / kPagePositions + (positions % kPagePositions != 0 ? 1 : 0);
}

/// The pages. A page has a block for each head of each layer. Both tensors lie in it in the order
/// in which the attention kernel reads them (docs/design/0002-attention.md):
///   keys   [page][layer][kv_head][position / 16][head_dim][position % 16]
///   values [page][layer][kv_head][position][head_dim padded to 16]
/// kI8 adds the scale of each key and each value: [page][layer][kv_head][position], twice.
/// Address space is reserved at once. Memory becomes resident page by page, the lowest free page
/// first. So a short sequence touches only the front.
/// Not thread-safe: pages are taken and released between forward passes. The pool outlives its
/// sequences. It must not be moved while it has any.
class KvPool {
 public:
  friend class KvSequence;

  /// Errors: kInvalidArgument (num_pages < 1), kOutOfMemory (also: 2^32 blocks or more).
  [[nodiscard]] static Result<KvPool> Create(const ModelConfig& config, int num_pages, KvType type);

  [[nodiscard]] KvType type() const noexcept { return type_; }
  [[nodiscard]] int num_pages() const noexcept { return static_cast<int>(references_.size()); }
  [[nodiscard]] int free_pages() const noexcept { return static_cast<int>(free_.size()); }
  [[nodiscard]] std::size_t page_bytes() const noexcept;
  /// Floats of a sequence's recurrent state, of all delta layers; 0: the network has none.
  [[nodiscard]] std::size_t state_size() const noexcept { return num_states_ * layer_state_; }

  /// Takes a free page, with one reference. REQUIRES: free_pages() > 0.
  [[nodiscard]] std::uint32_t Take() noexcept;
  /// Adds a reference to a page that is in use.
  void Share(std::uint32_t page) noexcept { ++references_[page]; }
  /// Drops a reference; the last one frees the page.
  void Release(std::uint32_t page) noexcept;
  [[nodiscard]] int references(std::uint32_t page) const noexcept { return references_[page]; }
  /// The list in which copies are noted, of a network that is shared out among ranks; else null.
  [[nodiscard]] const std::shared_ptr<PageLog>& log() const noexcept { return log_; }
  /// Copies the first `positions` positions of a page, in all layers and heads.
  void Copy(std::uint32_t from, std::uint32_t to, int positions) noexcept;

  /// Writes all of a page to page_bytes() bytes, or reads it from them: a sequence that is kept
  /// outside of this process. The order of the bytes depends on nothing but type() and the model.
  void SavePage(std::uint32_t page, std::span<std::byte> bytes) const noexcept;
  void RestorePage(std::uint32_t page, std::span<const std::byte> bytes) noexcept;

  /// Blocks that lie between the same head's blocks of page 0 and of `page`.
  [[nodiscard]] std::uint32_t BlocksBefore(std::uint32_t page) const noexcept {
    return page * static_cast<std::uint32_t>(num_heads());
  }
  /// The block of page 0 of a layer's keys or values of one key-value head.
  [[nodiscard]] std::byte* keys(int layer, int kv_head) noexcept {
    return keys_.data() + Head(layer, kv_head) * key_bytes_;
  }
  [[nodiscard]] std::byte* values(int layer, int kv_head) noexcept {
    return values_.data() + Head(layer, kv_head) * value_bytes_;
  }
  /// kI8 only: what a step is worth, by position, from the block of page 0 on.
  [[nodiscard]] float* key_scales(int layer, int kv_head) noexcept {
    return key_scales_.data() + Head(layer, kv_head) * static_cast<std::size_t>(kPagePositions);
  }
  [[nodiscard]] float* value_scales(int layer, int kv_head) noexcept {
    return value_scales_.data() + Head(layer, kv_head) * static_cast<std::size_t>(kPagePositions);
  }

 private:
  [[nodiscard]] std::size_t Head(int layer, int kv_head) const noexcept {
    return static_cast<std::size_t>(layer) * static_cast<std::size_t>(num_kv_heads_) +
           static_cast<std::size_t>(kv_head);
  }
  /// Key-value heads of all layers: the blocks of a page.
  [[nodiscard]] std::size_t num_heads() const noexcept { return Head(num_layers_, 0); }

  /// Calls take(data, bytes) for each part of a page, in one order.
  template <class Take>
  void ForEachPart(std::uint32_t page, const Take& take) const;

  int num_layers_ = 0, num_kv_heads_ = 0;         // layers with keys and values
  std::size_t num_states_ = 0, layer_state_ = 0;  // delta layers; floats of the state of one
  KvType type_ = KvType::kF16;
  std::size_t key_bytes_ = 0, value_bytes_ = 0;  // of a block
  AlignedBuffer<std::byte> keys_, values_;
  AlignedBuffer<float> key_scales_, value_scales_;  // kI8 only
  std::vector<int> references_;                     // (pages)
  std::vector<std::uint32_t> free_;                 // a heap: the lowest page first
  std::shared_ptr<PageLog> log_;
};

/// A copy of a recurrent state as it was after `position` positions. Never changed, so that forks
/// and caches share it.
struct KeptState {
  int position = 0;
  std::shared_ptr<const RecurrentState> values = {};
};

/// The positions of one sequence: a list of pages and a length. Writing needs Reserve first, which
/// also gives the sequence a page of its own to write into. Not thread-safe.
///
/// Where the network has delta layers, a sequence also has a recurrent state. It knows all
/// positions and cannot forget some of them. So Truncate and Fork go back to the last state kept
/// before, or to nothing; runtime::Sequence reads again those positions that a caller still wants.
class KvSequence {
 public:
  /// Empty. `pool` outlives it.
  explicit KvSequence(KvPool* pool) noexcept : pool_(pool) {}
  /// With `length` positions in pages that are in use, and that it shares.
  KvSequence(KvPool* pool, std::span<const std::uint32_t> pages, int length);
  KvSequence(KvSequence&& other) noexcept;
  KvSequence& operator=(KvSequence&& other) noexcept;
  ~KvSequence() { Truncate(0); }

  [[nodiscard]] KvPool& pool() const noexcept { return *pool_; }
  [[nodiscard]] int length() const noexcept { return length_; }
  /// Page numbers, oldest positions first; beyond length() there may be reserved ones.
  [[nodiscard]] std::span<const std::uint32_t> pages() const noexcept { return pages_; }
  /// KvPool::BlocksBefore of each: what a kernel finds positions by (kernels::AttentionArgs).
  [[nodiscard]] std::span<const std::uint32_t> blocks() const noexcept { return blocks_; }

  /// DeltaShape::state_size() floats of delta layer `index` (of those alone). REQUIRES: reserved.
  [[nodiscard]] float* state(int index) noexcept;
  /// All of it; empty where there is none, or nothing was reserved yet.
  [[nodiscard]] std::span<const float> state() const noexcept;
  [[nodiscard]] std::span<float> state() noexcept;
  /// Its number in the log, 0 where there is none; and a sequence that takes one as its own.
  [[nodiscard]] std::uint64_t state_id() const noexcept;
  void UseState(std::shared_ptr<RecurrentState> state) noexcept;
  [[nodiscard]] bool recurrent() const noexcept { return pool_->state_size() != 0; }

  /// Free pages that Reserve(count) would take.
  [[nodiscard]] int PagesNeeded(int count) const noexcept;
  /// Makes room for `count` positions after length(). False, with nothing changed, if the pool has
  /// fewer than PagesNeeded(count) free pages, or there is no memory for the state.
  [[nodiscard]] bool Reserve(int count);
  /// Counts `count` more positions, whose keys and values have been written. REQUIRES: reserved.
  void Extend(int count) noexcept { length_ += count; }
  /// Forgets positions from `length` on and releases the pages that held only such positions. With
  /// a recurrent state, goes back to the last one kept at or before `length`. Does nothing if there
  /// are not more.
  void Truncate(int length) noexcept;
  /// Truncate(length()), for a recurrent state that a broken pass has moved on.
  void GoBack() noexcept { ReturnTo(length_); }
  /// Another sequence with the first `length` (0..length()) positions of this one, in shared pages;
  /// with a recurrent state, as few as Truncate would leave.
  [[nodiscard]] KvSequence Fork(int length) const;

  /// Keeps a copy of the recurrent state as it is now. False where there is no memory for it, or
  /// nothing to copy.
  bool KeepState();
  /// The states kept, oldest positions first.
  [[nodiscard]] std::span<const KeptState> kept() const noexcept { return kept_; }
  /// Drops the oldest of them until `most` are left.
  void LimitKept(std::size_t most);
  /// Drops the one of this position, if there is one.
  void DropKept(int position);
  /// Begins with a kept state, after Append has brought its positions. Without memory for it the
  /// sequence is empty. REQUIRES: length() is the state's position.
  void BeginWith(const KeptState& state);
  /// Appends a shared page of which the first `positions` (1..kPagePositions) count. REQUIRES:
  /// length() is a multiple of kPagePositions and pages() holds nothing beyond it.
  void Append(std::uint32_t page, int positions);

 private:
  /// Adds a page that this sequence has a reference to.
  void Add(std::uint32_t page);
  /// Truncate, with a recurrent state: the last one kept at or before `length`, or nothing.
  void ReturnTo(int length) noexcept;
  void ReleaseFrom(int length) noexcept;
  /// The last state kept at or before `length`; null: none.
  [[nodiscard]] const KeptState* KeptBefore(int length) const noexcept;

  KvPool* pool_;
  std::vector<std::uint32_t> pages_, blocks_;  // the same number
  std::shared_ptr<RecurrentState> state_;      // after length_ positions
  std::vector<KeptState> kept_;                // by position
  int length_ = 0;
};

}  // namespace bittern::model
