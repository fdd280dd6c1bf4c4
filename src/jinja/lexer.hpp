// SPDX-License-Identifier: Apache-2.0
// A template's source as tokens, with white space cut as transformers sets Jinja up: trim_blocks
// (the newline after a block goes) and lstrip_blocks (blanks before a block on its line go).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace bittern::jinja {

enum class TokenKind : std::uint8_t {
  kData,
  kPrintBegin,  // {{
  kPrintEnd,
  kBlockBegin,  // {%
  kBlockEnd,
  kName,
  kString,
  kInteger,
  kFloat,
  kOperator,
  kEnd,
};

struct Token {
  TokenKind kind;
  std::string text;  ///< data, name, the string's value, the number's or operator's letters
  int line;
};

/// The last token is kEnd. Errors kCorruptFile name the line.
[[nodiscard]] Result<std::vector<Token>> Tokenize(std::string_view source);

/// "line 3: message", as every error of this folder is written.
[[nodiscard]] Error ErrorInLine(int line, ErrorCode code, std::string_view message);

}  // namespace bittern::jinja
