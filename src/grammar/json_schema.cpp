// SPDX-License-Identifier: Apache-2.0
// Schemas that must hold together are compiled together, so `allOf`, `$ref` with siblings and
// branches of `anyOf` need no merging of documents. Each such group is one rule, kept by the places
// of its schemas: recursive schemas come back to their own rule.
#include "grammar/json_schema.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "grammar/json_numbers.hpp"
#include "grammar/json_text.hpp"
#include "grammar/regex.hpp"
#include "grammar/schema_object.hpp"
#include "grammar/schema_view.hpp"

namespace bittern::grammar {

namespace {

/// OpenAPI's formats of numbers. A whole number is written with 16 digits at most, so 64 bits hold
/// it.
struct IntegerFormat {
  std::string_view name, least, most;
};
constexpr IntegerFormat kIntegerFormats[] = {{"int8", "-128", "127"},
                                             {"uint8", "0", "255"},
                                             {"int16", "-32768", "32767"},
                                             {"uint16", "0", "65535"},
                                             {"int32", "-2147483648", "2147483647"},
                                             {"uint32", "0", "4294967295"},
                                             {"int64", "", ""},
                                             {"uint64", "0", ""}};

/// The types that a schema without `type` speaks of; all if it speaks of none.
unsigned TypesMeant(const std::vector<SchemaAt>& all) {
  constexpr std::pair<std::string_view, unsigned> kAbout[] = {
      {"properties", kObjectType},
      {"required", kObjectType},
      {"additionalProperties", kObjectType},
      {"patternProperties", kObjectType},
      {"items", kArrayType},
      {"prefixItems", kArrayType},
      {"minItems", kArrayType},
      {"maxItems", kArrayType},
      {"pattern", kStringType},
      {"format", kStringType},
      {"minLength", kStringType},
      {"maxLength", kStringType},
      {"minimum", kIntegerType | kFractionType},
      {"maximum", kIntegerType | kFractionType},
      {"multipleOf", kIntegerType | kFractionType}};
  unsigned meant = 0;
  for (const SchemaAt& at : all) {
    for (const auto& [keyword, types] : kAbout) {
      if (at.schema->Find(keyword) != nullptr) meant |= types;
    }
  }
  return meant == 0 ? unsigned{kAllTypes} : meant;
}

}  // namespace

Result<ExprId> SchemaCompiler::Compile(std::vector<SchemaAt> schemas) {
  if (++depth_ > kDeepest) {
    --depth_;
    return Refuse(schemas[0].pointer, fmt::format("it nests deeper than {} levels", kDeepest));
  }
  auto compiled = CompileExpanded(BITTERN_TRY(Expand(document_, std::move(schemas))));
  --depth_;
  return compiled;
}

Result<ExprId> SchemaCompiler::CompileExpanded(std::vector<SchemaAt> all) {
  std::string key;
  for (const SchemaAt& at : all) {
    if (at.schema->AsBool()) return grammar_.Nothing();  // false: true has been left out
    key += fmt::format("{}{}{}\n", at.pointer, at.anyof_done ? "|" : "", at.oneof_done ? "^" : "");
  }
  if (all.empty()) return json_.Value();
  const auto [known, is_new] = rules_.emplace(key, 0);
  if (!is_new) return grammar_.Call(known->second);
  if (rules_.size() > kMostRules) {
    return Refuse(all[0].pointer, fmt::format("it has over {} parts", kMostRules));
  }
  const RuleId rule = grammar_.AddRule("#" + all[0].pointer);
  known->second = rule;
  const ExprId body = BITTERN_TRY(Body(all));
  grammar_.Define(rule, body);
  return grammar_.Call(rule);
}

/// The first `anyOf` or `oneOf` that is still to be decided becomes a choice.
Result<ExprId> SchemaCompiler::Body(const std::vector<SchemaAt>& all) {
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (const bool one : {false, true}) {
      const char* const name = one ? "oneOf" : "anyOf";
      const Json* branches = all[i].schema->Find(name);
      if (branches == nullptr || (one ? all[i].oneof_done : all[i].anyof_done)) continue;
      return Branches(all, i, one, *branches);
    }
  }
  return Values(all);
}

