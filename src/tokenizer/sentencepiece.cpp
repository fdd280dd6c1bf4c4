// SPDX-License-Identifier: Apache-2.0
// Tokens are found by their text, so a pair needs no table of merges: two neighbours are one
// string in the text, and it either is a token or not. Vocabulary has U+2581 as a space already.
#include "tokenizer/sentencepiece.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "base/utf8.hpp"

namespace bittern::tokenizer {
namespace {

constexpr std::string_view kUnderline = "\u2581";

/// The text as the vocabulary spells it: a space in front, and spaces for U+2581.
std::string Normalized(std::string_view text, bool with_prefix) {
  std::string out(with_prefix ? " " : "");
  while (!text.empty()) {
    const std::size_t at = std::min(text.find(kUnderline), text.size());
    out += text.substr(0, at);
    text.remove_prefix(at);
    if (text.empty()) break;
    out += ' ';
    text.remove_prefix(kUnderline.size());
  }
  return out;
}

/// Place of each id when tokens are sorted by score, the highest first.
std::vector<std::uint32_t> RanksOf(std::span<const float> scores, std::size_t num_tokens) {
  std::vector<std::uint32_t> ranks(num_tokens, 0);
  if (scores.empty()) return ranks;
  std::vector<std::uint32_t> order(num_tokens);
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::sort(order,
                    [scores](std::uint32_t a, std::uint32_t b) { return scores[a] > scores[b]; });
  for (std::size_t i = 1; i < num_tokens; ++i) {
    const bool same = scores[order[i]] == scores[order[i - 1]];
    ranks[order[i]] = same ? ranks[order[i - 1]] : static_cast<std::uint32_t>(i);
  }
  return ranks;
}

}  // namespace

/// The work on one text: symbols in a list in text order, pairs in a heap.
class SentencePieceMerger {
 public:
  SentencePieceMerger(const SentencePieceModel& model, const Vocabulary& vocabulary,
                      std::string_view text, EncodeLoss* loss)
      : model_(model), vocabulary_(vocabulary), text_(text), loss_(loss) {}

  /// Merges the best pair until no neighbours make a token, then writes the ids.
  void Run(std::vector<TokenId>* ids) {
    Split();
    for (std::size_t i = 0; i + 1 < symbols_.size(); ++i) Queue(i);
    while (!heap_.empty()) {
      std::ranges::pop_heap(heap_, IsLater);
      const Candidate best = heap_.back();
      heap_.pop_back();
      Merge(best);
    }
    for (std::size_t i = 0; i < symbols_.size(); i = symbols_[i].next) Emit(symbols_[i], ids);
  }

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};

  struct Symbol {
    std::size_t begin, size;  // size 0: merged into the one before
    std::size_t previous, next;
    TokenId user_defined;  // kNoToken: may merge
  };
  struct Candidate {
    std::uint32_t rank;
    std::size_t left, size;  // of both symbols together, to tell whether they are as they were
  };
  static bool IsLater(const Candidate& a, const Candidate& b) {
    return a.rank != b.rank ? a.rank > b.rank : a.left > b.left;
  }

  /// Characters, and user-defined tokens where they are written out (the longest at each place).
  void Split() {
    for (std::size_t begin = 0; begin < text_.size();) {
      const std::string_view rest = text_.substr(begin);
      const auto match = model_.user_defined_.MatchAt(text_, begin);
      const std::size_t size = match ? match->size : DecodeUtf8(rest).size;
      const std::size_t index = symbols_.size();
      symbols_.push_back(
          {begin, size, index == 0 ? kNone : index - 1, index + 1, match ? match->id : kNoToken});
      begin += size;
    }
  }

  [[nodiscard]] bool HasNext(std::size_t i) const { return symbols_[i].next < symbols_.size(); }

  /// Puts the pair that begins at `left` into the heap if it is a token. User-defined tokens never
  /// merge.
  void Queue(std::size_t left) {
    if (!HasNext(left)) return;
    const Symbol& a = symbols_[left];
    const Symbol& b = symbols_[a.next];
    const std::size_t size = a.size + b.size;
    if (a.user_defined != kNoToken || b.user_defined != kNoToken || size > model_.longest_) return;
    const TokenId id = vocabulary_.FindText(text_.substr(a.begin, size));
    if (id == kNoToken) return;
    heap_.push_back({model_.ranks_[static_cast<std::size_t>(id)], left, size});
    std::ranges::push_heap(heap_, IsLater);
  }

