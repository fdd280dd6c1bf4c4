// SPDX-License-Identifier: Apache-2.0
// The queue may hold merges that later merges made impossible. Such an entry is recognised when
// it is popped: the symbol at its position no longer merges with that rank. (A rank names one
// pair of tokens, so an equal rank means that the merge is still there.)
#include "tokenizer/bpe.hpp"

#include <algorithm>
#include <functional>

namespace bittern::tokenizer {
namespace {

constexpr std::uint32_t kNone = 0xffffffff;

/// Rank above, position below: the smallest entry is the best merge, the leftmost of equals.
constexpr std::uint64_t QueueEntry(std::uint32_t rank, std::uint32_t position) {
  return std::uint64_t{rank} << 32 | position;
}

}  // namespace

/// Merges a piece of text from its bytes upwards, the lowest rank first. Takes O(n log n).
void BpeMerger::Append(std::string_view piece, std::vector<TokenId>* ids) {
  if (piece.empty()) return;
  Start(piece);
  while (!queue_.empty()) {
    std::pop_heap(queue_.begin(), queue_.end(), std::greater<>());
    const std::uint64_t entry = queue_.back();
    queue_.pop_back();
    const auto position = static_cast<Position>(entry);
    if (symbols_[position].merge.rank == entry >> 32) MergeWithNext(position);
  }
  for (Position position = 0; position != kNone; position = symbols_[position].next) {
    if (symbols_[position].id != kNoToken) {
      ids->push_back(symbols_[position].id);
    } else {
      AppendUnknown(piece, position, ids);
    }
  }
}

/// A byte without a token: left out, or the unknown token, one for a run of them if it fuses.
void BpeMerger::AppendUnknown(std::string_view piece, Position position,
                              std::vector<TokenId>* ids) {
  loss_->Add(piece.substr(position, 1), unknown_.id != kNoToken);
  if (unknown_.id == kNoToken) return;
  // A symbol's place in the list is that of its first byte.
  const Position previous = symbols_[position].previous;
  const bool follows_one = previous != kNone && symbols_[previous].id == kNoToken;
  if (!unknown_.fuses || !follows_one) ids->push_back(unknown_.id);
}

/// A symbol for each byte of the piece, and all merges of neighbours.
void BpeMerger::Start(std::string_view piece) {
  symbols_.clear();
  queue_.clear();
  for (Position i = 0; i < piece.size(); ++i) {
    const TokenId id = vocabulary_.byte_tokens()[static_cast<unsigned char>(piece[i])];
    symbols_.push_back({id, i == 0 ? kNone : i - 1, i + 1 == piece.size() ? kNone : i + 1, {}});
  }
  for (Position i = 0; i < piece.size(); ++i) {
    if (UpdateMerge(i)) queue_.push_back(QueueEntry(symbols_[i].merge.rank, i));
  }
  std::make_heap(queue_.begin(), queue_.end(), std::greater<>());
}

bool BpeMerger::UpdateMerge(Position position) {
  Symbol& symbol = symbols_[position];
  symbol.merge = symbol.next == kNone ? Merge{} : merges_.Find(symbol.id, symbols_[symbol.next].id);
  return symbol.merge.rank != Merge::kNever;
}

void BpeMerger::Requeue(Position position) {
  if (!UpdateMerge(position)) return;
  queue_.push_back(QueueEntry(symbols_[position].merge.rank, position));
  std::push_heap(queue_.begin(), queue_.end(), std::greater<>());
}

/// The symbol takes its neighbour over; both pairs that it is now part of are looked up anew.
void BpeMerger::MergeWithNext(Position position) {
  Symbol& symbol = symbols_[position];
  Symbol& absorbed = symbols_[symbol.next];
  symbol.id = symbol.merge.merged;
  symbol.next = absorbed.next;
  absorbed.merge = {};  // its queued merges are void
  if (symbol.next != kNone) symbols_[symbol.next].previous = position;
  Requeue(position);
  if (symbol.previous != kNone) Requeue(symbol.previous);
}

}  // namespace bittern::tokenizer
