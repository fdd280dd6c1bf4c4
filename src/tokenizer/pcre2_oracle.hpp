// SPDX-License-Identifier: Apache-2.0
// LLaMA-3's pattern run by PCRE2, to check the matcher written by hand. For tests and fuzz
// targets only: the library does not use PCRE2.
#pragma once

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

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

/// The pattern of pretokenizer.hpp, contractions in ASCII only.
inline const std::string kLlama3Pattern =
    "'(?:[sS]|[tT]|[rR][eE]|[vV][eE]|[mM]|[lL][lL]|[dD])"
    "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+"
    "|\\p{N}{1,3}"
    "| ?[^" +
    kWhiteSpaceSet +
    "\\p{L}\\p{N}]+[\\r\\n]*"
    "|[" +
    kWhiteSpaceSet +
    "]*[\\r\\n]+"
    "|[" +
    kWhiteSpaceSet + "]+(?![^" + kWhiteSpaceSet +
    "])"
    "|[" +
    kWhiteSpaceSet + "]+";

/// Says whether PCRE2's Unicode tables have this code point, or "unassigned" (category Cn).
class Pcre2Assigned {
 public:
  [[nodiscard]] bool operator()(char32_t code_point) const {
    std::string text;
    AppendUtf8(code_point, &text);
    return unassigned_.Match(text) == 0;
  }

 private:
  Pcre2Pattern unassigned_{"\\p{Cn}"};
};

}  // namespace bittern::tokenizer
