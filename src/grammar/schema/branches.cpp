// SPDX-License-Identifier: Apache-2.0
// Keywords of which one branch is picked: `anyOf`, `oneOf`, `if`, `dependencies`, `not`. Each
// becomes a choice of what must hold together; what plainly has no value is left out.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "base/json/json.hpp"
#include "grammar/schema/compiler.hpp"
#include "grammar/schema/discriminator.hpp"

namespace bittern::grammar {
namespace {

constexpr const char* kDependencies[] = {"dependencies", "dependentRequired", "dependentSchemas"};

bool IsPending(const SchemaAt& at, Done what) { return (at.done & what) == 0; }

bool HasDependencies(const SchemaAt& at) {
  return std::ranges::any_of(kDependencies,
                             [&](const char* name) { return at.schema->Find(name) != nullptr; });
}

bool HasCondition(const SchemaAt& at) {
  return at.schema->Find("if") != nullptr &&
         (at.schema->Find("then") != nullptr || at.schema->Find("else") != nullptr);
}

std::vector<SchemaAt> Together(std::vector<SchemaAt> all, const std::vector<SchemaAt>& more) {
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

}  // namespace

/// The first keyword that is still to be decided becomes a choice.
Result<ExprId> SchemaCompiler::Body(const Schemas& all) {
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (const bool one : {false, true}) {
      const Json* branches = all[i].schema->Find(one ? "oneOf" : "anyOf");
      if (branches == nullptr || !IsPending(all[i], one ? kOneOfDone : kAnyOfDone)) continue;
      return Branches(all, i, one, *branches);
    }
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (HasCondition(all[i]) && IsPending(all[i], kIfDone)) return Condition(all, i);
    if (HasDependencies(all[i]) && IsPending(all[i], kDependenciesDone)) {
      return Dependencies(all, i);
    }
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool negated = all[i].schema->Find("not") != nullptr && IsPending(all[i], kNotDone);
    const Json& schema = *all[i].schema;
    if (negated && !ForbiddenConstants(schema) && ForbiddenPattern(schema) == nullptr) {
      return Negated(all, i);
    }
  }
  return Values(all);
}

/// All of `all` and of one of `ways`.
Result<ExprId> SchemaCompiler::OneOfWays(const Schemas& all, const std::vector<Schemas>& ways) {
  std::vector<ExprId> choices;
  for (const Schemas& way : ways) {
    Schemas together = Together(all, way);
    if (PlainlyEmpty(document_, together)) continue;
    choices.push_back(BITTERN_TRY(Compile(std::move(together))));
  }
  return grammar_.Choice(std::move(choices));
}

Result<ExprId> SchemaCompiler::Branches(Schemas all, std::size_t which, bool one,
                                        const Json& branches) {
  const std::string pointer = all[which].pointer + (one ? "/oneOf" : "/anyOf");
  if (branches.AsArray() == nullptr || branches.AsArray()->empty()) {
    return Refuse(pointer, "a list of schemas expected");
  }
  all[which].done |= one ? kOneOfDone : kAnyOfDone;
  if (one) all = Typed(std::move(all));
  Schemas parts;
  for (const Json& branch : *branches.AsArray()) {
    parts.push_back({&branch, fmt::format("{}/{}", pointer, parts.size())});
  }
  std::optional<Discriminator> discriminator;
  if (one) discriminator.emplace(document_, parts);
  std::vector<Schemas> ways;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    Schemas way = {parts[i]};
    if (one && !PlainlyEmpty(document_, Together(all, way))) {
      const Schemas excluded = BITTERN_TRY(Excluded(all, parts, *discriminator, i));
      way = Together(std::move(way), excluded);
    }
    ways.push_back(std::move(way));
  }
  return OneOfWays(all, ways);
}

SchemaAt SchemaCompiler::Made(std::string pointer, Json schema) {
  const auto known = made_.emplace(std::move(pointer), std::move(schema)).first;
  return {&known->second, known->first};
}

/// A schema under which an object has no property of this name.
SchemaAt SchemaCompiler::Without(const std::string& name, const std::string& pointer) {
  return Made(pointer + "~lacks/" + PointerKey(name),
              *Json::Parse(
                  "{\"type\": \"object\", \"properties\": {" + QuotedJson(name) + ": false}}", {}));
}

/// The types that are meant where none are named: what is told apart must be of one of them.
SchemaCompiler::Schemas SchemaCompiler::Typed(Schemas all) {
  unsigned types = kAllTypes;
  for (const SchemaAt& at : all) types &= TypesOf(at).value_or(0u);
  const unsigned meant = TypesMeant(all);
  if (types != kAllTypes || meant == kAllTypes) return all;
  const std::string pointer = fmt::format("{}~types{}", all[0].pointer, meant);
  all.push_back(Made(pointer, OfTypes(meant)));
  return all;
}

