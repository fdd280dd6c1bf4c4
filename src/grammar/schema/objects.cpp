// SPDX-License-Identifier: Apache-2.0
// Objects: declared properties in the schema's order, those that are not required optional, then
// others where the schema speaks of them.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "base/json/json.hpp"
#include "base/utf8.hpp"
#include "grammar/notation/regex.hpp"
#include "grammar/schema/compiler.hpp"
#include "grammar/schema/texts.hpp"

namespace bittern::grammar {
namespace {

constexpr std::size_t kMostProperties = 2000;

bool IsFalse(const Json* value) { return value != nullptr && value->AsBool() == false; }

}  // namespace

Result<void> CheckObjectKeywords(const SchemaAt& at) {
  const Json* properties = at.schema->Find("properties");
  if (properties != nullptr && properties->AsObject() == nullptr) {
    return Refuse(at.pointer + "/properties", "an object expected");
  }
  const Json* patterns = at.schema->Find("patternProperties");
  if (patterns != nullptr && patterns->AsObject() == nullptr) {
    return Refuse(at.pointer + "/patternProperties", "an object expected");
  }
  const Json* required = at.schema->Find("required");
  if (required == nullptr) return {};
  const bool list = required->AsArray() != nullptr &&
                    std::ranges::all_of(*required->AsArray(), [](const Json& name) {
                      return name.AsString() != nullptr;
                    });
  if (!list) return Refuse(at.pointer + "/required", "a list of names expected");
  return {};
}

Result<std::vector<SchemaAt>> SchemaCompiler::SchemasOf(const Schemas& all,
                                                        const std::string& name) {
  static const Json kFalse(Json::Value(false));
  Schemas together;
  for (const SchemaAt& at : all) {
    const Json* properties = at.schema->Find("properties");
    const std::size_t size = properties == nullptr ? 0 : properties->AsObject()->size();
    document_->Spend(1 + size / SchemaDocument::kLooks);
    BITTERN_TRY(CheckWork(*document_, at.pointer));
    const Json* declared = properties == nullptr ? nullptr : properties->Find(name);
    // Beside no other schema, unevaluatedProperties says the same.
    const bool is_last = at.schema->Find("additionalProperties") == nullptr;
    const std::string rest = is_last ? "unevaluatedProperties" : "additionalProperties";
    const Json* others = at.schema->Find(rest);
    bool spoken_of = declared != nullptr;
    if (spoken_of) together.push_back({declared, at.pointer + "/properties/" + PointerKey(name)});
    if (const Json* patterns = at.schema->Find("patternProperties")) {
      for (const auto& [pattern, schema] : *patterns->AsObject()) {
        const std::string pointer = at.pointer + "/patternProperties/" + PointerKey(pattern);
        const bool speaks = BITTERN_TRY(Speaks(pattern, name, pointer));
        if (!speaks) continue;
        together.push_back({&schema, pointer});
        spoken_of = true;
      }
    }
    if (!spoken_of && others != nullptr) {
      together.push_back({others, at.pointer + "/" + rest});
    }
  }
  return together;
}

/// Declared and required properties in order, with the schemas that hold for each. A property that
/// can have no value is left out; if it is required, no object is valid.
Result<std::vector<SchemaCompiler::Property>> SchemaCompiler::Properties(const Schemas& all) {
  std::set<std::string> required;
  const std::vector<std::string> names = NamesOf(all, &required);
  if (names.size() > kMostProperties) {
    return Refuse(all[0].pointer + "/properties", "there are too many");
  }
  std::vector<Property> properties;
  for (const std::string& name : names) {
    Schemas together = BITTERN_TRY(SchemasOf(all, name));
    const bool impossible =
        std::ranges::any_of(together, [](const SchemaAt& at) { return IsFalse(at.schema); });
    const bool must = required.contains(name);
    if (impossible && !must) continue;
    if (impossible) {
      properties.push_back({name, grammar_.Nothing(), true});
      continue;
    }
    ExprId value = json_.Value();
    if (!together.empty()) value = BITTERN_TRY(Compile(std::move(together)));
    properties.push_back({name, Member(name, value), must});
  }
  if (MustDiffer(all)) BITTERN_TRY(MakeDiffer(all, &properties));
  return properties;
}

/// Picks the property that must differ between items: the first required one that can, else the
/// first optional one, made required.
Result<void> SchemaCompiler::MakeDiffer(const Schemas& all, std::vector<Property>* properties) {
  for (const bool required : {true, false}) {
    for (Property& property : *properties) {
      const bool none = grammar_.expr(property.member).kind == Expr::Kind::kNothing;
      if (none || property.required != required) continue;
      Schemas together = BITTERN_TRY(SchemasOf(all, property.name));
      together.push_back(Differing(all[0].pointer));
      const auto found = Compile(std::move(together));
      if (!found || FreshTexts(grammar_, *found) == 0) continue;
      property.member = Member(property.name, *found);
      property.required = true;
      return {};
    }
  }
  *properties = {{"", grammar_.Nothing(), true}};
  return {};
}

ExprId SchemaCompiler::Member(const std::string& name, ExprId value) {
  return grammar_.Sequence({grammar_.Bytes(QuotedJson(name) + std::string(kKeySeparator)), value});
}

/// Keys of plain characters that are none of `names`, with their quotes.
ExprId SchemaCompiler::KeysBut(const std::vector<std::string>& names) {
  Grammar& g = grammar_;
  const ExprId any = g.Repeat(g.Class(PlainJsonChars()), 0, kUnbounded);
  if (names.empty()) return json_.String();
  std::vector<std::u32string> sorted;
  for (const std::string& name : names) {
    std::u32string chars;
    for (std::string_view rest = name; !rest.empty();) {
      const Utf8Step step = DecodeUtf8(rest);
      chars += step.code_point;
      rest.remove_prefix(step.size);
    }
    sorted.push_back(chars);
  }
  std::ranges::sort(sorted);
  // The endings behind the first `depth` characters, which sorted[first..last) share.
  const std::function<ExprId(std::size_t, std::size_t, std::size_t)> after =
      [&](std::size_t first, std::size_t last, std::size_t depth) -> ExprId {
    std::vector<ExprId> choices;
    CharClass taken;
    bool ends = false;
    while (first < last) {
      if (sorted[first].size() == depth) {
        ends = true;
        ++first;
        continue;
      }
      const char32_t c = sorted[first][depth];
      std::size_t end = first;
      while (end < last && sorted[end][depth] == c) ++end;
      taken.push_back({c, c});
      // A key with characters that need escapes is not written as another key's beginning.
      const bool plain = c >= 0x20 && c != U'"' && c != U'\\';
      if (plain && depth < 60) {
        choices.push_back(g.Sequence({g.Class({{c, c}}), after(first, end, depth + 1)}));
      }
      first = end;
    }
    CharClass others = Complement(Normalised(std::move(taken)));
    CharClass free;
    for (const CharRange& a : others) {
      for (const CharRange& b : PlainJsonChars()) {
        const char32_t low = std::max(a.first, b.first), high = std::min(a.last, b.last);
        if (low <= high) free.push_back({low, high});
      }
    }
    choices.push_back(g.Sequence({g.Class(Normalised(std::move(free))), any}));
    if (!ends && depth > 0) choices.push_back(g.Empty());
    return g.Choice(std::move(choices));
  };
  return g.Sequence({g.Bytes("\""), after(0, sorted.size(), 0), g.Bytes("\"")});
}

Result<ExprId> SchemaCompiler::FreeMember(const Schemas& all,
                                          const std::vector<Property>& properties) {
  Schemas together;
  for (const SchemaAt& at : all) {
    if (const Json* others = at.schema->Find("additionalProperties")) {
      together.push_back({others, at.pointer + "/additionalProperties"});
    }
  }
  ExprId value = json_.Value();
  if (!together.empty()) value = BITTERN_TRY(Compile(std::move(together)));
  std::vector<std::string> names;
  for (const Property& property : properties) names.push_back(property.name);
  return grammar_.Sequence({KeysBut(names), grammar_.Bytes(kKeySeparator), value});
}

Result<bool> SchemaCompiler::Speaks(const std::string& pattern, const std::string& name,
                                    const std::string& pointer) {
  auto known = patterns_.find(pattern);
  if (known == patterns_.end()) {
    Grammar names;
    const RuleId root = names.AddRule("root");
    const auto body = AddRegex(pattern, {.search = true}, &names);
    if (!body) return Refuse(pointer, body.error().message);
    names.Define(root, *body);
    auto nfa = Nfa::Build(names);
    if (!nfa) return Refuse(pointer, nfa.error().message);
    document_->Spend(nfa->num_nodes() / 4);
    known = patterns_.emplace(pattern, Automaton(std::move(*nfa))).first;
  }
  document_->Spend(1 + name.size() / SchemaDocument::kComparisons);
  BITTERN_TRY(CheckWork(*document_, pointer));
  Automaton& automaton = known->second;
  StateId state = automaton.start();
  for (const char byte : name) {
    if (state < kTooMuch) state = automaton.Next(state, static_cast<std::uint8_t>(byte));
  }
  if (state == kTooMuch) return Refuse(pointer, "the pattern is too ambiguous");
  return state < kTooMuch && automaton.accepting(state);
}

/// Members whose names are as propertyNames says; `alone`: nothing else speaks of names.
Result<ExprId> SchemaCompiler::NamedMember(const Schemas& all, bool alone) {
  Schemas names, values;
  for (const SchemaAt& at : all) {
    const Json* schema = at.schema->Find("propertyNames");
    if (schema != nullptr) names.push_back({schema, at.pointer + "/propertyNames"});
  }
  if (!alone) return Refuse(names[0].pointer, "it cannot be obeyed beside other keywords of names");
  for (const SchemaAt& at : all) {
    const Json* others = at.schema->Find("additionalProperties");
    if (others != nullptr) values.push_back({others, at.pointer + "/additionalProperties"});
  }
  names.push_back(Made("!~text", OfTypes(kStringType)));
  const ExprId key = BITTERN_TRY(Compile(std::move(names)));
  const bool any = values.empty();
  const ExprId value = any ? json_.Value() : BITTERN_TRY(Compile(std::move(values)));
  return grammar_.Sequence({key, grammar_.Bytes(kKeySeparator), value});
}

Result<std::optional<ExprId>> SchemaCompiler::PatternMember(
    const Schemas& all, const std::vector<Property>& properties) {
  const Json::Member* only = nullptr;
  bool several = false;
  Schemas together;
  for (const SchemaAt& at : all) {
    const Json* others = at.schema->Find("additionalProperties");
    const Json* patterns = at.schema->Find("patternProperties");
    if (at.schema->Find("unevaluatedProperties") != nullptr) return std::nullopt;
    if (patterns == nullptr || patterns->AsObject()->empty()) {
      if (others != nullptr) together.push_back({others, at.pointer + "/additionalProperties"});
      continue;
    }
    // A name may match other patterns, too: names of the first one come, valid under all.
    for (const Json::Member& member : *patterns->AsObject()) {
      several = only != nullptr;
      if (!several) only = &member;
      together.push_back(
          {&member.value, at.pointer + "/patternProperties/" + PointerKey(member.key)});
    }
  }
  if (only == nullptr) return std::nullopt;
  const std::string pointer = all[0].pointer + "/patternProperties/" + PointerKey(only->key);
  for (const Property& property : properties) {
    // The name would be written twice.
    const bool twice = BITTERN_TRY(Speaks(only->key, property.name, pointer));
    if (twice) return std::nullopt;
  }
  for (const SchemaAt& at : together) {
    if (IsFalse(at.schema)) return std::nullopt;
  }
  if (several && PlainlyEmpty(document_, together)) {
    if (!properties.empty()) return std::nullopt;
    return Refuse(pointer, "only one pattern can be obeyed here");
  }
  auto key = AddRegex(only->key, {.search = true, .json = true}, &grammar_);
  if (!key) return Refuse(pointer, key.error().message);
  const ExprId value = BITTERN_TRY(Compile(std::move(together)));
  return grammar_.Sequence(
      {grammar_.Bytes("\""), *key, grammar_.Bytes("\""), grammar_.Bytes(kKeySeparator), value});
}

/// The members with their separators: those that are required, others as they please, in order.
ExprId SchemaCompiler::MemberList(const std::vector<Property>& properties, ExprId free_member,
                                  bool has_free, std::uint32_t least, std::uint32_t most) {
  Grammar& g = grammar_;
  const auto behind = [&](ExprId member) { return g.Sequence({g.Bytes(kItemSeparator), member}); };
  if (properties.empty()) {
    if (!has_free || most == 0) return g.Empty();
    const ExprId more = g.Repeat(behind(free_member), least > 1 ? least - 1 : 0,
                                 most == kUnbounded ? kUnbounded : most - 1);
    const ExprId list = g.Sequence({free_member, more});
    return least == 0 ? g.Optional(list) : list;
  }
  // rest[i]: what may follow, with its separator, once all before property i are written.
  ExprId rest = has_free ? g.Repeat(behind(free_member), 0, kUnbounded) : g.Empty();
  std::vector<ExprId> starts;
  bool must = false;  // some property behind is required
  if (has_free) starts.push_back(g.Sequence({free_member, rest}));
  for (std::size_t i = properties.size(); i-- > 0;) {
    const Property& property = properties[i];
    if (property.required) {
      starts.clear();
      must = true;
    }
    // A rule of its own: the rest stands behind every property that may come before it.
    const RuleId after = g.AddRule("after-" + property.name);
    g.Define(after, rest);
    starts.push_back(g.Sequence({property.member, g.Call(after)}));
    const ExprId here = behind(property.member);
    rest = g.Sequence({property.required ? here : g.Optional(here), g.Call(after)});
  }
  const ExprId list = g.Choice(std::move(starts));
  return must || least > 0 ? list : g.Optional(list);
}

/// Objects with their members in the order of the schema. Members that the schema does not name
/// come only if it speaks of them (additionalProperties, patternProperties, propertyNames) or names
/// none.
Result<ExprId> SchemaCompiler::Objects(const Schemas& all) {
  std::uint32_t least = 0, most = kUnbounded;
  bool closed = false, spoken_of = false, declared = false, patterned = false, named = false;
  for (const SchemaAt& at : all) {
    BITTERN_TRY(CheckObjectKeywords(at));
    const std::uint32_t at_least = BITTERN_TRY(Count(at, "minProperties", 0));
    const std::uint32_t at_most = BITTERN_TRY(Count(at, "maxProperties", kUnbounded));
    least = std::max(least, at_least);
    most = std::min(most, at_most);
    const Json* others = at.schema->Find("additionalProperties");
    closed = closed || IsFalse(others) || at.schema->Find("unevaluatedProperties") != nullptr;
    spoken_of = spoken_of || others != nullptr;
    patterned = patterned || at.schema->Find("patternProperties") != nullptr;
    named = named || at.schema->Find("propertyNames") != nullptr;
    declared = declared || at.schema->Find("properties") != nullptr ||
               at.schema->Find("required") != nullptr;
  }
  if (least > most) return grammar_.Nothing();
  if (!MustDiffer(all) && !declared && !spoken_of && !closed && !patterned && !named &&
      least == 0 && most == kUnbounded) {
    return json_.Object();
  }
  const std::vector<Property> properties = BITTERN_TRY(Properties(all));
  // Others are not made up where the schema does not speak of them.
  std::optional<ExprId> free;
  if (named) {
    free = BITTERN_TRY(NamedMember(all, properties.empty() && !patterned && !closed));
  } else if (patterned) {
    free = BITTERN_TRY(PatternMember(all, properties));
  } else if (!closed && (spoken_of || (properties.empty() && most > 0))) {
    free = BITTERN_TRY(FreeMember(all, properties));
  }
  // Beside declared ones others are not counted.
  const bool has_free = free.has_value() && (most == kUnbounded || properties.empty());
  if (least > 0 || most != kUnbounded) {
    const auto required = static_cast<std::size_t>(
        std::ranges::count_if(properties, [](const Property& p) { return p.required; }));
    const bool kept = (required >= least || least == 1) && properties.size() <= most;
    if (!properties.empty() && !kept) {
      return Refuse(all[0].pointer + (least > 0 ? "/minProperties" : "/maxProperties"),
                    "it cannot be obeyed beside these properties");
    }
    if (least > kMostItems) return Refuse(all[0].pointer + "/minProperties", "it is too large");
    // Keys might be the same twice: an object of one member stays one.
    if (properties.empty() && least > 1) {
      return Refuse(all[0].pointer + "/minProperties", "only 0 and 1 can be obeyed here");
    }
    if (most != kUnbounded) most = std::min(most, kMostItems);
  }
  const ExprId free_member = has_free ? *free : grammar_.Nothing();
  return grammar_.Sequence({grammar_.Bytes("{"),
                            MemberList(properties, free_member, has_free, least, most),
                            grammar_.Bytes("}")});
}

}  // namespace bittern::grammar
