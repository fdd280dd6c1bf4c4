// SPDX-License-Identifier: Apache-2.0
// Schemas that must hold together are compiled together, so `allOf`, `$ref` with siblings and
// branches of `anyOf` need no merging of documents. Each such group is one rule, kept by the places
// of its schemas: recursive schemas come back to their own rule.
#include "grammar/schema/json_schema.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "grammar/notation/json_numbers.hpp"
#include "grammar/notation/json_text.hpp"
#include "grammar/notation/regex.hpp"
#include "grammar/schema/compiler.hpp"
#include "grammar/schema/view.hpp"

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

constexpr std::string_view kForbiddenBeside =
    "constants cannot be forbidden beside a pattern, a format or a length that allows them";

/// The rule as a pattern that is searched for.
std::string WholePattern(const StringRule& rule) {
  return rule.search ? rule.pattern : fmt::format("^({})$", rule.pattern);
}

}  // namespace

Result<ExprId> SchemaCompiler::Compile(std::vector<SchemaAt> schemas) {
  if (++depth_ > kDeepest) {
    --depth_;
    return Refuse(schemas[0].pointer, fmt::format("it nests deeper than {} levels", kDeepest));
  }
  auto expanded = Expand(document_, std::move(schemas));
  auto compiled = expanded ? CompileExpanded(*std::move(expanded))
                           : Result<ExprId>(tl::unexpected(expanded.error()));
  --depth_;
  return compiled;
}

/// Finds or makes the rule of this set of schemas. The rule exists before its body is compiled, so
/// a schema that refers to itself becomes a rule that calls itself. Refusals are kept by rule, too.
Result<ExprId> SchemaCompiler::CompileExpanded(std::vector<SchemaAt> all) {
  std::string key;
  for (const SchemaAt& at : all) {
    if (at.schema->AsBool()) return grammar_.Nothing();  // false: true has been left out
    key += fmt::format("{}\t{}\n", at.pointer, at.done);
  }
  if (all.empty()) return json_.Value();
  document_->Spend(20 + key.size() / 32);
  const auto [known, is_new] = rules_.emplace(key, 0);
  if (const auto refused = refused_.find(known->second); !is_new && refused != refused_.end()) {
    return tl::unexpected(refused->second);
  }
  if (!is_new) return grammar_.Call(known->second);
  const RuleId rule = grammar_.AddRule("#" + all[0].pointer);
  known->second = rule;
  const auto body = Body(all);
  document_->Spend((grammar_.num_exprs() - num_exprs_) / 2);
  num_exprs_ = grammar_.num_exprs();
  grammar_.Define(rule, body ? *body : grammar_.Nothing());
  if (!body) {  // some other way may be left
    refused_.emplace(rule, body.error());
    return tl::unexpected(body.error());
  }
  return grammar_.Call(rule);
}

/// Values that some `not` forbids one by one.
std::vector<SchemaCompiler::SchemaValue> SchemaCompiler::Forbidden(const Schemas& all) {
  std::vector<SchemaValue> values;
  for (const SchemaAt& at : all) {
    const auto forbidden = ForbiddenConstants(*at.schema);
    if (!forbidden) continue;
    for (const Json* value : *forbidden) values.push_back({value, at.pointer + "/not"});
  }
  return values;
}

/// A choice over the types that all schemas allow; constants have a way of their own.
Result<ExprId> SchemaCompiler::Values(const std::vector<SchemaAt>& all) {
  unsigned types = kAllTypes;
  for (const SchemaAt& at : all) types &= BITTERN_TRY(TypesOf(at));
  if (types == kAllTypes) types = TypesMeant(all);
  for (const SchemaAt& at : all) {
    if (at.schema->Find("const") != nullptr || at.schema->Find("enum") != nullptr) {
      return Constants(all, types);
    }
  }
  const auto forbids = [&](std::string_view text) {
    return std::ranges::any_of(
        Forbidden(all), [&](const SchemaValue& value) { return JsonText(*value.value) == text; });
  };
  for (const SchemaValue& value : Forbidden(all)) {
    constexpr unsigned kNotSaid = kIntegerType | kFractionType | kArrayType | kObjectType;
    if ((TypeOf(*value.value) & types & kNotSaid) == 0) continue;
    return Refuse(value.pointer, "of constants, only texts, truths and null can be forbidden here");
  }
  std::vector<ExprId> choices;
  if ((types & kStringType) != 0) choices.push_back(BITTERN_TRY(Strings(all)));
  if ((types & kObjectType) != 0) choices.push_back(BITTERN_TRY(Objects(all)));
  // Texts and objects tell items of a list apart.
  if (MustDiffer(all)) return grammar_.Choice(std::move(choices));
  if ((types & (kIntegerType | kFractionType)) != 0) {
    choices.push_back(BITTERN_TRY(Numbers(all, (types & kFractionType) == 0)));
  }
  constexpr std::pair<unsigned, std::string_view> kWords[] = {
      {kBooleanType, "true"}, {kBooleanType, "false"}, {kNullType, "null"}};
  for (const auto& [type, word] : kWords) {
    if ((types & type) != 0 && !forbids(word)) choices.push_back(grammar_.Bytes(word));
  }
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
    KeepListed(document_, listed, true, &*values);
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
  for (const SchemaValue& forbidden : Forbidden(all)) {
    KeepListed(document_, {forbidden.value}, false, &*values);
  }
  BITTERN_TRY(CheckWork(*document_, all[0].pointer));
  if (MustDiffer(all)) return grammar_.Nothing();
  unsigned found = 0;
  std::erase_if(*values, [&](const Json* value) { return (TypeOf(*value) & types) == 0; });
  for (const Json* value : *values) found |= TypeOf(*value);
  const std::pair<unsigned, std::vector<const char*>> others[] = {
      {kObjectType,
       {"properties", "required", "additionalProperties", "patternProperties", "minProperties",
        "maxProperties", "propertyNames"}},
      {kArrayType, {"items", "prefixItems", "minItems", "maxItems", "uniqueItems", "contains"}}};
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
  for (const Json* value : *values) {
    const bool fits = BITTERN_TRY(Fits(all, *value));
    if (fits) choices.push_back(grammar_.Bytes(JsonText(*value)));
  }
  return grammar_.Choice(std::move(choices));
}

