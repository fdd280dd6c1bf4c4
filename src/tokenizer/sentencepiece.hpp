// SPDX-License-Identifier: Apache-2.0
// Byte-pair encoding as SentencePiece does it (LLaMA-2's kind, tokenizer.ggml.model "llama"): a
// text is not cut into pieces first; it starts as characters, and the two neighbours that together
// make the token of highest score merge (the leftmost of equals), until none do. What is no token
// in the end becomes its bytes, or the unknown token.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "formats/metadata.hpp"
#include "tokenizer/special_tokens.hpp"
#include "tokenizer/vocabulary.hpp"

namespace bittern::tokenizer {

/// The rules of one vocabulary. Immutable; keeps no reference to the vocabulary it was built from
/// but needs it in Append.
class SentencePieceModel {
 public:
  /// `scores` by id (empty: all equal), from tokenizer.ggml.scores. Reads
  /// tokenizer.ggml.add_space_prefix (true where absent) and unknown_token_id. Errors
  /// kCorruptFile: a score that is no number, neither byte tokens nor an unknown token.
  [[nodiscard]] static Result<SentencePieceModel> Build(const formats::Metadata& metadata,
                                                        std::span<const float> scores,
                                                        const Vocabulary& vocabulary);

  [[nodiscard]] bool adds_space_prefix() const noexcept { return adds_space_prefix_; }

  /// Appends the tokens of `text` (valid UTF-8), with its space prefix where it `begins` a text; an
  /// empty one has none.
  /// U+2581 in the text means a space, as everywhere in SentencePiece. O(n log n). Thread-safe.
  /// Characters that become the unknown token are counted in `loss`.
  void Append(std::string_view text, bool begins, const Vocabulary& vocabulary,
              std::vector<TokenId>* ids, EncodeLoss* loss) const;

 private:
  explicit SentencePieceModel(const Vocabulary& vocabulary)
      : user_defined_(vocabulary, /*with_user_defined=*/true, /*with_control=*/false) {}

  friend class SentencePieceMerger;

  std::vector<std::uint32_t> ranks_;  // by id: 0 for the highest score, equal for equal scores
  SpecialTokens user_defined_;        // kept whole, never merged
  std::size_t longest_ = 0;           // bytes of the longest token
  TokenId unknown_ = kNoToken;
  bool adds_space_prefix_ = true;
};

}  // namespace bittern::tokenizer
