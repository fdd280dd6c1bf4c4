// SPDX-License-Identifier: Apache-2.0
// Pages are counted here and nowhere else: every reference is held by a KvSequence or by the prefix
// cache, and Take, Share and Release are the only ways to change a count.
#include "model/kv_pool.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>

#include "base/bytes.hpp"
#include "model/ranks/recurrent_state.hpp"

namespace bittern::model {
namespace {

constexpr std::size_t kLanes = 16;  // positions that lie side by side in `keys`

std::size_t RoundUp16(std::size_t n) { return (n + 15) / 16 * 16; }

}  // namespace

/// Sizes come from a file and from a flag, so every product is checked. Kernels index blocks by 32
/// bits; more blocks are refused as too much memory. A rank has memory for its own heads alone.
Result<KvPool> KvPool::Create(const ModelConfig& config, int num_pages, KvType type) {
  if (num_pages < 1) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("a KV cache has at least 1 page, got {}", num_pages));
  }
  const std::size_t element = type == KvType::kI8 ? 1 : type == KvType::kF16 ? 2 : 4;
  const auto dim = static_cast<std::size_t>(config.head_dim);
  const auto page = static_cast<std::size_t>(kPagePositions);
  KvPool pool;
  pool.num_layers_ = config.num_kv_layers();
  pool.num_states_ = static_cast<std::size_t>(config.num_delta_layers());
  pool.layer_state_ = pool.num_states_ == 0 ? 0 : config.DeltaHere().state_size();
  const int kv_heads = pool.num_kv_heads_ = config.HeadsHere().kv_heads;
  pool.type_ = type;
  pool.key_bytes_ = page * dim * element;
  pool.value_bytes_ = page * RoundUp16(dim) * element;
  const std::string what =
      fmt::format("the KV cache of {} tokens", std::int64_t{num_pages} * kPagePositions);
  std::uint64_t blocks = 0, key_bytes = 0, value_bytes = 0;
  if (!CheckedMultiply(
          static_cast<std::uint64_t>(pool.num_layers_) * static_cast<std::uint64_t>(kv_heads),
          static_cast<std::uint64_t>(num_pages), &blocks) ||
      blocks > std::numeric_limits<std::uint32_t>::max() ||
      !CheckedMultiply(blocks, pool.key_bytes_, &key_bytes) ||
      !CheckedMultiply(blocks, pool.value_bytes_, &value_bytes)) {
    return Fail(ErrorCode::kOutOfMemory, what + " exceeds memory");
  }
  pool.keys_ = BITTERN_TRY(AlignedBuffer<std::byte>::Create(key_bytes, what));
  pool.values_ = BITTERN_TRY(AlignedBuffer<std::byte>::Create(value_bytes, what));
  if (type == KvType::kI8) {
    pool.key_scales_ = BITTERN_TRY(AlignedBuffer<float>::Create(blocks * page, what));
    pool.value_scales_ = BITTERN_TRY(AlignedBuffer<float>::Create(blocks * page, what));
  }
  // Ranks repeat what rank 0 does to its pages: copies are noted, under a number that tells this
  // pool from others of the process.
  if (config.heads_here != std::pair(0, 0)) {
    static std::atomic<std::uint64_t> pools = 0;
    pool.log_ = std::make_shared<PageLog>(PageLog{.id = ++pools});
  }
  pool.references_.resize(static_cast<std::size_t>(num_pages));
  pool.free_.resize(static_cast<std::size_t>(num_pages));
  std::iota(pool.free_.begin(), pool.free_.end(), 0u);  // ascending: a heap already
  return pool;
}

std::size_t KvPool::page_bytes() const noexcept {
  const std::size_t scales =
      type_ == KvType::kI8 ? 2 * static_cast<std::size_t>(kPagePositions) * sizeof(float) : 0;
  return num_heads() * (key_bytes_ + value_bytes_ + scales);
}

/// Head by head, keys before values, scales last: the bytes of a page that is saved.
template <class Visit>
void KvPool::ForEachPart(std::uint32_t page, const Visit& take) const {
  const auto scale_bytes = static_cast<std::size_t>(kPagePositions) * sizeof(float);
  for (std::size_t head = 0; head < num_heads(); ++head) {
    const std::size_t at = BlocksBefore(page) + head;
    take(keys_.data() + at * key_bytes_, key_bytes_);
    take(values_.data() + at * value_bytes_, value_bytes_);
    if (type_ != KvType::kI8) continue;
    const std::size_t scales = at * static_cast<std::size_t>(kPagePositions);
    take(reinterpret_cast<const std::byte*>(key_scales_.data() + scales), scale_bytes);
    take(reinterpret_cast<const std::byte*>(value_scales_.data() + scales), scale_bytes);
  }
}