Result<bool> SchemaCompiler::Fits(const Schemas& all, const Json& value) {
  const std::string* text = value.AsString();
  const auto number = value.AsNumber();
  const std::vector<StringRule> rules =
      BITTERN_TRY(text == nullptr ? std::vector<StringRule>() : StringRules(all));
  for (const StringRule& rule : rules) {
    // Less than a format allows, so what is left is valid.
    const bool speaks = BITTERN_TRY(Speaks(WholePattern(rule), *text, rule.pointer));
    if (speaks == rule.contrary) return false;
  }
  for (const SchemaAt& at : all) {
    if (text != nullptr) {
      const auto length = static_cast<std::uint32_t>(std::ranges::count_if(
          *text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
      const std::uint32_t least = BITTERN_TRY(Count(at, "minLength", 0));
      const std::uint32_t most = BITTERN_TRY(Count(at, "maxLength", kUnbounded));
      if (length < least || length > most) return false;
    }
    if (!number) continue;
    for (const char* keyword : {"minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"}) {
      const Json* bound = at.schema->Find(keyword);
      if (bound == nullptr) continue;
      if (!bound->AsNumber()) return Refuse(at.pointer + "/" + keyword, "a number expected");
      const bool open = keyword[0] == 'e', least = std::string_view(keyword).ends_with("inimum");
      const double room = least ? *number - *bound->AsNumber() : *bound->AsNumber() - *number;
      if (room < 0 || (open && room == 0)) return false;
    }
    if (at.schema->Find("multipleOf") != nullptr) {
      return Refuse(at.pointer + "/multipleOf", "it cannot be obeyed beside const or enum");
    }
  }
  return true;
}

/// The value of a keyword that counts, such as minLength; 3.0 is a count, 3.5 is refused. Counts
/// beyond 4e9 become 4e9.
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

/// The distinct string rules from `pattern`, `format` and negated patterns.
Result<std::vector<StringRule>> SchemaCompiler::StringRules(const Schemas& all) {
  std::vector<StringRule> rules;
  const auto add = [&](StringRule rule) {
    const auto same = [&](const StringRule& other) {
      return rule.pattern == other.pattern && rule.search == other.search &&
             rule.contrary == other.contrary;
    };
    if (std::ranges::none_of(rules, same)) rules.push_back(std::move(rule));
  };
  for (const SchemaAt& at : all) {
    if (const std::string* forbidden = ForbiddenPattern(*at.schema)) {
      add({at.pointer + "/not", *forbidden, true, true});
    }
    for (const std::string keyword : {"pattern", "format"}) {
      const Json* value = at.schema->Find(keyword);
      if (value == nullptr) continue;
      const std::string pointer = at.pointer + "/" + keyword;
      const std::string* text = value->AsString();
      if (text == nullptr) return Refuse(pointer, "a text expected");
      if (keyword == "pattern") {
        add({pointer, *text, true, false});
      } else if (!PatternOfFormat(*text).empty()) {
        // Other names are remarks, as the specification says.
        add({pointer, std::string(PatternOfFormat(*text)), false, false});
      }
    }
  }
  return rules;
}

/// Strings in quotes, by minLength, maxLength, pattern, format and negated patterns together.
Result<ExprId> SchemaCompiler::Strings(const Schemas& all) {
  std::uint32_t least = 0, most = kUnbounded;
  for (const SchemaAt& at : all) {
    const std::uint32_t at_least = BITTERN_TRY(Count(at, "minLength", 0));
    const std::uint32_t at_most = BITTERN_TRY(Count(at, "maxLength", kUnbounded));
    least = std::max(least, at_least);
    most = std::min(most, at_most);
  }
  if (least > most) return grammar_.Nothing();
  const std::vector<StringRule> rules = BITTERN_TRY(StringRules(all));
  if (rules.empty()) return FreeStrings(all, least, most);
  const StringRule& rule = rules[0];
  for (const SchemaValue& value : Forbidden(all)) {
    const std::string* text = value.value->AsString();
    if (text == nullptr) continue;
    bool valid = true;
    for (const StringRule& other : rules) {
      const bool speaks = BITTERN_TRY(Speaks(WholePattern(other), *text, other.pointer));
      valid = valid && speaks != other.contrary;
    }
    if (valid) return Refuse(value.pointer, kForbiddenBeside);
  }
  if (rules.size() > 1 || rule.contrary) return StringsOfAll(all, rules, least, most);
  auto inner = AddRegex(rule.pattern, {.search = rule.search, .json = true}, &grammar_);
  if (!inner) return Refuse(rule.pointer, inner.error().message);
  if (least > 0 || most != kUnbounded) {
    // No product is needed if the pattern, perhaps with changed repeat counts, keeps the length
    // bounds.
    *inner = WithLengths(*inner, least, most);
    const auto [shortest, longest] = LengthsOf(*inner);
    if (shortest < least || longest > most) return StringsOfAll(all, rules, least, most);
  }
  const ExprId quoted = grammar_.Sequence({grammar_.Bytes("\""), *inner, grammar_.Bytes("\"")});
  return MustDiffer(all) ? grammar_.Marked(RuleMark::kDiffers, quoted) : quoted;
}

/// Strings of which several things are said.
Result<ExprId> SchemaCompiler::StringsOfAll(const Schemas& all, std::vector<StringRule> rules,
                                            std::uint32_t least, std::uint32_t most) {
  // Its rules are many: where a text of them is read could not be told.
  if (MustDiffer(all)) return grammar_.Nothing();
  rules.push_back({all[0].pointer, "[\\s\\S]*", false, false});
  // A shorter limit obeys a longer one.
  if (most != kUnbounded) most = std::min(most, std::max(least, kMostCounted));
  std::uint64_t steps = 0;
  const auto inner = BITTERN_TRY(StringProduct(rules, least, most, &grammar_, &steps));
  document_->Spend(steps / SchemaDocument::kComparisons);
  BITTERN_TRY(CheckWork(*document_, rules[0].pointer));
  if (!inner) {
    return Refuse(rules[0].pointer, rules.size() == 2
                                        ? "it cannot be obeyed beside minLength or maxLength"
                                        : "it is too large beside what else is said of the text");
  }
  return grammar_.Sequence({grammar_.Bytes("\""), *inner, grammar_.Bytes("\"")});
}

/// Strings without a pattern.
Result<ExprId> SchemaCompiler::FreeStrings(const Schemas& all, std::uint32_t least,
                                           std::uint32_t most) {
  std::vector<std::string> forbidden;
  for (const SchemaValue& value : Forbidden(all)) {
    if (value.value->AsString() != nullptr) forbidden.push_back(*value.value->AsString());
  }
  if (least > kMostTimes) return Refuse(all[0].pointer + "/minLength", "it is too large");
  if (!forbidden.empty()) {
    // The empty text is short of a length, and KeysBut leaves it out.
    if (most != kUnbounded || least > 1) return Refuse(Forbidden(all)[0].pointer, kForbiddenBeside);
    const auto mark = MustDiffer(all) ? RuleMark::kDiffers : RuleMark::kNone;
    return grammar_.Marked(mark, KeysBut(forbidden));
  }
  // A shorter limit obeys a longer one.
  if (most != kUnbounded) most = std::min(most, kMostTimes);
  if (MustDiffer(all)) {  // one way of writing each
    const ExprId chars = grammar_.Repeat(JsonChars({{0, kLastChar}}, &grammar_), least, most);
    return grammar_.Marked(RuleMark::kDiffers,
                           grammar_.Sequence({grammar_.Bytes("\""), chars, grammar_.Bytes("\"")}));
  }
  if (least == 0 && most == kUnbounded) return json_.String();
  return grammar_.Sequence(
      {grammar_.Bytes("\""), grammar_.Repeat(json_.Char(), least, most), grammar_.Bytes("\"")});
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

/// Numbers within the tightest of all bounds, those of integer formats such as int32 included.
/// `whole`: only integers. multipleOf is obeyed alone or beside a lower bound of 0.
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

Result<Grammar> ParseJsonSchema(std::string_view schema, std::uint64_t* steps) {
  auto parsed = Json::Parse(
      schema, {.max_bytes = std::size_t{4} << 20, .max_depth = 200, .max_values = 200'000});
  if (!parsed) {
    return Fail(ErrorCode::kInvalidArgument, "the schema is not JSON: " + parsed.error().message);
  }
  Grammar grammar;
  const RuleId root = grammar.AddRule("root");
  SchemaDocument document(*parsed, steps == nullptr ? 0 : *steps);
  SchemaCompiler compiler(&document, grammar);
  const ExprId body = BITTERN_TRY(compiler.Compile({{&*parsed, ""}}));
  BITTERN_TRY(CheckWork(document, ""));  // what was left out for want of work would be missed
  grammar.Define(root, body);
  if (steps != nullptr) *steps = document.steps();
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
