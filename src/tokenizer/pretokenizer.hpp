// SPDX-License-Identifier: Apache-2.0
// Cuts text into the pieces inside which BPE merges. The rules of LLaMA-3 are one regular
// expression; it is matched by hand here, since a regular expression engine with Unicode classes
// would be the library's largest dependency and its slowest part.
#pragma once

#include <cstddef>
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

}  // namespace bittern::tokenizer
