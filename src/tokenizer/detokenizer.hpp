// SPDX-License-Identifier: Apache-2.0
// Turns a stream of token ids into a stream of whole UTF-8 characters.
#pragma once

#include <string>
#include <string_view>

#include "tokenizer/tokenizer.hpp"

namespace bittern::tokenizer {

/// Holds back bytes until they form whole characters; bad bytes become U+FFFD, so the joined
/// output is always valid UTF-8. One per stream; the tokenizer must outlive it.
class StreamingDetokenizer {
 public:
  /// from_start: the tokens are those of a whole text, so that the joined output is that of
  /// Tokenizer::Decode; else they continue one, and a leading space stays.
  explicit StreamingDetokenizer(const Tokenizer& tokenizer, bool render_special = false,
                                bool from_start = false)
      : tokenizer_(&tokenizer),
        render_special_(render_special),
        strip_space_(from_start && tokenizer.strips_leading_space()) {}

  /// The characters that became whole with this token; may be empty.
  [[nodiscard]] std::string Push(TokenId id);
  /// The bytes still held back, as U+FFFD; call once at the end.
  [[nodiscard]] std::string Finish();

 private:
  const Tokenizer* tokenizer_;
  bool render_special_;
  bool strip_space_;  // until the first character
  std::string pending_;
};

}  // namespace bittern::tokenizer