  /// Merges a pair unless one of its halves has changed since it was queued.
  void Merge(const Candidate& pair) {
    Symbol& left = symbols_[pair.left];
    if (left.size == 0 || !HasNext(pair.left)) return;
    Symbol& right = symbols_[left.next];
    if (left.size + right.size != pair.size) return;
    left.size = pair.size;
    right.size = 0;
    left.next = right.next;
    if (HasNext(pair.left)) symbols_[left.next].previous = pair.left;
    Queue(pair.left);
    if (left.previous != kNone) Queue(left.previous);
  }

  /// Writes the token of a symbol; without one its bytes, or the unknown token.
  void Emit(const Symbol& symbol, std::vector<TokenId>* ids) {
    const std::string_view piece = text_.substr(symbol.begin, symbol.size);
    TokenId id = symbol.user_defined;
    if (id == kNoToken) id = vocabulary_.FindText(piece);
    if (id != kNoToken) {
      ids->push_back(id);
      in_unknown_ = false;
    } else if (vocabulary_.has_byte_tokens()) {
      for (const char byte : piece) {
        ids->push_back(vocabulary_.byte_tokens()[static_cast<unsigned char>(byte)]);
      }
    } else {
      // A run of unknown characters is one unknown token.
      if (!in_unknown_) ids->push_back(model_.unknown_);
      in_unknown_ = true;
      loss_->Add(piece, true);
    }
  }

  const SentencePieceModel& model_;
  const Vocabulary& vocabulary_;
  std::string_view text_;
  EncodeLoss* loss_;
  std::vector<Symbol> symbols_;
  std::vector<Candidate> heap_;
  bool in_unknown_ = false;
};

/// Scores become ranks once, so that the merger compares integers. Checks that any text can be
/// encoded.
Result<SentencePieceModel> SentencePieceModel::Build(const formats::Metadata& metadata,
                                                     std::span<const float> scores,
                                                     const Vocabulary& vocabulary) {
  SentencePieceModel model(vocabulary);
  const auto size = static_cast<std::size_t>(vocabulary.size());
  for (std::size_t id = 0; id < scores.size(); ++id) {
    if (std::isnan(scores[id])) {
      return Fail(ErrorCode::kCorruptFile,
                  fmt::format("tokenizer.ggml.scores[{}] is not a number", id));
    }
  }
  model.ranks_ = RanksOf(scores, size);
  for (TokenId id = 0; id < vocabulary.size(); ++id) {
    if (vocabulary.type(id) == TokenType::kNormal) {
      model.longest_ = std::max(model.longest_, vocabulary.bytes(id).size());
    }
    if (vocabulary.type(id) == TokenType::kUnknown && model.unknown_ == kNoToken) {
      model.unknown_ = id;
    }
  }
  const auto unknown = BITTERN_TRY(metadata.GetUint("tokenizer.ggml.unknown_token_id"));
  if (unknown && *unknown < size) model.unknown_ = static_cast<TokenId>(*unknown);
  if (!vocabulary.has_byte_tokens() && model.unknown_ == kNoToken) {
    return Fail(ErrorCode::kCorruptFile,
                "the vocabulary has neither the 256 byte tokens nor an unknown token, so some text "
                "could not be encoded");
  }
  model.adds_space_prefix_ =
      BITTERN_TRY(metadata.GetBool("tokenizer.ggml.add_space_prefix")).value_or(true);
  return model;
}

void SentencePieceModel::Append(std::string_view text, bool begins, const Vocabulary& vocabulary,
                                std::vector<TokenId>* ids, EncodeLoss* loss) const {
  if (text.empty()) return;
  const std::string normalized = Normalized(text, begins && adds_space_prefix_);
  SentencePieceMerger(*this, vocabulary, normalized, loss).Run(ids);
}

}  // namespace bittern::tokenizer