Result<ExprId> SchemaCompiler::Branches(const std::vector<SchemaAt>& all, std::size_t which,
                                        bool one, const Json& branches) {
  const std::string pointer = all[which].pointer + (one ? "/oneOf" : "/anyOf");
  if (branches.AsArray() == nullptr || branches.AsArray()->empty()) {
    return Refuse(pointer, "a list of schemas expected");
  }
  std::vector<SchemaAt> parts;
  for (const Json& branch : *branches.AsArray()) {
    parts.push_back({&branch, fmt::format("{}/{}", pointer, parts.size())});
  }
  std::vector<ExprId> choices;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    std::vector<SchemaAt> together = all;
    (one ? together[which].oneof_done : together[which].anyof_done) = true;
    together.push_back(parts[i]);
    if (one) {
      const std::vector<SchemaAt> excluded = BITTERN_TRY(Excluded(all, parts, i));
      together.insert(together.end(), excluded.begin(), excluded.end());
    }
    choices.push_back(BITTERN_TRY(Compile(std::move(together))));
  }
  return grammar_.Choice(std::move(choices));
}

Result<ExprId> SchemaCompiler::Values(const std::vector<SchemaAt>& all) {
  unsigned types = kAllTypes;
  for (const SchemaAt& at : all) types &= BITTERN_TRY(TypesOf(at));
  if (types == kAllTypes) types = TypesMeant(all);
  for (const SchemaAt& at : all) {
    if (at.schema->Find("const") != nullptr || at.schema->Find("enum") != nullptr) {
      return Constants(all, types);
    }
  }
  std::vector<ExprId> choices;
  if ((types & kStringType) != 0) choices.push_back(BITTERN_TRY(Strings(all)));
  if ((types & (kIntegerType | kFractionType)) != 0) {
    choices.push_back(BITTERN_TRY(Numbers(all, (types & kFractionType) == 0)));
  }
  if ((types & kBooleanType) != 0) {
    choices.push_back(grammar_.Choice({grammar_.Bytes("true"), grammar_.Bytes("false")}));
  }
  if ((types & kNullType) != 0) choices.push_back(grammar_.Bytes("null"));
  if ((types & kObjectType) != 0) choices.push_back(BITTERN_TRY(Objects(all)));
  if ((types & kArrayType) != 0) choices.push_back(BITTERN_TRY(Arrays(all)));
  return grammar_.Choice(std::move(choices));
}

/// The listed values that all schemas list and whose type all allow. Other keywords beside are
/// refused, but those that are about other types.
Result<ExprId> SchemaCompiler::Constants(const std::vector<SchemaAt>& all, unsigned types) {
  std::optional<std::vector<const Json*>> values;
  const auto intersect = [&](const std::vector<const Json*>& listed) {
    if (!values) {
      values = listed;
      return;
    }
    std::erase_if(*values, [&](const Json* value) {
      return std::ranges::none_of(listed,
                                  [&](const Json* other) { return EqualJson(*value, *other); });
    });
  };
  for (const SchemaAt& at : all) {
    if (const Json* value = at.schema->Find("const")) intersect({value});
    const Json* list = at.schema->Find("enum");
    if (list == nullptr) continue;
    if (list->AsArray() == nullptr) return Refuse(at.pointer + "/enum", "a list expected");
    std::vector<const Json*> listed;
    for (const Json& value : *list->AsArray()) listed.push_back(&value);
    intersect(listed);
  }
  unsigned found = 0;
  std::erase_if(*values, [&](const Json* value) { return (TypeOf(*value) & types) == 0; });
  for (const Json* value : *values) found |= TypeOf(*value);
  const std::pair<unsigned, std::vector<const char*>> others[] = {
      {kStringType, {"pattern", "minLength", "maxLength"}},
      {kIntegerType | kFractionType,
       {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}},
      {kObjectType,
       {"properties", "required", "additionalProperties", "patternProperties", "minProperties",
        "maxProperties"}},
      {kArrayType, {"items", "prefixItems", "minItems", "maxItems", "uniqueItems"}}};
  for (const SchemaAt& at : all) {
    for (const auto& [about, keywords] : others) {
      if ((found & about) == 0) continue;
      for (const char* keyword : keywords) {
        if (at.schema->Find(keyword) == nullptr) continue;
        return Refuse(at.pointer + "/" + keyword, "it cannot be obeyed beside const or enum");
      }
    }
  }
  std::vector<ExprId> choices;
  for (const Json* value : *values) choices.push_back(grammar_.Bytes(JsonText(*value)));
  return grammar_.Choice(std::move(choices));
}