void KvPool::SavePage(std::uint32_t page, std::span<std::byte> bytes) const noexcept {
  ForEachPart(page, [&](const std::byte* part, std::size_t size) {
    std::memcpy(bytes.data(), part, size);
    bytes = bytes.subspan(size);
  });
}

void KvPool::RestorePage(std::uint32_t page, std::span<const std::byte> bytes) noexcept {
  ForEachPart(page, [&](const std::byte* part, std::size_t size) {
    std::memcpy(const_cast<std::byte*>(part), bytes.data(), size);  // this object's own memory
    bytes = bytes.subspan(size);
  });
}

/// The lowest free page, so that the pages of a short life stay at the front of the memory.
std::uint32_t KvPool::Take() noexcept {
  std::ranges::pop_heap(free_, std::greater<>());
  const std::uint32_t page = free_.back();
  free_.pop_back();
  references_[page] = 1;
  return page;
}

void KvPool::Release(std::uint32_t page) noexcept {
  if (--references_[page] != 0) return;
  free_.push_back(page);  // never allocates: the heap has held all pages
  std::ranges::push_heap(free_, std::greater<>());
}

/// Keys lie in groups of 16 positions, so whole groups are copied; behind `positions` they hold
/// what nothing reads before it is written.
void KvPool::Copy(std::uint32_t from, std::uint32_t to, int positions) noexcept {
  if (log_ != nullptr) log_->copies.push_back({from, to, positions});
  const auto page = static_cast<std::size_t>(kPagePositions);
  const auto count = static_cast<std::size_t>(positions);
  const std::size_t keys = key_bytes_ / page * ((count + kLanes - 1) / kLanes * kLanes);
  const std::size_t values = value_bytes_ / page * count;
  for (std::size_t head = 0; head < num_heads(); ++head) {
    const std::size_t source = BlocksBefore(from) + head, target = BlocksBefore(to) + head;
    std::memcpy(keys_.data() + target * key_bytes_, keys_.data() + source * key_bytes_, keys);
    std::memcpy(values_.data() + target * value_bytes_, values_.data() + source * value_bytes_,
                values);
    if (type_ != KvType::kI8) continue;
    std::copy_n(key_scales_.data() + source * page, count, key_scales_.data() + target * page);
    std::copy_n(value_scales_.data() + source * page, count, value_scales_.data() + target * page);
  }
}

KvSequence::KvSequence(KvPool* pool, std::span<const std::uint32_t> pages, int length)
    : pool_(pool), length_(length) {
  for (const std::uint32_t page : pages) {
    pool_->Share(page);
    Add(page);
  }
}

KvSequence::KvSequence(KvSequence&& other) noexcept
    : pool_(other.pool_),
      pages_(std::exchange(other.pages_, {})),
      blocks_(std::exchange(other.blocks_, {})),
      state_(std::exchange(other.state_, {})),
      kept_(std::exchange(other.kept_, {})),
      length_(std::exchange(other.length_, 0)) {}

/// A swap: what this sequence held is released as `other` ends.
KvSequence& KvSequence::operator=(KvSequence&& other) noexcept {
  std::swap(pool_, other.pool_);
  std::swap(pages_, other.pages_);
  std::swap(blocks_, other.blocks_);
  std::swap(state_, other.state_);
  std::swap(kept_, other.kept_);
  std::swap(length_, other.length_);
  return *this;
}

float* KvSequence::state(int index) noexcept {
  return state().data() + static_cast<std::size_t>(index) * pool_->layer_state_;
}

std::span<float> KvSequence::state() noexcept {
  return state_ == nullptr ? std::span<float>() : state_->values();
}

std::span<const float> KvSequence::state() const noexcept {
  return state_ == nullptr ? std::span<const float>() : std::span<const float>(state_->values());
}

std::uint64_t KvSequence::state_id() const noexcept { return state_ == nullptr ? 0 : state_->id(); }

void KvSequence::UseState(std::shared_ptr<RecurrentState> state) noexcept {
  state_ = std::move(state);
}

/// A page that is written into must be this sequence's own. Only the last one can be partly filled,
/// so at most one copy is needed beside the pages that are new.
int KvSequence::PagesNeeded(int count) const noexcept {
  if (count <= 0) return 0;
  const int more = std::max(0, PagesFor(length_ + count) - static_cast<int>(pages_.size()));
  const bool partial = length_ % kPagePositions != 0;
  const bool copies =
      partial && pool_->references(pages_[static_cast<std::size_t>(length_ / kPagePositions)]) > 1;
  return more + (copies ? 1 : 0);
}

