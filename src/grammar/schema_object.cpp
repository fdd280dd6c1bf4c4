// SPDX-License-Identifier: Apache-2.0
// Objects: declared properties in the schema's order, those that are not required optional, then
// others where the schema speaks of them.
#include "grammar/schema_object.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "base/utf8.hpp"
#include "grammar/regex.hpp"

namespace bittern::grammar {
namespace {

constexpr std::size_t kMostProperties = 2000;

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

/// A key as a part of a JSON pointer.
std::string PointerKey(std::string key) {
  for (std::size_t i = 0; i < key.size(); ++i) {
    if (key[i] == '~' || key[i] == '/') key.replace(i, 1, key[i] == '~' ? "~0" : "~1"), ++i;
  }
  return key;
}

bool IsFalse(const Json* value) { return value != nullptr && value->AsBool() == false; }

/// Names of declared and of required properties, in order.
std::vector<std::string> NamesOf(const std::vector<SchemaAt>& all,
                                 std::set<std::string>* required) {
  std::vector<std::string> names;
  std::set<std::string> seen;
  const auto add = [&](const std::string& name) {
    if (seen.insert(name).second) names.push_back(name);
  };
  for (const SchemaAt& at : all) {
    const Json* properties = at.schema->Find("properties");
    if (properties == nullptr) continue;
    for (const auto& member : *properties->AsObject()) add(member.key);
  }
  for (const SchemaAt& at : all) {
    const Json* list = at.schema->Find("required");
    if (list == nullptr) continue;
    for (const Json& name : *list->AsArray()) {
      required->insert(*name.AsString());
      add(*name.AsString());
    }
  }
  return names;
}

}  // namespace

Result<std::vector<SchemaAt>> SchemaCompiler::SchemasOf(const Schemas& all,
                                                        const std::string& name) {
  static const Json kFalse(Json::Value(false));
  Schemas together;
  for (const SchemaAt& at : all) {
    const Json* properties = at.schema->Find("properties");
    const Json* declared = properties == nullptr ? nullptr : properties->Find(name);
    const Json* others = at.schema->Find("additionalProperties");
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
      together.push_back({others, at.pointer + "/additionalProperties"});
    }
  }
  return together;
}

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
    ExprId value = json_.Value();
    if (!together.empty()) value = BITTERN_TRY(Compile(std::move(together)));
    properties.push_back(
        {name,
         grammar_.Sequence({grammar_.Bytes(QuotedJson(name) + std::string(kKeySeparator)), value}),
         must});
  }
  return properties;
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
  // What may follow the first `depth` characters, which sorted[first..last) share.
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
    known = patterns_.emplace(pattern, Automaton(std::move(*nfa))).first;
  }
  Automaton& automaton = known->second;
  StateId state = automaton.start();
  for (const char byte : name) {
    if (state < kTooMuch) state = automaton.Next(state, static_cast<std::uint8_t>(byte));
  }
  if (state == kTooMuch) return Refuse(pointer, "the pattern is too ambiguous");
  return state < kTooMuch && automaton.accepting(state);
}