Result<std::uint32_t> SchemaCompiler::Count(const SchemaAt& at, const char* keyword,
                                            std::uint32_t otherwise) {
  const Json* value = at.schema->Find(keyword);
  if (value == nullptr) return otherwise;
  const auto number = value->AsNumber();
  if (!number || *number < 0 ||
      *number != static_cast<double>(static_cast<std::int64_t>(std::clamp(*number, -1.0, 1e15)))) {
    return Refuse(at.pointer + "/" + keyword, "a count expected, " + value->Shown() + " found");
  }
  return static_cast<std::uint32_t>(std::min(*number, 4e9));
}

Result<ExprId> SchemaCompiler::Strings(const std::vector<SchemaAt>& all) {
  std::uint32_t least = 0, most = kUnbounded;
  std::optional<std::pair<std::string, std::string>> pattern;  // where, what
  bool search = false;
  for (const SchemaAt& at : all) {
    const std::uint32_t at_least = BITTERN_TRY(Count(at, "minLength", 0));
    const std::uint32_t at_most = BITTERN_TRY(Count(at, "maxLength", kUnbounded));
    least = std::max(least, at_least);
    most = std::min(most, at_most);
    for (const char* keyword : {"pattern", "format"}) {
      const Json* value = at.schema->Find(keyword);
      if (value == nullptr) continue;
      const bool is_format = std::string_view(keyword) == "format";
      if (value->AsString() == nullptr)
        return Refuse(at.pointer + "/" + keyword, "a text expected");
      std::string text = *value->AsString();
      if (is_format) {
        constexpr std::string_view kNotObeyed[] = {
            "idn-email",    "idn-hostname",          "iri",  "iri-reference", "uri-template",
            "json-pointer", "relative-json-pointer", "regex"};
        if (std::ranges::find(kNotObeyed, text) != std::end(kNotObeyed)) {
          return Refuse(at.pointer + "/format", "\"" + text + "\" cannot be obeyed");
        }
        // Other names are remarks, as the specification says.
        if (PatternOfFormat(text).empty()) continue;
        text = PatternOfFormat(text);
      }
      if (pattern && pattern->second != text) {
        return Refuse(at.pointer + "/" + keyword, "two patterns cannot be obeyed together");
      }
      pattern = {at.pointer + "/" + keyword, text};
      search = !is_format;
    }
  }
  if (least > most) return grammar_.Nothing();
  if (!pattern) {
    if (least == 0 && most == kUnbounded) return json_.String();
    if (least > kMostTimes) return Refuse(all[0].pointer + "/minLength", "it is too large");
    const ExprId chars =
        grammar_.Repeat(json_.Char(), least, most > kMostTimes ? kUnbounded : most);
    if (most != kUnbounded && most > kMostTimes) {
      // A shorter limit obeys a longer one.
      return grammar_.Sequence({grammar_.Bytes("\""),
                                grammar_.Repeat(json_.Char(), least, kMostTimes),
                                grammar_.Bytes("\"")});
    }
    return grammar_.Sequence({grammar_.Bytes("\""), chars, grammar_.Bytes("\"")});
  }
  auto inner = AddRegex(pattern->second, {.search = search, .json = true}, &grammar_);
  if (!inner) return Refuse(pattern->first, inner.error().message);
  if (least > 0 || most != kUnbounded) {
    // Fine where the pattern keeps inside these lengths, anyway or with other counts.
    *inner = WithLengths(*inner, least, most);
    const auto [shortest, longest] = LengthsOf(*inner);
    if (shortest < least || longest > most) {
      return Refuse(pattern->first, "it cannot be obeyed beside minLength or maxLength");
    }
  }
  return grammar_.Sequence({grammar_.Bytes("\""), *inner, grammar_.Bytes("\"")});
}