/// Nothing changes before it is known that all of it can be done. The copy comes first: it takes a
/// page that PagesNeeded has counted.
bool KvSequence::Reserve(int count) {
  if (PagesNeeded(count) > pool_->free_pages()) return false;
  if (count <= 0) return true;
  if (recurrent() && state_ == nullptr) {
    state_ = RecurrentState::Create(pool_->state_size(), pool_->log());
    if (state_ == nullptr) return false;
  }
  if (length_ % kPagePositions != 0) {
    const auto at = static_cast<std::size_t>(length_ / kPagePositions);
    const std::uint32_t last = pages_[at];
    if (pool_->references(last) > 1) {
      const std::uint32_t copy = pool_->Take();
      pool_->Copy(last, copy, length_ % kPagePositions);
      pool_->Release(last);
      pages_[at] = copy;
      blocks_[at] = pool_->BlocksBefore(copy);
    }
  }
  while (static_cast<int>(pages_.size()) < PagesFor(length_ + count)) {
    Add(pool_->Take());
  }
  return true;
}

void KvSequence::Add(std::uint32_t page) {
  pages_.push_back(page);
  blocks_.push_back(pool_->BlocksBefore(page));
}

void KvSequence::Truncate(int length) noexcept {
  if (length < 0 || length > length_) return;
  if (recurrent() && length < length_) return ReturnTo(length);
  ReleaseFrom(length);
  if (length == 0) state_ = {};
}

/// A state cannot forget a token, so the sequence goes back to a copy made earlier, and its pages
/// with it: both must have read the same tokens.
void KvSequence::ReturnTo(int length) noexcept {
  const KeptState* state = KeptBefore(length);
  ReleaseFrom(state == nullptr ? 0 : state->position);
  std::erase_if(kept_, [&](const KeptState& kept) { return kept.position > length_; });
  if (length_ == 0) {
    state_ = {};
  } else {
    state_->Assign(*kept_.back().values);
  }
}

/// Reserved pages behind `length` go as well.
void KvSequence::ReleaseFrom(int length) noexcept {
  length_ = length;
  while (static_cast<int>(pages_.size()) > PagesFor(length)) {
    pool_->Release(pages_.back());
    pages_.pop_back();
    blocks_.pop_back();
  }
}

/// `kept_` is sorted by position: states are kept as a sequence grows, and dropped as it shrinks.
const KeptState* KvSequence::KeptBefore(int length) const noexcept {
  const auto after = std::ranges::upper_bound(kept_, length, {}, &KeptState::position);
  return after == kept_.begin() ? nullptr : &*std::prev(after);
}

bool KvSequence::KeepState() {
  if (!recurrent() || length_ == 0) return false;
  if (!kept_.empty() && kept_.back().position == length_) return true;
  auto values = state_->Copy();
  if (values == nullptr) return false;
  kept_.push_back({length_, std::move(values)});
  return true;
}

/// The oldest go first: drafts and edits of a prompt go back to positions near the end.
void KvSequence::LimitKept(std::size_t most) {
  if (kept_.size() <= most) return;
  kept_.erase(kept_.begin(), kept_.end() - static_cast<std::ptrdiff_t>(most));
}

void KvSequence::DropKept(int position) {
  std::erase_if(kept_, [&](const KeptState& kept) { return kept.position == position; });
}

void KvSequence::BeginWith(const KeptState& state) {
  auto values = state.values->Copy();
  if (values == nullptr) return Truncate(0);
  state_ = std::move(values);
  kept_ = {state};
}

/// A fork at the end takes a copy of the state as it is; an earlier one takes the kept state before
/// it, and begins there. Kept states are never changed, so they are shared. Without memory for a
/// state the fork is empty: it reads its tokens again and gives the same bits.
KvSequence KvSequence::Fork(int length) const {
  KvSequence fork(pool_);
  fork.length_ = std::clamp(length, 0, length_);
  if (recurrent() && fork.length_ > 0) {
    const KeptState* kept = fork.length_ == length_ ? nullptr : KeptBefore(fork.length_);
    if (fork.length_ < length_) fork.length_ = kept == nullptr ? 0 : kept->position;
    if (fork.length_ == 0) return fork;
    fork.state_ = kept == nullptr ? state_->Copy() : kept->values->Copy();
    if (fork.state_ == nullptr) {
      fork.length_ = 0;
      return fork;
    }
    for (const KeptState& shared : kept_) {
      if (shared.position <= fork.length_) fork.kept_.push_back(shared);
    }
  }
  fork.pages_.assign(pages_.begin(), pages_.begin() + PagesFor(fork.length_));
  fork.blocks_.assign(blocks_.begin(), blocks_.begin() + PagesFor(fork.length_));
  for (const std::uint32_t page : fork.pages_) pool_->Share(page);
  return fork;
}

void KvSequence::Append(std::uint32_t page, int positions) {
  pool_->Share(page);
  Add(page);
  length_ += positions;
}

}  // namespace bittern::model