/// Schemas that make a value of branch `which` of a `oneOf` fail the other branches; for objects:
/// it lacks a property they require. Error: none tells them apart.
Result<SchemaCompiler::Schemas> SchemaCompiler::Excluded(const Schemas& all, const Schemas& parts,
                                                         const Discriminator& discriminator,
                                                         std::size_t which) {
  unsigned types = kAllTypes;
  const auto required = [&](Schemas schemas, bool surely) -> Result<std::set<std::string>> {
    std::set<std::string> names;
    types = kAllTypes;
    const Schemas expanded = BITTERN_TRY(Expand(document_, std::move(schemas)));
    for (const SchemaAt& at : expanded) {
      // Up to draft 7 nothing counts beside a reference.
      if (at.schema->AsObject() == nullptr) continue;
      if (surely && at.schema->Find("$ref") != nullptr) continue;
      BITTERN_TRY(CheckObjectKeywords(at));
      types &= BITTERN_TRY(TypesOf(at));
      std::ignore = NamesOf({at}, &names);
    }
    return names;
  };
  Schemas excluded;
  const Schemas here = Together(all, {parts[which]});
  for (const std::size_t i : discriminator.RivalsOf(which)) {
    if (PlainlyEmpty(document_, Together(here, {parts[i]}))) continue;
    const std::set<std::string> theirs = BITTERN_TRY(required({parts[i]}, true));
    const std::set<std::string> own = BITTERN_TRY(required(here, false));
    const auto name =
        std::ranges::find_if(theirs, [&](const std::string& n) { return !own.contains(n); });
    if (types == kObjectType && name != theirs.end()) {
      excluded.push_back(Without(*name, parts[which].pointer));
      continue;
    }
    const auto ways = WaysOfNot(parts[i]);
    const bool none = ways && std::ranges::all_of(ways->ways, [&](const Schemas& way) {
                        return PlainlyEmpty(document_, Together(here, way));
                      });
    if (!ways || (none && !ways->all)) {
      const std::string& pointer = parts[which].pointer;
      return Refuse(pointer.substr(0, pointer.rfind('/')),
                    fmt::format("branches {} and {} may both be valid, and exactly one must be; "
                                "anyOf would be obeyed",
                                std::min(i, which), std::max(i, which)));
    }
    excluded.push_back(Not(parts[i]));
  }
  return excluded;
}

/// `if` and `then`, or not `if` and `else`.
Result<ExprId> SchemaCompiler::Condition(Schemas all, std::size_t which) {
  const SchemaAt at = all[which];
  all[which].done |= kIfDone;
  const SchemaAt condition = {at.schema->Find("if"), at.pointer + "/if"};
  std::vector<Schemas> ways = {{condition}, {Not(condition)}};
  for (const bool holds : {true, false}) {
    const std::string name = holds ? "then" : "else";
    const Json* schema = at.schema->Find(name);
    if (schema != nullptr) ways[holds ? 0 : 1].push_back({schema, at.pointer + "/" + name});
  }
  return OneOfWays(Typed(std::move(all)), ways);
}

/// Each name: an object has it not, or what depends on it holds.
Result<ExprId> SchemaCompiler::Dependencies(Schemas all, std::size_t which) {
  const SchemaAt at = all[which];
  all[which].done |= kDependenciesDone;
  for (const std::string keyword : kDependencies) {
    const Json* dependencies = at.schema->Find(keyword);
    if (dependencies == nullptr) continue;
    const std::string pointer = at.pointer + "/" + keyword;
    if (dependencies->AsObject() == nullptr) return Refuse(pointer, "an object expected");
    for (const auto& [name, value] : *dependencies->AsObject()) {
      const std::string place = pointer + "/" + PointerKey(name);
      if (value.AsString() != nullptr) return Refuse(place, "a list of names expected");
      const Json needs =
          value.AsArray() == nullptr ? value : Json(Json::Object{{"required", value}});
      const Json::Array branches = {*Without(name, place).schema, needs};
      all.push_back(Made(place + "~or", Json(Json::Object{{"anyOf", Json(branches)}})));
    }
  }
  return Compile(Typed(std::move(all)));
}

/// Obeys the `not` of all[which] as a choice over the ways to break it. Refuses if none is left
/// and some way could not be said; a way that cannot be compiled is left out.
Result<ExprId> SchemaCompiler::Negated(Schemas all, std::size_t which) {
  const SchemaAt negated = {all[which].schema->Find("not"), all[which].pointer + "/not"};
  all[which].done |= kNotDone;
  if (PlainlyEmpty(document_, Together(all, {negated}))) return Compile(std::move(all));
  const Negation found = BITTERN_TRY(WaysOfNot(negated));
  std::vector<ExprId> choices;
  Result<void> refused;
  if (!found.all) refused = Refuse(negated.pointer, "this keyword cannot be obeyed here");
  for (const Schemas& way : found.ways) {
    Schemas together = Together(all, way);
    if (PlainlyEmpty(document_, together)) continue;
    // One way is enough: the others may be beyond what can be obeyed.
    const auto choice = Compile(std::move(together));
    if (choice) choices.push_back(*choice);
    if (!choice && refused) refused = tl::unexpected(choice.error());
  }
  if (choices.empty() && !refused) return tl::unexpected(refused.error());
  return grammar_.Choice(std::move(choices));
}

}  // namespace bittern::grammar
