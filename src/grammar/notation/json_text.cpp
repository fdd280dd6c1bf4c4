// SPDX-License-Identifier: Apache-2.0
// Rules are made once for each kind of value and shared by all places that need them.
#include "grammar/notation/json_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/json/json_escape.hpp"

namespace bittern::grammar {
namespace {

/// A character below U+0080 as it stands inside a JSON string.
std::string EscapeOf(char32_t c) {
  std::string escaped;
  const char byte = static_cast<char>(c);
  AppendJsonEscaped({&byte, 1}, /*ascii=*/false, &escaped);
  return escaped;
}

/// Characters that are in both classes.
CharClass Intersection(const CharClass& a, const CharClass& b) {
  CharClass both;
  for (const CharRange& x : a) {
    for (const CharRange& y : b) {
      const char32_t first = std::max(x.first, y.first), last = std::min(x.last, y.last);
      if (first <= last) both.push_back({first, last});
    }
  }
  return Normalised(std::move(both));
}

}  // namespace

const CharClass& PlainJsonChars() {
  static const CharClass kPlain = {{0x20, 0x21}, {0x23, 0x5b}, {0x5d, kLastChar}};
  return kPlain;
}

ExprId JsonChars(const CharClass& chars, Grammar* grammar) {
  const CharClass plain = Intersection(chars, PlainJsonChars());
  std::vector<ExprId> choices;
  if (!plain.empty()) choices.push_back(grammar->Class(plain));
  for (const CharRange& range : Intersection(chars, Complement(PlainJsonChars()))) {
    for (char32_t c = range.first; c <= range.last; ++c) {
      choices.push_back(grammar->Bytes(EscapeOf(c)));
    }
  }
  return grammar->Choice(std::move(choices));
}

std::string JsonText(const Json& value) {
  if (value.is_null()) return "null";
  if (const auto truth = value.AsBool()) return *truth ? "true" : "false";
  if (const auto number = value.AsUint()) return fmt::format("{}", *number);
  if (const auto number = value.AsInt()) return fmt::format("{}", *number);
  if (const auto number = value.AsNumber()) return fmt::format("{}", *number);
  if (const std::string* text = value.AsString()) return QuotedJson(*text);
  std::string joined;
  if (const auto* array = value.AsArray()) {
    for (const Json& item : *array) {
      joined += fmt::format("{}{}", joined.empty() ? "" : kItemSeparator, JsonText(item));
    }
    return "[" + joined + "]";
  }
  for (const auto& [key, item] : *value.AsObject()) {
    joined += fmt::format("{}{}{}{}", joined.empty() ? "" : kItemSeparator, QuotedJson(key),
                          kKeySeparator, JsonText(item));
  }
  return "{" + joined + "}";
}

/// Calls the rule; makes it at the first use. It is added before its body, because values call
/// arrays and objects, which call values.
template <class Body>
ExprId JsonRules::RuleFor(Which which, const char* name, const Body& body) {
  if (!made_[which]) {
    made_[which] = true;
    rules_[which] = grammar_->AddRule(name);
    const RuleId rule = rules_[which];
    grammar_->Define(rule, body());
  }
  return grammar_->Call(rules_[which]);
}

ExprId JsonRules::Char() {
  return RuleFor(kChar, "char", [&] {
    Grammar& g = *grammar_;
    const CharClass hex = Normalised({{U'0', U'9'}, {U'a', U'f'}, {U'A', U'F'}});
    const CharClass not_d =
        Normalised({{U'0', U'9'}, {U'a', U'c'}, {U'e', U'f'}, {U'A', U'C'}, {U'E', U'F'}});
    // \uD800 to \uDFFF are halves of a character.
    const ExprId code =
        g.Choice({g.Sequence({g.Class(not_d), g.Class(hex)}),
                  g.Sequence({g.Class({{U'D', U'D'}, {U'd', U'd'}}), g.Class({{U'0', U'7'}})})});
    const ExprId unicode = g.Sequence({g.Bytes("\\u"), code, g.Repeat(g.Class(hex), 2, 2)});
    const ExprId escape = g.Sequence({g.Bytes("\\"), g.Class(Normalised({{U'"', U'"'},
                                                                         {U'\\', U'\\'},
                                                                         {U'/', U'/'},
                                                                         {U'b', U'b'},
                                                                         {U'f', U'f'},
                                                                         {U'n', U'n'},
                                                                         {U'r', U'r'},
                                                                         {U't', U't'}}))});
    return g.Choice({g.Class(PlainJsonChars()), escape, unicode});
  });
}

ExprId JsonRules::String() {
  return RuleFor(kString, "string", [&] {
    return grammar_->Sequence(
        {grammar_->Bytes("\""), grammar_->Repeat(Char(), 0, kUnbounded), grammar_->Bytes("\"")});
  });
}

ExprId JsonRules::Integer() {
  return RuleFor(kInteger, "integer", [&] {
    Grammar& g = *grammar_;
    const ExprId digits =
        g.Sequence({g.Class({{U'1', U'9'}}), g.Repeat(g.Class({{U'0', U'9'}}), 0, 15)});
    // Not "-0", which some readers take for a fraction.
    return g.Choice({g.Bytes("0"), g.Sequence({g.Optional(g.Bytes("-")), digits})});
  });
}

/// Numbers of RFC 8259 section 6 with at most 16 digits on each side of the point and two in the
/// exponent: without these limits a model may write digits without end.
ExprId JsonRules::Number() {
  return RuleFor(kNumber, "number", [&] {
    Grammar& g = *grammar_;
    const CharClass digit = {{U'0', U'9'}};
    const ExprId whole = g.Choice(
        {g.Bytes("0"), g.Sequence({g.Class({{U'1', U'9'}}), g.Repeat(g.Class(digit), 0, 15)})});
    const ExprId fraction = g.Sequence({g.Bytes("."), g.Repeat(g.Class(digit), 1, 16)});
    const ExprId exponent = g.Sequence({g.Class({{U'E', U'E'}, {U'e', U'e'}}),
                                        g.Optional(g.Class({{U'+', U'+'}, {U'-', U'-'}})),
                                        g.Repeat(g.Class(digit), 1, 2)});
    return g.Sequence(
        {g.Optional(g.Bytes("-")), whole, g.Optional(fraction), g.Optional(exponent)});
  });
}

ExprId JsonRules::List(char open, ExprId item, char close) {
  Grammar& g = *grammar_;
  const ExprId more = g.Repeat(g.Sequence({g.Bytes(kItemSeparator), item}), 0, kUnbounded);
  return g.Sequence(
      {g.Bytes({&open, 1}), g.Optional(g.Sequence({item, more})), g.Bytes({&close, 1})});
}

ExprId JsonRules::Value() {
  return RuleFor(kValue, "value", [&] {
    Grammar& g = *grammar_;
    return g.Choice({String(), Number(), g.Bytes("true"), g.Bytes("false"), g.Bytes("null"),
                     Object(), Array()});
  });
}

ExprId JsonRules::Object() {
  return RuleFor(kObject, "object", [&] {
    const ExprId member = grammar_->Sequence({String(), grammar_->Bytes(kKeySeparator), Value()});
    return List('{', member, '}');
  });
}

ExprId JsonRules::Array() {
  return RuleFor(kArray, "array", [&] { return List('[', Value(), ']'); });
}

}  // namespace bittern::grammar
