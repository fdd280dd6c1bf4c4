// SPDX-License-Identifier: Apache-2.0
// ASCII comes from a table, since most text is ASCII; the rest from utf8proc, but for White_Space,
// a property that utf8proc does not have.
#include "tokenizer/char_class.hpp"

#include <utf8proc.h>

#include <array>

namespace bittern::tokenizer {
namespace {

constexpr bool IsWhiteSpace(char32_t c) {
  return (c >= 0x09 && c <= 0x0d) || c == 0x20 || c == 0x85 || c == 0xa0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f ||
         c == 0x3000;
}

constexpr CharClass AsciiClassOf(char32_t c) {
  if (IsWhiteSpace(c)) return CharClass::kSpace;
  if (c >= '0' && c <= '9') return CharClass::kNumber;
  if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) return CharClass::kLetter;
  return CharClass::kOther;
}

constexpr std::array<CharClass, 128> MakeAsciiClasses() {
  std::array<CharClass, 128> classes{};
  for (char32_t c = 0; c < 128; ++c) classes[c] = AsciiClassOf(c);
  return classes;
}

constexpr std::array<CharClass, 128> kAsciiClasses = MakeAsciiClasses();

}  // namespace

CharClass ClassOf(char32_t code_point) noexcept {
  if (code_point < 128) return kAsciiClasses[code_point];
  if (IsWhiteSpace(code_point)) return CharClass::kSpace;
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(code_point))) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
      return CharClass::kLetter;
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO:
      return CharClass::kNumber;
    default:
      return CharClass::kOther;
  }
}

bool IsPunctuation(char32_t code_point) noexcept {
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(code_point))) {
    case UTF8PROC_CATEGORY_PC:
    case UTF8PROC_CATEGORY_PD:
    case UTF8PROC_CATEGORY_PS:
    case UTF8PROC_CATEGORY_PE:
    case UTF8PROC_CATEGORY_PI:
    case UTF8PROC_CATEGORY_PF:
    case UTF8PROC_CATEGORY_PO:
      return true;
    default:
      return false;
  }
}

}  // namespace bittern::tokenizer