/// The same expression with other counts, where one repetition of single characters is all that
/// has no fixed length; else itself.
ExprId SchemaCompiler::WithLengths(ExprId id, std::uint64_t least, std::uint64_t most) {
  const Expr expr = grammar_.expr(id);
  if (expr.kind == Expr::Kind::kRepeat) {
    if (LengthsOf(expr.parts[0]) != std::pair<std::uint64_t, std::uint64_t>{1, 1}) return id;
    const std::uint64_t low = std::max<std::uint64_t>(least, expr.least);
    std::uint64_t high = expr.most == kUnbounded ? most : std::min<std::uint64_t>(most, expr.most);
    if (low > kMostTimes || low > high) return id;
    // A shorter limit obeys a longer one.
    if (high != kUnbounded) high = std::min<std::uint64_t>(high, kMostTimes);
    return grammar_.Repeat(expr.parts[0], static_cast<std::uint32_t>(low),
                           high >= kUnbounded ? kUnbounded : static_cast<std::uint32_t>(high));
  }
  if (expr.kind != Expr::Kind::kSequence) return id;
  std::vector<ExprId> parts = expr.parts;
  std::size_t which = parts.size();
  std::uint64_t fixed = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto [shortest, longest] = LengthsOf(parts[i]);
    if (shortest == longest) {
      fixed += shortest;
    } else if (which != parts.size()) {
      return id;
    } else {
      which = i;
    }
  }
  if (which == parts.size() || fixed > most) return id;
  parts[which] = WithLengths(parts[which], least > fixed ? least - fixed : 0,
                             most == kUnbounded ? most : most - fixed);
  return grammar_.Sequence(std::move(parts));
}

/// Characters of the texts of an expression without rules, in a string: an escape is one.
std::pair<std::uint64_t, std::uint64_t> SchemaCompiler::LengthsOf(ExprId id) const {
  constexpr std::uint64_t kMany = std::uint64_t{1} << 40;
  const Expr& expr = grammar_.expr(id);
  if (expr.kind == Expr::Kind::kBytes || expr.kind == Expr::Kind::kClass) return {1, 1};
  std::uint64_t least = 0, most = 0;
  bool first = true;
  for (const ExprId part : expr.parts) {
    const auto [a, b] = LengthsOf(part);
    if (expr.kind == Expr::Kind::kChoice) {
      least = first ? a : std::min(least, a);
      most = std::max(most, b);
    } else {
      least += a;
      most += b;
    }
    first = false;
  }
  if (expr.kind == Expr::Kind::kRepeat) {
    least *= expr.least;
    most = expr.most == kUnbounded ? kMany : most * expr.most;
  }
  return {std::min(least, kMany), std::min(most, kMany)};
}

