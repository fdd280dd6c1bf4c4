// SPDX-License-Identifier: Apache-2.0
// Which two neighbouring tokens merge into which, and how early: the "merges" of byte-pair
// encoding as a hash table over pairs of ids.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "base/decision.hpp"
#include "base/result.hpp"
#include "tokenizer/vocabulary.hpp"

namespace bittern::tokenizer {

/// Pairs of lower rank merge first.
struct Merge {
  static constexpr std::uint32_t kNever = std::numeric_limits<std::uint32_t>::max();

  std::uint32_t rank = kNever;  ///< The merge's index in the file; kNever: the pair never merges.
  TokenId merged = kNoToken;
};

class MergeTable {
 public:
  /// `merges` as in tokenizer.ggml.merges: "left right", both spelled in the byte alphabet. A
  /// pair that is listed twice keeps its first rank (noted in `decisions`). Errors, naming the
  /// merge by index: kCorruptFile (no space, or a half or the whole is not in the vocabulary).
  [[nodiscard]] static Result<MergeTable> Build(std::span<const std::string_view> merges,
                                                const Vocabulary& vocabulary, Decisions* decisions);

  [[nodiscard]] Merge Find(TokenId left, TokenId right) const noexcept {
    const std::uint64_t key = Key(left, right);
    return entries_[FindEntry(key)].merge;
  }

 private:
  static constexpr std::uint64_t kFree = std::numeric_limits<std::uint64_t>::max();

  struct Entry {
    std::uint64_t key = kFree;
    Merge merge;
  };

  MergeTable() = default;
  static std::uint64_t Key(TokenId left, TokenId right) noexcept {
    return std::uint64_t{static_cast<std::uint32_t>(left)} << 32 |
           static_cast<std::uint32_t>(right);
  }
  /// The entry of `key`, or the free one where it belongs.
  [[nodiscard]] std::size_t FindEntry(std::uint64_t key) const noexcept {
    constexpr std::uint64_t kGoldenRatio = 0x9e3779b97f4a7c15;  // Fibonacci hashing
    std::size_t i = static_cast<std::size_t>(key * kGoldenRatio >> shift_);
    while (entries_[i].key != key && entries_[i].key != kFree) i = (i + 1) & (entries_.size() - 1);
    return i;
  }

  std::vector<Entry> entries_;  // open addressing, a power of two, at most half full
  int shift_ = 63;              // 64 - log2(entries_.size())
};

}  // namespace bittern::tokenizer
