// SPDX-License-Identifier: Apache-2.0
// Patterns run by PCRE2, to check our own regular expressions. For tests
// and fuzz targets only: the library does not use PCRE2.
#pragma once

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <utf8proc.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/utf8.hpp"

namespace bittern::tokenizer {

/// A compiled pattern, matched at one place of a text.
class Pcre2Pattern {
 public:
  explicit Pcre2Pattern(const std::string& pattern) {
    int error = 0;
    PCRE2_SIZE where = 0;
    code_.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                              PCRE2_UTF | PCRE2_UCP | PCRE2_ANCHORED, &error, &where, nullptr));
    if (code_ == nullptr) {  // a defect of the test
      std::fprintf(stderr, "PCRE2 error %d at %zu: %s\n", error, where, pattern.c_str());
      std::abort();
    }
    data_.reset(pcre2_match_data_create_from_pattern(code_.get(), nullptr));
  }

  /// Bytes matched at `offset` of `text` (valid UTF-8), -1 for no match.
  [[nodiscard]] std::ptrdiff_t MatchAt(std::string_view text, std::size_t offset) const {
    const int found = pcre2_match(code_.get(), reinterpret_cast<PCRE2_SPTR>(text.data()),
                                  text.size(), offset, PCRE2_NO_UTF_CHECK, data_.get(), nullptr);
    if (found < 0 && found != PCRE2_ERROR_NOMATCH) std::abort();
    if (found < 0) return -1;
    return static_cast<std::ptrdiff_t>(pcre2_get_ovector_pointer(data_.get())[1] - offset);
  }

  /// Bytes matched at the front of `text` (valid UTF-8), 0 for no match.
  [[nodiscard]] std::size_t Match(std::string_view text) const {
    return static_cast<std::size_t>(std::max(std::ptrdiff_t{0}, MatchAt(text, 0)));
  }

 private:
  struct Free {
    void operator()(pcre2_code* code) const { pcre2_code_free(code); }
    void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
  };
  std::unique_ptr<pcre2_code, Free> code_;
  std::unique_ptr<pcre2_match_data, Free> data_;
};

/// The pieces of `text`: matches, and what lies between them. An empty match cuts.
inline std::vector<std::string> OraclePieces(const Pcre2Pattern& pattern, std::string_view text) {
  std::vector<std::string> pieces;
  std::size_t done = 0;
  const auto add = [&](std::size_t end) {
    if (end != done) pieces.emplace_back(text.substr(done, end - done));
    done = end;
  };
  for (std::size_t at = 0; at < text.size();) {
    const std::ptrdiff_t size = pattern.MatchAt(text, at);
    if (size >= 0) add(at);
    if (size > 0) {
      at += static_cast<std::size_t>(size);
      add(at);
    } else {
      at += DecodeUtf8(text.substr(at)).size;
    }
  }
  add(text.size());
  return pieces;
}

/// As above, where each pattern cuts the pieces of the one before.
inline std::vector<std::string> OraclePieces(const std::vector<Pcre2Pattern>& patterns,
                                             std::string_view text) {
  std::vector<std::string> pieces = {std::string(text)};
  if (text.empty()) pieces.clear();
  for (const Pcre2Pattern& pattern : patterns) {
    std::vector<std::string> finer;
    for (const std::string& piece : pieces) {
      for (std::string& part : OraclePieces(pattern, piece)) finer.push_back(std::move(part));
    }
    pieces = std::move(finer);
  }
  return pieces;
}

/// White_Space, spelled out: PCRE2's own \s also takes U+180E, which has not been a space since
/// Unicode 6.3.
inline const std::string kWhiteSpaceSet =
    "\\x{9}-\\x{d}\\x{20}\\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}"
    "\\x{205f}\\x{3000}";

inline void ReplaceAll(std::string_view from, std::string_view to, std::string* text) {
  for (std::size_t at = 0; (at = text->find(from, at)) != std::string::npos; at += to.size()) {
    text->replace(at, from.size(), to);
  }
}

/// A pattern of ours in PCRE2's words, where the two differ: \s (see above), \d and \b (PCRE2 has
/// other word characters), intersections, and case (PCRE2 folds all of Unicode).
inline std::string ForPcre2(std::string_view ours) {
  std::string pattern(ours);
  const std::pair<std::string, std::string> kWords[] = {
      {"(?i:'s|'t|'re|'ve|'m|'ll|'d)", "(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])"},
      {"(?i:[sdmt]|ll|ve|re)", "(?:[sSdDmMtT]|[lL][lL]|[vV][eE]|[rR][eE])"},
      {"[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}&&[^\\p{Han}]]",
       "(?:(?!\\p{Han})[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}])"},
      {"[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}&&[^\\p{Han}]]",
       "(?:(?!\\p{Han})[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}])"},
      {"[\\p{Han}]", "\\p{sc:Han}"},
      {"(?!\\p{Han})", "(?!\\p{sc:Han})"},  // without sc: script extensions, too
      {"\\d", "\\p{Nd}"},
      {"\\b",
       "(?:(?<=[\\p{L}\\p{M}\\p{Nd}\\p{Nl}\\p{Pc}])(?![\\p{L}\\p{M}\\p{Nd}\\p{Nl}\\p{Pc}])|"
       "(?<![\\p{L}\\p{M}\\p{Nd}\\p{Nl}\\p{Pc}])(?=[\\p{L}\\p{M}\\p{Nd}\\p{Nl}\\p{Pc}]))"},
      {"\\S", "[^" + kWhiteSpaceSet + "]"}};
  for (const auto& [from, to] : kWords) ReplaceAll(from, to, &pattern);
  std::string result;
  bool in_set = false;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const std::string_view rest = std::string_view(pattern).substr(i);
    if (rest.starts_with("\\s")) {
      result += in_set ? kWhiteSpaceSet : "[" + kWhiteSpaceSet + "]";
      ++i;
    } else if (rest[0] == '\\') {
      result += rest.substr(0, 2);
      ++i;
    } else {
      if (rest[0] == '[') in_set = true;
      if (rest[0] == ']') in_set = false;
      result += rest[0];
    }
  }
  return result;
}

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
      // CJK extension I came with Unicode 15.1, after the table of Han in code_points.cpp.
      const bool new_to_table = c >= 0x2ebf0 && c <= 0x2ee5d;
      comparable_[c] = new_to_pcre2 == new_to_utf8proc && !new_to_table;
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