Result<std::optional<ExprId>> SchemaCompiler::PatternMember(
    const Schemas& all, const std::vector<Property>& properties) {
  const Json::Member* only = nullptr;
  Schemas together;
  for (const SchemaAt& at : all) {
    const Json* others = at.schema->Find("additionalProperties");
    const Json* patterns = at.schema->Find("patternProperties");
    if (at.schema->Find("unevaluatedProperties") != nullptr) return std::nullopt;
    if (patterns == nullptr || patterns->AsObject()->empty()) {
      if (others != nullptr) together.push_back({others, at.pointer + "/additionalProperties"});
      continue;
    }
    // A name may match two patterns: which ones, only a look at both languages could tell.
    if (only != nullptr || patterns->AsObject()->size() > 1) {
      if (!properties.empty()) return std::nullopt;
      return Refuse(at.pointer + "/patternProperties", "only one pattern can be obeyed here");
    }
    only = &patterns->AsObject()->front();
    together.push_back({&only->value, at.pointer + "/patternProperties/" + PointerKey(only->key)});
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
  auto key = AddRegex(only->key, {.search = true, .json = true}, &grammar_);
  if (!key) return Refuse(pointer, key.error().message);
  const ExprId value = BITTERN_TRY(Compile(std::move(together)));
  return grammar_.Sequence(
      {grammar_.Bytes("\""), *key, grammar_.Bytes("\""), grammar_.Bytes(kKeySeparator), value});
}

SchemaAt SchemaCompiler::Without(const std::string& name, const std::string& pointer) {
  made_.push_back(*Json::Parse("{\"properties\": {" + QuotedJson(name) + ": false}}", {}));
  return {&made_.back(), pointer + "/not/required/" + PointerKey(name)};
}

/// What keeps an object of branch `which` of a `oneOf` from being valid under the other branches:
/// it has not what they require. Error: that does not tell them apart.
Result<SchemaCompiler::Schemas> SchemaCompiler::Excluded(const Schemas& all, const Schemas& parts,
                                                         std::size_t which) {
  const auto names = [&](std::size_t part, unsigned* types) -> Result<std::set<std::string>> {
    std::set<std::string> required;
    const Schemas expanded = BITTERN_TRY(Expand(document_, {parts[part]}));
    for (const SchemaAt& at : expanded) {
      if (at.schema->AsObject() == nullptr) continue;
      BITTERN_TRY(CheckObjectKeywords(at));
      *types &= BITTERN_TRY(TypesOf(at));
      std::ignore = NamesOf({at}, &required);
    }
    return required;
  };
  unsigned types = kAllTypes, others_types = kAllTypes;
  for (const SchemaAt& at : all) types &= BITTERN_TRY(TypesOf(at));
  const std::set<std::string> own = BITTERN_TRY(names(which, &types));
  Schemas excluded;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i == which || AreDisjoint(document_, parts[which], parts[i])) continue;
    const std::set<std::string> theirs = BITTERN_TRY(names(i, &others_types));
    const auto name =
        std::ranges::find_if(theirs, [&](const std::string& n) { return !own.contains(n); });
    if (types != kObjectType || name == theirs.end()) {
      const std::string& pointer = parts[which].pointer;
      return Refuse(pointer.substr(0, pointer.rfind('/')),
                    fmt::format("branches {} and {} may both be valid, and exactly one must be; "
                                "anyOf would be obeyed",
                                std::min(i, which), std::max(i, which)));
    }
    excluded.push_back(Without(*name, parts[which].pointer));
  }
  return excluded;
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
  return must ? list : g.Optional(list);
}

Result<ExprId> SchemaCompiler::Objects(const Schemas& all) {
  std::uint32_t least = 0, most = kUnbounded;
  bool closed = false, spoken_of = false, declared = false, patterned = false;
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
    declared = declared || at.schema->Find("properties") != nullptr ||
               at.schema->Find("required") != nullptr;
  }
  if (least > most) return grammar_.Nothing();
  if (!declared && !spoken_of && !closed && !patterned && least == 0 && most == kUnbounded) {
    return json_.Object();
  }
  const std::vector<Property> properties = BITTERN_TRY(Properties(all));
  // Others are not made up where the schema does not speak of them.
  std::optional<ExprId> free;
  if (patterned) {
    free = BITTERN_TRY(PatternMember(all, properties));
  } else if (!closed && (spoken_of || (properties.empty() && most > 0))) {
    free = BITTERN_TRY(FreeMember(all, properties));
  }
  const bool has_free = free.has_value();
  if (least > 0 || most != kUnbounded) {
    const auto required = static_cast<std::size_t>(
        std::ranges::count_if(properties, [](const Property& p) { return p.required; }));
    const bool kept = required >= least && properties.size() <= most && !has_free;
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
