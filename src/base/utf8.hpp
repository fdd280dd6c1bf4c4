// SPDX-License-Identifier: Apache-2.0
// UTF-8, decoded strictly (Unicode 15, table 3-7): no overlong forms, no surrogates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace bittern {

/// One decoded step of a UTF-8 string.
struct Utf8Step {
  char32_t code_point;  ///< U+FFFD where the bytes are not UTF-8.
  std::size_t size;     ///< Bytes consumed: 1..4. For bad bytes: the maximal subpart.
  bool valid;
};

/// Decodes the character at the front of `text` (not empty). Bad bytes consume their "maximal
/// subpart" (Unicode 15, section 3.9), as browsers and Python's errors="replace" do.
[[nodiscard]] Utf8Step DecodeUtf8(std::string_view text) noexcept;

/// Appends `code_point` (a Unicode scalar value) as UTF-8.
void AppendUtf8(char32_t code_point, std::string* out);

/// `text` with every maximal bad subpart replaced by U+FFFD.
[[nodiscard]] std::string ReplaceInvalidUtf8(std::string_view text);

/// True if `text` is a proper prefix of some valid character, i.e. more bytes may complete it.
[[nodiscard]] bool IsIncompleteUtf8(std::string_view text) noexcept;

}  // namespace bittern
