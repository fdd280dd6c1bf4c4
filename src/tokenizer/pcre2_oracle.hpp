// SPDX-License-Identifier: Apache-2.0
// The patterns of pretokenizer.hpp run by PCRE2, to check the matchers written by hand. For tests
// and fuzz targets only: the library does not use PCRE2.
#pragma once

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <utf8proc.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/utf8.hpp"

namespace bittern::tokenizer {

/// A compiled pattern, matched at the front of texts.
class Pcre2Pattern {
 public:
  explicit Pcre2Pattern(const std::string& pattern) {
    int error = 0;
    PCRE2_SIZE where = 0;
    code_.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                              PCRE2_UTF | PCRE2_UCP | PCRE2_ANCHORED, &error, &where, nullptr));
    if (code_ == nullptr) std::abort();  // a defect of the test
    data_.reset(pcre2_match_data_create_from_pattern(code_.get(), nullptr));
  }

  /// Bytes matched at the front of `text` (valid UTF-8), 0 for no match.
  [[nodiscard]] std::size_t Match(std::string_view text) const {
    const int found = pcre2_match(code_.get(), reinterpret_cast<PCRE2_SPTR>(text.data()),
                                  text.size(), 0, PCRE2_NO_UTF_CHECK, data_.get(), nullptr);
    if (found < 0 && found != PCRE2_ERROR_NOMATCH) std::abort();
    return found < 0 ? 0 : pcre2_get_ovector_pointer(data_.get())[1];
  }

 private:
  struct Free {
    void operator()(pcre2_code* code) const { pcre2_code_free(code); }
    void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
  };
  std::unique_ptr<pcre2_code, Free> code_;
  std::unique_ptr<pcre2_match_data, Free> data_;
};

/// White_Space, spelled out: PCRE2's own \s also takes U+180E, which has not been a space since
/// Unicode 6.3.
inline const std::string kWhiteSpaceSet =
    "\\x{9}-\\x{d}\\x{20}\\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}"
    "\\x{205f}\\x{3000}";

/// LLaMA-3's pattern, contractions in ASCII only; with one digit Qwen2's.
inline std::string ModernPattern(const std::string& digits) {
  return "'(?:[sS]|[tT]|[rR][eE]|[vV][eE]|[mM]|[lL][lL]|[dD])"
         "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+"
         "|\\p{N}" +
         digits + "| ?[^" + kWhiteSpaceSet + "\\p{L}\\p{N}]+[\\r\\n]*|[" + kWhiteSpaceSet +
         "]*[\\r\\n]+|[" + kWhiteSpaceSet + "]+(?![^" + kWhiteSpaceSet + "])|[" + kWhiteSpaceSet +
         "]+";
}
inline const std::string kLlama3Pattern = ModernPattern("{1,3}");
inline const std::string kQwen2Pattern = ModernPattern("");
inline const std::string kGpt2Pattern = "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^" +
                                        kWhiteSpaceSet + "\\p{L}\\p{N}]+|[" + kWhiteSpaceSet +
                                        "]+(?![^" + kWhiteSpaceSet + "])|[" + kWhiteSpaceSet + "]+";

/// Code points that PCRE2 and utf8proc both know, or both do not: their Unicode versions differ,
/// and what only one of them knows has two classes. Surrogates are left out.
class Comparable {
 public:
  Comparable() {
    const Pcre2Pattern unassigned("\\p{Cn}");
    for (char32_t c = 0; c <= 0x10ffff; ++c) {
      if (c >= 0xd800 && c <= 0xdfff) continue;
      std::string text;
      AppendUtf8(c, &text);
      const bool new_to_pcre2 = unassigned.Match(text) != 0;
      const bool new_to_utf8proc =
          utf8proc_category(static_cast<utf8proc_int32_t>(c)) == UTF8PROC_CATEGORY_CN;
      comparable_[c] = new_to_pcre2 == new_to_utf8proc;
      if (!comparable_[c]) ++num_excluded_;
    }
  }

  [[nodiscard]] bool operator()(char32_t c) const { return comparable_[c]; }
  [[nodiscard]] int num_excluded() const { return num_excluded_; }

 private:
  std::vector<bool> comparable_ = std::vector<bool>(0x110000, false);
  int num_excluded_ = 0;
};

}  // namespace bittern::tokenizer
