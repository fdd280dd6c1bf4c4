// SPDX-License-Identifier: Apache-2.0
// The tokens of a vocabulary: what each stands for, and which token stands for given
// bytes. Owns its bytes, so it outlives the file it was read from.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/decision.hpp"
#include "base/result.hpp"
#include "tokenizer/tokenizer.hpp"

namespace bittern::tokenizer {

inline constexpr TokenId kNoToken = -1;

/// The values of tokenizer.ggml.token_type (GGUF specification).
enum class TokenType : std::uint8_t {
  kNormal = 1,       ///< Text, spelled in the byte alphabet.
  kUnknown = 2,      ///< Stands for what cannot be encoded; never produced here.
  kControl = 3,      ///< A marker such as <|eot_id|>; not text.
  kUserDefined = 4,  ///< Text in plain UTF-8 that is always kept in one piece.
  kUnused = 5,       ///< A place holder; never produced.
  kByte = 6,         ///< As kNormal in a byte-level vocabulary; else <0x00> to <0xFF>.
};

/// How normal tokens are written in the file.
enum class Spelling : std::uint8_t {
  kByteAlphabet,  ///< bytes, by base/byte_alphabet.hpp: byte-level BPE
  kUnderline,     ///< UTF-8 with U+2581 for a space; bytes are tokens like <0x0A>: SentencePiece
};

class Vocabulary {
 public:
  /// `strings` as in tokenizer.ggml.tokens; `types` as in tokenizer.ggml.token_type, or empty
  /// where the file has none: then strings of the form <|...|> are control tokens (kUnderline:
  /// <s> and </s>) and the rest is normal. What is odd but harmless is appended to `decisions`.
  /// Errors: kCorruptFile (a type outside 0..6; no token of a single byte; with kUnderline byte
  /// tokens for some of the 256), kUnsupported (4 GiB of strings or more; a control or user-defined
  /// token of more than 1,024 bytes).
  [[nodiscard]] static Result<Vocabulary> Build(std::span<const std::string_view> strings,
                                                std::span<const std::int32_t> types,
                                                Spelling spelling, Decisions* decisions);

  [[nodiscard]] TokenId size() const noexcept { return static_cast<TokenId>(types_.size()); }
  /// For the next two: 0 <= id < size().
  [[nodiscard]] TokenType type(TokenId id) const noexcept { return types_[Index(id)]; }
  /// The bytes that the token stands for; for control tokens, their name.
  [[nodiscard]] std::string_view bytes(TokenId id) const noexcept {
    const std::size_t begin = ends_[Index(id)];
    return std::string_view(bytes_).substr(begin, ends_[Index(id) + 1] - begin);
  }

  /// The token that text with exactly these bytes may become (normal tokens only, the lowest id
  /// of equals), or kNoToken.
  [[nodiscard]] TokenId FindText(std::string_view bytes) const noexcept;
  /// The control token of this name (the lowest id of equals), or kNoToken. Linear.
  [[nodiscard]] TokenId FindControl(std::string_view name) const noexcept;
  /// For kUnderline: whether the 256 byte tokens exist.
  [[nodiscard]] bool has_byte_tokens() const noexcept { return byte_tokens_[0] != kNoToken; }
  /// The token of each single byte, or kNoToken. With kUnderline all 256 exist, or none.
  [[nodiscard]] const std::array<TokenId, 256>& byte_tokens() const noexcept {
    return byte_tokens_;
  }

 private:
  struct Slot {
    std::uint32_t hash = 0;
    TokenId id = kNoToken;
  };

  Vocabulary() = default;
  static std::size_t Index(TokenId id) noexcept { return static_cast<std::size_t>(id); }
  /// The slot of `bytes`, or the free one where it belongs.
  [[nodiscard]] std::size_t FindSlot(std::string_view bytes, std::uint32_t hash) const noexcept;
  /// False if a token with the same bytes is there already.
  bool IndexText(TokenId id);
  /// Appends what a token of text stands for; false if it is not spelled as it should be.
  [[nodiscard]] bool AppendText(TokenId id, std::string_view string, TokenType type,
                                Spelling spelling);
  [[nodiscard]] Result<void> FillByteTokens(Spelling spelling, Decisions* decisions);

  std::string bytes_;                // of all tokens, one after the other
  std::vector<std::uint32_t> ends_;  // size() + 1: ends_[id] is where token id begins
  std::vector<TokenType> types_;
  std::vector<Slot> slots_;  // open addressing, a power of two, at most half full
  std::array<TokenId, 256> byte_tokens_{};
};

}  // namespace bittern::tokenizer
