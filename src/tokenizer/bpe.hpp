// SPDX-License-Identifier: Apache-2.0
// Byte-pair encoding of one piece of text: start from single bytes, merge the neighbouring pair
// of lowest rank (the leftmost of equals), repeat until no pair merges.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "tokenizer/merge_table.hpp"
#include "tokenizer/vocabulary.hpp"

namespace bittern::tokenizer {

/// The replacement of a byte without a token: nothing where `id` is kNoToken.
struct UnknownToken {
  TokenId id = kNoToken;
  bool fuses = false;  ///< neighbouring ones are one
};

/// O(n log n) in the piece's length, whatever the merges. Keeps its working memory between
/// calls, so it is not thread-safe: one per call of Encode. The tables must outlive it.
class BpeMerger {
 public:
  BpeMerger(const Vocabulary& vocabulary, const MergeTable& merges, UnknownToken unknown,
            EncodeLoss* loss)
      : vocabulary_(vocabulary), merges_(merges), unknown_(unknown), loss_(loss) {}

  /// Appends the tokens of `piece` (at most kMaxPieceBytes) to `ids`. A byte without a token merges
  /// with nothing.
  void Append(std::string_view piece, std::vector<TokenId>* ids);

  static constexpr std::size_t kMaxPieceBytes = std::size_t{1} << 30;

 private:
  using Position = std::uint32_t;

  /// A token in the making: a link of a list in text order, and how it merges with the next.
  struct Symbol {
    TokenId id;
    Position previous, next;
    Merge merge;
  };

  void Start(std::string_view piece);
  /// Looks up how the symbol at `position` merges with its successor. True if it does.
  bool UpdateMerge(Position position);
  /// As UpdateMerge, and queues the merge.
  void Requeue(Position position);
  void MergeWithNext(Position position);
  /// For byte `position` of `piece`, which has no token.
  void AppendUnknown(std::string_view piece, Position position, std::vector<TokenId>* ids);

  const Vocabulary& vocabulary_;
  const MergeTable& merges_;
  UnknownToken unknown_;
  EncodeLoss* loss_;
  std::vector<Symbol> symbols_;
  std::vector<std::uint64_t> queue_;  // a heap of rank << 32 | position, smallest on top
};

}  // namespace bittern::tokenizer
