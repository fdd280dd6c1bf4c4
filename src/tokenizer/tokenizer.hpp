// SPDX-License-Identifier: Apache-2.0
// Text to token ids and back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/decision.hpp"
#include "base/result.hpp"
#include "formats/metadata.hpp"
#include "tokenizer/token_id.hpp"

namespace bittern::tokenizer {

struct EncodeOptions {
  bool add_bos = true;         ///< Prepend BOS if the model wants one (never twice).
  bool add_eos = false;        ///< Append EOS if the model wants one (embeddings).
  bool parse_special = false;  ///< Literal "<|eot_id|>" in the text becomes the special token.
};

/// The parts of a text that a vocabulary has no tokens for.
struct EncodeLoss {
  std::size_t num_bytes = 0;    ///< bytes that were left out, or became an unknown token
  bool became_unknown = false;  ///< the latter
  std::string first;            ///< the first of them: a byte, or a character

  void Add(std::string_view bytes, bool is_unknown);
};

/// Bytes [begin, end) of a text.
struct ByteRange {
  std::size_t begin, end;
};

/// A vocabulary with its rules. Immutable; any number of threads may share one.
class Tokenizer {
 public:
  /// Builds from `tokenizer.ggml.*` keys (formats as in llama.cpp). What the file leaves open
  /// is decided here and appended to `decisions`. Errors: kCorruptFile (inconsistent tables),
  /// kUnsupported (unknown model or pre-tokenizer, by name).
  [[nodiscard]] static Result<Tokenizer> FromMetadata(const formats::Metadata& metadata,
                                                      Decisions* decisions);

  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;
  ~Tokenizer();

  /// Bytes that are not UTF-8 are encoded as U+FFFD, as Hugging Face does. A byte that has no
  /// token is left out, or becomes the unknown token (docs/tokenizer.md); `loss`, if it is not
  /// null, counts these.
  [[nodiscard]] std::vector<TokenId> Encode(std::string_view text,
                                            const EncodeOptions& options = {},
                                            EncodeLoss* loss = nullptr) const;

  /// As Encode, but control tokens written in the text are parsed only where all of their bytes lie
  /// in one of `trusted` (ascending, disjoint, inside the text): <|eot_id|> that a template wrote
  /// ends a turn, one that a user typed is text. At each byte of `cuts` (ascending, none behind the
  /// text's end) a text begins that a model went on with: no token but a control token crosses it,
  /// and SentencePiece puts no space before it that it has already.
  [[nodiscard]] std::vector<TokenId> EncodeTrusted(std::string_view text,
                                                   std::span<const ByteRange> trusted,
                                                   bool add_bos = true,
                                                   std::span<const std::size_t> cuts = {},
                                                   EncodeLoss* loss = nullptr) const;

  /// The bytes of all tokens joined; control tokens give nothing unless `render_special`.
  /// The result may be cut inside a character: StreamingDetokenizer holds such ends back.
  /// Ids outside the vocabulary give nothing. For SentencePiece models that put a space in front
  /// of a text, one leading space is taken off again: `ids` are a whole text, not a part of one.
  [[nodiscard]] std::string Decode(std::span<const TokenId> ids, bool render_special = false) const;

  /// The bytes of one token, as Decode, but with its space wherever it stands.
  [[nodiscard]] std::string_view TokenBytes(TokenId id, bool render_special = false) const;

  [[nodiscard]] std::int32_t vocab_size() const noexcept;
  /// Bytes of the longest token. Time: linear in the vocabulary.
  [[nodiscard]] std::size_t longest_token() const noexcept;
  [[nodiscard]] TokenId bos_id() const noexcept;  ///< -1: none
  [[nodiscard]] TokenId eos_id() const noexcept;  ///< -1: none
  [[nodiscard]] bool adds_bos() const noexcept;
  [[nodiscard]] bool adds_eos() const noexcept;
  /// True if Decode takes a leading space off.
  [[nodiscard]] bool strips_leading_space() const noexcept;
  /// True for eos and every other end-of-generation token (<|eot_id|>, <|im_end|>, ...).
  [[nodiscard]] bool IsEndOfGeneration(TokenId id) const noexcept;
  [[nodiscard]] std::span<const TokenId> end_of_generation_ids() const noexcept;
  [[nodiscard]] bool IsControl(TokenId id) const noexcept;

 private:
  struct Impl;
  explicit Tokenizer(std::unique_ptr<const Impl> impl);
  /// `find(from)` gives the next special token at or after a byte.
  template <class Find>
  [[nodiscard]] std::vector<TokenId> EncodeAround(std::string_view text,
                                                  std::span<const std::size_t> cuts,
                                                  const EncodeOptions& options, const Find& find,
                                                  EncodeLoss* loss) const;
  std::unique_ptr<const Impl> impl_;
};

}  // namespace bittern::tokenizer