Result<ExprId> SchemaCompiler::Numbers(const std::vector<SchemaAt>& all, bool whole) {
  NumberBounds bounds;
  std::optional<std::uint32_t> step;
  const auto tighter = [](const Decimal& a, const Decimal& b, bool least) {
    // Compared as numbers are: sign, length, digits.
    const auto value = [](const Decimal& d) {
      const double x = std::stod(d.whole + "." + (d.fraction.empty() ? "0" : d.fraction));
      return d.negative ? -x : x;
    };
    return least ? value(a) > value(b) : value(a) < value(b);
  };
  const auto bind = [&](const Decimal& decimal, bool least, bool open) {
    auto& bound = least ? bounds.least : bounds.most;
    bool& is_open = least ? bounds.above_least : bounds.below_most;
    if (!bound || tighter(decimal, *bound, least)) {
      bound = decimal;
      is_open = open;
    } else if (!tighter(*bound, decimal, least)) {
      is_open = is_open || open;
    }
  };
  for (const SchemaAt& at : all) {
    for (const char* keyword : {"minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"}) {
      const Json* value = at.schema->Find(keyword);
      if (value == nullptr) continue;
      const bool open = keyword[0] == 'e', least = std::string_view(keyword).ends_with("inimum");
      const std::string where = at.pointer + "/" + keyword;
      if (!value->AsNumber())
        return Refuse(where, "a number expected, " + value->Shown() + " found");
      const auto decimal = Decimal::Parse(JsonText(*value));
      if (!decimal) {
        // Further out than what is written anyway.
        const bool away = least ? *value->AsNumber() < -1e16 : *value->AsNumber() > 1e16;
        if (away) continue;
        return Refuse(where, "it is too large or too fine");
      }
      bind(*decimal, least, open);
    }
    if (const Json* format = at.schema->Find("format"); format != nullptr && format->AsString()) {
      const auto* known =
          std::ranges::find(kIntegerFormats, *format->AsString(), &IntegerFormat::name);
      if (known != std::end(kIntegerFormats)) {
        whole = true;
        if (!known->least.empty()) bind(*Decimal::Parse(known->least), true, false);
        if (!known->most.empty()) bind(*Decimal::Parse(known->most), false, false);
      }
    }
    if (const Json* value = at.schema->Find("multipleOf")) {
      const auto number = value->AsNumber();
      if (!number || *number < 1 || *number > 1000 ||
          *number != static_cast<double>(static_cast<int>(*number)) || step) {
        return Refuse(at.pointer + "/multipleOf", "one whole number of 1 to 1000 expected");
      }
      step = static_cast<std::uint32_t>(*number);
    }
  }
  const bool bounded = bounds.least || bounds.most;
  if (step && *step > 1) {
    const bool from_zero = bounds.least && bounds.least->is_zero() && !bounds.above_least;
    if (bounds.most || (bounds.least && !from_zero)) {
      return Refuse(all[0].pointer + "/multipleOf", "it cannot be obeyed beside bounds");
    }
    return MultiplesOf(*step, !from_zero, &grammar_);
  }
  bounds.whole = whole || step.has_value();
  if (!bounded) return bounds.whole ? json_.Integer() : json_.Number();
  return BoundedNumber(bounds, &grammar_);
}

Result<ExprId> SchemaCompiler::Arrays(const std::vector<SchemaAt>& all) {
  std::uint32_t least = 0, most = kUnbounded;
  std::size_t prefix = 0;
  bool free = true;
  for (const SchemaAt& at : all) {
    const std::uint32_t at_least = BITTERN_TRY(Count(at, "minItems", 0));
    const std::uint32_t at_most = BITTERN_TRY(Count(at, "maxItems", kUnbounded));
    least = std::max(least, at_least);
    most = std::min(most, at_most);
    const Json* unique = at.schema->Find("uniqueItems");
    if (unique != nullptr && unique->AsBool() == true && most > 1) {
      return Refuse(at.pointer + "/uniqueItems", "this keyword cannot be obeyed");
    }
    for (const char* keyword : {"prefixItems", "items"}) {
      const Json* items = at.schema->Find(keyword);
      if (items == nullptr) continue;
      free = false;
      if (items->AsArray() != nullptr) prefix = std::max(prefix, items->AsArray()->size());
    }
  }
  if (least > most) return grammar_.Nothing();
  if (least > kMostItems) return Refuse(all[0].pointer + "/minItems", "it is too large");
  if (free && least == 0 && most == kUnbounded) return json_.Array();
  // The schemas of the item at a place; behind the prefixes all places are alike.
  std::vector<ExprId> items;
  for (std::size_t place = 0; place <= prefix; ++place) {
    items.push_back(BITTERN_TRY(Item(all, place)));
  }
  if (most != kUnbounded) most = std::min<std::uint32_t>(most, kMostItems);
  return ItemList(items, least, most);
}

