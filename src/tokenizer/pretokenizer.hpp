// SPDX-License-Identifier: Apache-2.0
// Cuts text into the pieces inside which BPE merges. The rules of a model are one regular
// expression or several, each cutting the pieces of the one before; they are matched by hand here,
// since a regular expression engine with Unicode classes would be the library's largest dependency
// and its slowest part.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace bittern::tokenizer {

/// Size in bytes of the first piece of `text` (not empty, valid UTF-8) under LLaMA-3's pattern:
///
///   '([sStTmMdD]|[rR][eE]|[vV][eE]|[lL][lL])
///   | [^\r\n\p{L}\p{N}]?\p{L}+
///   | \p{N}{1,3}
///   |  ?[^\s\p{L}\p{N}]+[\r\n]*
///   | \s*[\r\n]+
///   | \s+(?!\S)
///   | \s+
///
/// The first alternative that matches wins. Contractions are case-insensitive in ASCII only, as
/// in llama.cpp: a caseless regular expression would let U+017F pass for s. The result is never
/// 0. Bytes that are not UTF-8 count as U+FFFD. Source: the LLaMA-3 release's tokenizer.py.
[[nodiscard]] std::size_t FirstLlama3PieceSize(std::string_view text) noexcept;

/// One way to cut. A pattern that does not match everywhere cuts out its matches; what lies
/// between two of them is a piece too.
enum class Pass : std::uint8_t {
  kLlama3,  ///< FirstLlama3PieceSize
  kQwen2,   ///< the same with \p{N} in place of \p{N}{1,3}
  /// GPT-2: 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
  kGpt2,
  kPunctuationRuns,        ///< [\p{P}$+<=>^~|`]+, which has all of ASCII's punctuation
  kPunctuationRunsNoTick,  ///< [\p{P}$+<=>^~|]+
  kPunctuationEach,        ///< [\p{P}$+<=>^~|`]
  kNumberRuns,             ///< \p{N}+
  kNumberEach,             ///< \p{N}
  kAsciiDigitEach,         ///< [0-9]
  kAsciiDigitTriples,      ///< [0-9][0-9][0-9]
  /// As kNumberRuns and kNumberEach where Hugging Face applies them to text that is spelled in
  /// the byte alphabet: bytes B2, B3, B9, BC, BD and BE are then written as numbers (U+00B2 ...).
  kSpelledNumberRuns,
  kSpelledNumberEach,
};

/// Size in bytes of the first piece of `text` (not empty) under one pass; never 0. The spelled
/// passes may cut inside a character.
[[nodiscard]] std::size_t FirstPieceSize(Pass pass, std::string_view text) noexcept;

}  // namespace bittern::tokenizer
