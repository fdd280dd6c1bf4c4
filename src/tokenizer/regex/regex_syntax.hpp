// SPDX-License-Identifier: Apache-2.0
// Reads the regular expressions of pre-tokenizers: the part of Oniguruma's and Perl's syntax that
// they use. What it does not know it refuses, since a wrong reading would go unnoticed.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "tokenizer/regex/code_points.hpp"

namespace bittern::tokenizer {

/// A regular expression as a tree.
struct RegexTree {
  enum class Kind {
    kSet,           ///< one character of `set`
    kConcat,        ///< `children` one after the other; none: the empty text
    kAlternate,     ///< the first of `children` that leads to a match
    kRepeat,        ///< children[0], `min` to `max` times
    kLook,          ///< children[0] matches here (or, `negated`, does not); takes no text
    kEnd,           ///< the end of the text
    kWordBoundary,  ///< between a word character and another, or an end of the text
  };
  static constexpr int kUnbounded = -1;

  Kind kind = Kind::kConcat;
  CodePointSet set;
  std::vector<RegexTree> children;
  int min = 0, max = kUnbounded;
  bool lazy = false;     ///< kRepeat: as few times as possible
  bool negated = false;  ///< kLook
};

/// Known: literals; `.`; [sets] with ranges, nesting, ^ and &&; \p{..}, \P{..} (general categories
/// and Han); \s \d \w and their opposites; \r \n \t \f \v \xHH \x{..} \uHHHH; escaped signs; ( )
/// (?: ) (?i: ) (?= ) (?! ); | * + ? {n} {n,} {n,m}, each also lazy, and possessive after one
/// character; $ (the end, or before a line feed); \z; \b. \d is Nd; (?i: ) knows the case of ASCII
/// letters only, and no other characters. Errors kUnsupported: anything else, with its offset.
[[nodiscard]] Result<RegexTree> ParseRegex(std::string_view pattern);

}  // namespace bittern::tokenizer