Result<ExprId> SchemaCompiler::Item(const std::vector<SchemaAt>& all, std::size_t place) {
  std::vector<SchemaAt> together;
  for (const SchemaAt& at : all) {
    const Json* prefix = at.schema->Find("prefixItems");
    const Json* items = at.schema->Find("items");
    std::string name = "prefixItems", rest = "items";
    if (items != nullptr && items->AsArray() != nullptr) {  // draft 7
      prefix = items;
      items = at.schema->Find("additionalItems");
      name = "items";
      rest = "additionalItems";
    }
    const auto* list = prefix == nullptr ? nullptr : prefix->AsArray();
    if (list != nullptr && place < list->size()) {
      together.push_back({&(*list)[place], fmt::format("{}/{}/{}", at.pointer, name, place)});
    } else if (items != nullptr) {
      together.push_back({items, at.pointer + "/" + rest});
    }
  }
  if (together.empty()) return json_.Value();
  return Compile(std::move(together));
}

/// [items[0], items[1], ..., the last one again and again], least to most of them.
ExprId SchemaCompiler::ItemList(const std::vector<ExprId>& items, std::uint32_t least,
                                std::uint32_t most) {
  Grammar& g = grammar_;
  const auto prefix = static_cast<std::uint32_t>(items.size() - 1);
  const auto part = [&](std::uint32_t place) {
    const ExprId item = items[std::min<std::size_t>(place, prefix)];
    return place == 0 ? item : g.Sequence({g.Bytes(kItemSeparator), item});
  };
  if (most == 0) return g.Bytes("[]");
  // From the back: what may follow item `place`.
  ExprId rest = g.Empty();
  const std::uint32_t fixed = std::max(prefix, 1u);  // places that are written one by one
  if (most > fixed) {
    const std::uint32_t must = least > fixed ? least - fixed : 0;
    rest = g.Repeat(part(fixed), must, most == kUnbounded ? kUnbounded : most - fixed);
  }
  for (std::uint32_t place = std::min(fixed, most); place-- > 0;) {
    rest = g.Sequence({part(place), rest});
    if (place >= least) rest = g.Optional(rest);
  }
  return g.Sequence({g.Bytes("["), rest, g.Bytes("]")});
}

Result<Grammar> ParseJsonSchema(std::string_view schema) {
  auto parsed = formats::Json::Parse(
      schema, {.max_bytes = std::size_t{4} << 20, .max_depth = 200, .max_values = 200'000});
  if (!parsed) {
    return Fail(ErrorCode::kInvalidArgument, "the schema is not JSON: " + parsed.error().message);
  }
  Grammar grammar;
  const RuleId root = grammar.AddRule("root");
  SchemaCompiler compiler(*parsed, grammar);
  const ExprId body = BITTERN_TRY(compiler.Compile({{&*parsed, ""}}));
  grammar.Define(root, body);
  return grammar;
}

Grammar JsonObjectGrammar() {
  Grammar grammar;
  const RuleId root = grammar.AddRule("root");
  JsonRules rules(&grammar);
  grammar.Define(root, rules.Object());
  return grammar;
}

}  // namespace bittern::grammar
