// SPDX-License-Identifier: Apache-2.0
// JSON as a model should write it: what strings, numbers and values look like.
#pragma once

#include <string>
#include <string_view>

#include "base/json/json.hpp"
#include "base/json/json_escape.hpp"
#include "grammar/automaton/grammar.hpp"

namespace bittern::grammar {

/// Between elements, and between a key and its value: JSON is written on one line, as most programs
/// write it.
inline constexpr std::string_view kItemSeparator = ", ", kKeySeparator = ": ";

/// A character of a string as JSON writes it: the class, where it stands for itself, and its
/// escapes.
[[nodiscard]] ExprId JsonChars(const CharClass& chars, Grammar* grammar);

/// Characters that a string may have as themselves.
[[nodiscard]] const CharClass& PlainJsonChars();

/// A value on one line.
[[nodiscard]] std::string JsonText(const Json& value);

/// Rules of any JSON, made when they are first asked for.
class JsonRules {
 public:
  explicit JsonRules(Grammar* grammar) : grammar_(grammar) {}

  [[nodiscard]] ExprId Char();     ///< one character of a string, plain or escaped
  [[nodiscard]] ExprId String();   ///< with its quotes
  [[nodiscard]] ExprId Integer();  ///< of at most 16 digits
  [[nodiscard]] ExprId Number();
  [[nodiscard]] ExprId Value();
  [[nodiscard]] ExprId Object();
  [[nodiscard]] ExprId Array();
  /// item, then (separator item)*, in brackets; may be empty.
  [[nodiscard]] ExprId List(char open, ExprId item, char close);

 private:
  enum Which : std::uint8_t { kChar, kString, kInteger, kNumber, kValue, kObject, kArray, kCount };
  template <class Body>
  ExprId RuleFor(Which which, const char* name, const Body& body);

  Grammar* grammar_;
  RuleId rules_[kCount] = {};
  bool made_[kCount] = {};
};

}  // namespace bittern::grammar
