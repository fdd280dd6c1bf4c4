// SPDX-License-Identifier: Apache-2.0
// utf8proc knows the letters that become one; the others stand in special_casing.inc.
#include "jinja/text/casing.hpp"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "base/utf8.hpp"

namespace bittern::jinja {
namespace {

/// A letter whose upper or title case is several letters, in UTF-8. Sorted by letter.
struct SpecialCase {
  char32_t letter;
  std::string_view upper, title;
};

constexpr SpecialCase kSpecial[] = {
#define SPECIAL(letter, upper, title) {letter, upper, title},
#include "jinja/text/special_casing.inc"
#undef SPECIAL
};

/// Null for letters with plain rules.
const SpecialCase* FindSpecial(char32_t c) {
  if (c < kSpecial[0].letter) return nullptr;
  const auto row = std::ranges::lower_bound(kSpecial, c, {}, &SpecialCase::letter);
  return row != std::end(kSpecial) && row->letter == c ? row : nullptr;
}

utf8proc_int32_t Code(char32_t c) { return static_cast<utf8proc_int32_t>(c); }

void AppendUpper(char32_t c, std::string* out) {
  if (const SpecialCase* row = FindSpecial(c)) {
    *out += row->upper;
  } else {
    AppendUtf8(static_cast<char32_t>(utf8proc_toupper(Code(c))), out);
  }
}

void AppendTitle(char32_t c, std::string* out) {
  if (const SpecialCase* row = FindSpecial(c)) {
    *out += row->title;
  } else {
    AppendUtf8(static_cast<char32_t>(utf8proc_totitle(Code(c))), out);
  }
}

enum class LetterCase { kNone, kLower, kUpper, kTitle };

using CodeRange = std::pair<char32_t, char32_t>;

/// By category, and what Unicode calls Other_Lowercase and Other_Uppercase.
LetterCase CaseOf(char32_t c) {
  constexpr CodeRange kMoreLower[] = {
      {0x00AA, 0x00AA},   {0x00BA, 0x00BA},   {0x02B0, 0x02B8},   {0x02C0, 0x02C1},
      {0x02E0, 0x02E4},   {0x0345, 0x0345},   {0x037A, 0x037A},   {0x1D2C, 0x1D6A},
      {0x1D78, 0x1D78},   {0x1D9B, 0x1DBF},   {0x2071, 0x2071},   {0x207F, 0x207F},
      {0x2090, 0x209C},   {0x2170, 0x217F},   {0x24D0, 0x24E9},   {0x2C7C, 0x2C7D},
      {0xA69C, 0xA69D},   {0xA770, 0xA770},   {0xA7F8, 0xA7F9},   {0xAB5C, 0xAB5F},
      {0x10780, 0x10780}, {0x10783, 0x10785}, {0x10787, 0x107B0}, {0x107B2, 0x107BA}};
  constexpr CodeRange kMoreUpper[] = {{0x2160, 0x216F},
                                      {0x24B6, 0x24CF},
                                      {0x1F130, 0x1F149},
                                      {0x1F150, 0x1F169},
                                      {0x1F170, 0x1F189}};
  const auto is_in = [&](const CodeRange& range) { return c >= range.first && c <= range.second; };
  switch (utf8proc_category(Code(c))) {
    case UTF8PROC_CATEGORY_LU:
      return LetterCase::kUpper;
    case UTF8PROC_CATEGORY_LL:
      return LetterCase::kLower;
    case UTF8PROC_CATEGORY_LT:
      return LetterCase::kTitle;
    default:
      break;
  }
  if (std::ranges::any_of(kMoreLower, is_in)) return LetterCase::kLower;
  return std::ranges::any_of(kMoreUpper, is_in) ? LetterCase::kUpper : LetterCase::kNone;
}

bool IsCased(char32_t c) { return CaseOf(c) != LetterCase::kNone; }

/// Unicode's Case_Ignorable: marks, and what stands inside words.
bool IsCaseIgnorable(char32_t c) {
  constexpr std::u32string_view kInWords =
      U"'.:\u00B7\u0387\u055F\u05F4\u2018\u2019\u2024\u2027\uFE13\uFE52\uFE55\uFF07\uFF0E\uFF1A";
  if (kInWords.find(c) != kInWords.npos) return true;
  switch (utf8proc_category(Code(c))) {
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_SK:
      return true;
    default:
      return false;
  }
}

/// The beginning of the character before `at`.
std::size_t Before(std::string_view text, std::size_t at) {
  do --at;
  while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80);
  return at;
}

/// Whether the sigma at [begin, end) ends a word: a cased letter before, none after, what is
/// ignorable passed over.
bool IsFinalSigma(std::string_view text, std::size_t begin, std::size_t end) {
  bool after_letter = false;
  for (std::size_t at = begin; at > 0;) {
    at = Before(text, at);
    const char32_t c = DecodeUtf8(text.substr(at)).code_point;
    if (IsCaseIgnorable(c)) continue;
    after_letter = IsCased(c);
    break;
  }
  if (!after_letter) return false;
  while (end < text.size()) {
    const Utf8Step step = DecodeUtf8(text.substr(end));
    if (!IsCaseIgnorable(step.code_point)) return !IsCased(step.code_point);
    end += step.size;
  }
  return true;
}

/// Lower case of the character at [begin, end) of the text. Two letters are apart: the sigma, and
/// İ, which becomes an i and a dot.
void AppendLower(char32_t c, std::string_view text, std::size_t begin, std::size_t end,
                 std::string* out) {
  if (c == U'\u03A3') {
    *out += IsFinalSigma(text, begin, end) ? "\u03C2" : "\u03C3";
  } else if (c == U'\u0130') {
    *out += "i\u0307";
  } else {
    AppendUtf8(static_cast<char32_t>(utf8proc_tolower(Code(c))), out);
  }
}

/// `change(code point, begin, end, out)` for each character of the text, with its marks.
template <class Change>
Text MapInPlace(const Text& text, const Change& change) {
  const char* const start = text.bytes().data();
  return text.MapRuns([&](std::string_view run) {
    std::string out;
    out.reserve(run.size());
    auto at = static_cast<std::size_t>(run.data() - start);
    while (!run.empty()) {
      const Utf8Step step = DecodeUtf8(run);
      change(step.code_point, at, at + step.size, &out);
      at += step.size;
      run.remove_prefix(step.size);
    }
    return out;
  });
}

}  // namespace

std::string Upper(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Utf8Step step = DecodeUtf8(text);
    AppendUpper(step.code_point, &out);
    text.remove_prefix(step.size);
  }
  return out;
}

/// Unicode's full case folding.
std::string Casefolded(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Utf8Step step = DecodeUtf8(text);
    std::array<utf8proc_int32_t, 4> folded;
    int last = UTF8PROC_BOUNDCLASS_START;
    const auto count = utf8proc_decompose_char(Code(step.code_point), folded.data(), folded.size(),
                                               UTF8PROC_CASEFOLD, &last);
    if (count < 1 || count > static_cast<utf8proc_ssize_t>(folded.size())) {
      out += text.substr(0, step.size);
    } else {
      for (const auto c : std::span(folded).first(static_cast<std::size_t>(count))) {
        AppendUtf8(static_cast<char32_t>(c), &out);
      }
    }
    text.remove_prefix(step.size);
  }
  return out;
}

bool IsAllOneCase(std::string_view text, bool upper) {
  const LetterCase wanted = upper ? LetterCase::kUpper : LetterCase::kLower;
  bool any = false;
  while (!text.empty()) {
    const Utf8Step step = DecodeUtf8(text);
    const LetterCase found = CaseOf(step.code_point);
    if (found != LetterCase::kNone && found != wanted) return false;
    any = any || found == wanted;
    text.remove_prefix(step.size);
  }
  return any;
}

Text Lowered(const Text& text) {
  return MapInPlace(text, [&](char32_t c, std::size_t begin, std::size_t end, std::string* out) {
    AppendLower(c, text.bytes(), begin, end, out);
  });
}

Text Capitalized(const Text& text) {
  return MapInPlace(text, [&](char32_t c, std::size_t begin, std::size_t end, std::string* out) {
    if (begin == 0) {
      AppendTitle(c, out);
    } else {
      AppendLower(c, text.bytes(), begin, end, out);
    }
  });
}

Text Titled(const Text& text) {
  bool inside = false;  // a word
  return MapInPlace(text, [&](char32_t c, std::size_t begin, std::size_t end, std::string* out) {
    if (inside) {
      AppendLower(c, text.bytes(), begin, end, out);
    } else {
      AppendTitle(c, out);
    }
    inside = IsCased(c);
  });
}

Text SwappedCase(const Text& text) {
  return MapInPlace(text, [&](char32_t c, std::size_t begin, std::size_t end, std::string* out) {
    const LetterCase found = CaseOf(c);
    if (found == LetterCase::kUpper) {
      AppendLower(c, text.bytes(), begin, end, out);
    } else if (found == LetterCase::kLower) {
      AppendUpper(c, out);
    } else {
      AppendUtf8(c, out);
    }
  });
}

}  // namespace bittern::jinja
