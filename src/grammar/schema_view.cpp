// SPDX-License-Identifier: Apache-2.0
#include "grammar/schema_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

namespace bittern::grammar {
namespace {

constexpr std::size_t kMostSchemas = 200;  // that hold together

/// Keywords that restrict values and cannot be obeyed.
constexpr std::string_view kRefused[] = {"not",
                                         "if",
                                         "then",
                                         "else",
                                         "propertyNames",
                                         "dependencies",
                                         "dependentRequired",
                                         "dependentSchemas",
                                         "contains",
                                         "minContains",
                                         "maxContains",
                                         "unevaluatedItems",
                                         "$dynamicRef",
                                         "$recursiveRef",
                                         "$anchor",
                                         "$dynamicAnchor",
                                         "$recursiveAnchor",
                                         "extends",
                                         "disallow",
                                         "divisibleBy"};

template <class List>
bool IsIn(const List& list, std::string_view name) {
  return std::ranges::find(list, name) != std::end(list);
}

Result<void> CheckKeywords(const SchemaAt& at) {
  for (const auto& [key, value] : *at.schema->AsObject()) {
    if (!IsIn(kRefused, key)) continue;
    // `then` and `else` mean nothing without `if`.
    if ((key == "then" || key == "else") && at.schema->Find("if") == nullptr) continue;
    if (const auto allowed = value.AsBool();
        allowed && *allowed && key.starts_with("unevaluated")) {
      continue;
    }
    const auto* const object = value.AsObject();
    const bool empty = object != nullptr && object->empty();
    if (empty && key != "not" && key != "if") continue;
    return Refuse(at.pointer + "/" + key, "this keyword cannot be obeyed");
  }
  return {};
}

/// The constants that a schema allows, if it lists them.
std::optional<std::vector<const Json*>> ConstantsOf(const Json& schema) {
  if (const Json* value = schema.Find("const")) return {{value}};
  const Json* list = schema.Find("enum");
  if (list == nullptr || list->AsArray() == nullptr) return std::nullopt;
  std::vector<const Json*> values;
  for (const Json& value : *list->AsArray()) values.push_back(&value);
  return values;
}

bool DisjointConstants(const Json& a, const Json& b) {
  const auto of_a = ConstantsOf(a), of_b = ConstantsOf(b);
  if (!of_a || !of_b) return false;
  return std::ranges::none_of(*of_a, [&](const Json* x) {
    return std::ranges::any_of(*of_b, [&](const Json* y) { return EqualJson(*x, *y); });
  });
}

bool Demands(const Json& schema, const std::string& name) {
  const Json* required = schema.Find("required");
  if (required == nullptr || required->AsArray() == nullptr) return false;
  return std::ranges::any_of(*required->AsArray(), [&](const Json& entry) {
    return entry.AsString() != nullptr && *entry.AsString() == name;
  });
}

unsigned TypesOrAll(const SchemaAt& at) {
  const auto types = TypesOf(at);
  unsigned found = types ? *types : kAllTypes;
  if (const auto constants = ConstantsOf(*at.schema)) {
    unsigned listed = 0;
    for (const Json* value : *constants) listed |= TypeOf(*value);
    found &= listed;
  }
  return found;
}

}  // namespace

tl::unexpected<Error> Refuse(const std::string& pointer, std::string_view what) {
  return Fail(ErrorCode::kInvalidArgument,
              fmt::format("schema at \"{}\": {}", pointer.empty() ? "#" : "#" + pointer, what));
}

bool EqualJson(const Json& a, const Json& b) {
  if (a.AsNumber() && b.AsNumber()) return *a.AsNumber() == *b.AsNumber();
  if (TypeOf(a) != TypeOf(b)) return false;
  if (a.AsString() != nullptr) return *a.AsString() == *b.AsString();
  if (a.AsBool()) return *a.AsBool() == *b.AsBool();
  if (const auto* items = a.AsArray()) return std::ranges::equal(*items, *b.AsArray(), EqualJson);
  if (const auto* members = a.AsObject()) {
    return members->size() == b.AsObject()->size() &&
           std::ranges::all_of(*members, [&](const Json::Member& member) {
             const Json* other = b.Find(member.key);
             return other != nullptr && EqualJson(member.value, *other);
           });
  }
  return true;
}

unsigned TypeOf(const Json& value) {
  if (value.is_null()) return kNullType;
  if (value.AsBool()) return kBooleanType;
  if (value.AsUint() || value.AsInt()) return kIntegerType;
  if (const auto number = value.AsNumber()) {
    return *number ==
                   static_cast<double>(static_cast<std::int64_t>(std::clamp(*number, -9e18, 9e18)))
               ? kIntegerType
               : kFractionType;
  }
  if (value.AsString() != nullptr) return kStringType;
  return value.AsArray() != nullptr ? kArrayType : kObjectType;
}

Result<unsigned> TypesOf(const SchemaAt& at) {
  const Json* type = at.schema->Find("type");
  if (type == nullptr) return kAllTypes;
  const auto one = [&](const Json& name) -> Result<unsigned> {
    constexpr std::pair<std::string_view, unsigned> kNames[] = {
        {"null", kNullType},       {"boolean", kBooleanType},
        {"integer", kIntegerType}, {"number", kIntegerType | kFractionType},
        {"string", kStringType},   {"array", kArrayType},
        {"object", kObjectType}};
    for (const auto& [known, bits] : kNames) {
      if (name.AsString() != nullptr && *name.AsString() == known) return bits;
    }
    return Refuse(at.pointer + "/type", "a type's name expected, " + name.Shown() + " found");
  };
  if (type->AsArray() == nullptr) return one(*type);
  unsigned all = 0;
  for (const Json& name : *type->AsArray()) all |= BITTERN_TRY(one(name));
  return all;
}

Result<SchemaAt> ResolveRef(const Json& document, const std::string& ref,
                            const std::string& pointer) {
  if (!ref.starts_with('#') || (ref.size() > 1 && ref[1] != '/')) {
    return Refuse(pointer + "/$ref",
                  "a place in this schema (\"#/...\") expected, \"" + ref + "\" found");
  }
  const Json* at = &document;
  std::string_view rest = std::string_view(ref).substr(1);
  while (!rest.empty()) {
    rest.remove_prefix(1);
    const std::size_t end = std::min(rest.find('/'), rest.size());
    std::string key;
    for (std::size_t i = 0; i < end; ++i) {
      const std::string_view left = rest.substr(i, end - i);
      if (left.starts_with("~1") || left.starts_with("~0")) {
        key += left[1] == '1' ? '/' : '~';
        ++i;
      } else if (left.starts_with("%25") || left.starts_with("%20")) {
        key += left[2] == '5' ? '%' : ' ';
        i += 2;
      } else {
        key += left[0];
      }
    }
    rest.remove_prefix(end);
    const Json* next = at->Find(key);
    if (const auto* array = at->AsArray(); array != nullptr && !key.empty() && key.size() < 6 &&
                                           key.find_first_not_of("0123456789") == key.npos) {
      const auto index = static_cast<std::size_t>(std::stoul(key));
      next = index < array->size() ? &(*array)[index] : nullptr;
    }
    if (next == nullptr) {
      return Refuse(pointer + "/$ref", "\"" + ref + "\" is not in the schema");
    }
    at = next;
  }
  return SchemaAt{at, ref.substr(1)};
}

Result<std::vector<SchemaAt>> Expand(const Json& document, std::vector<SchemaAt> schemas) {
  std::vector<SchemaAt> found;
  std::set<const Json*> seen;
  while (!schemas.empty()) {
    SchemaAt at = std::move(schemas.back());
    schemas.pop_back();
    if (const auto allowed = at.schema->AsBool()) {
      if (!*allowed) found.push_back(at);
      continue;
    }
    if (at.schema->AsObject() == nullptr) {
      return Refuse(at.pointer, "a schema expected, " + at.schema->Shown() + " found");
    }
    if (!seen.insert(at.schema).second) continue;
    if (seen.size() > kMostSchemas)
      return Refuse(at.pointer, "too many schemas hold together here");
    if (at.expanded) {
      found.push_back(std::move(at));
      continue;
    }
    at.expanded = true;
    BITTERN_TRY(CheckKeywords(at));
    if (const Json* ref = at.schema->Find("$ref")) {
      if (ref->AsString() == nullptr) return Refuse(at.pointer + "/$ref", "a text expected");
      schemas.push_back(BITTERN_TRY(ResolveRef(document, *ref->AsString(), at.pointer)));
    }
    if (const Json* all = at.schema->Find("allOf")) {
      if (all->AsArray() == nullptr) return Refuse(at.pointer + "/allOf", "a list expected");
      std::size_t i = 0;
      for (const Json& part : *all->AsArray()) {
        schemas.push_back({&part, fmt::format("{}/allOf/{}", at.pointer, i++)});
      }
    }
    found.push_back(std::move(at));
  }
  std::ranges::sort(found, {}, [](const SchemaAt& at) { return at.pointer; });
  return found;
}

bool AreDisjoint(const Json& document, const SchemaAt& a, const SchemaAt& b) {
  const auto all_a = Expand(document, {a}), all_b = Expand(document, {b});
  if (!all_a || !all_b) return false;
  for (const SchemaAt& x : *all_a) {
    for (const SchemaAt& y : *all_b) {
      if (x.schema->AsObject() == nullptr || y.schema->AsObject() == nullptr) return true;
      if ((TypesOrAll(x) & TypesOrAll(y)) == 0) return true;
      if (DisjointConstants(*x.schema, *y.schema)) return true;
      const Json* of_x = x.schema->Find("properties");
      const Json* of_y = y.schema->Find("properties");
      if (of_x == nullptr || of_y == nullptr || of_x->AsObject() == nullptr) continue;
      if (TypesOrAll(x) != kObjectType || TypesOrAll(y) != kObjectType) continue;
      for (const auto& [name, property] : *of_x->AsObject()) {
        const Json* other = of_y->Find(name);
        if (other == nullptr || !Demands(*x.schema, name) || !Demands(*y.schema, name)) continue;
        const SchemaAt p{&property, ""}, q{other, ""};
        if (property.AsObject() == nullptr || other->AsObject() == nullptr) continue;
        if ((TypesOrAll(p) & TypesOrAll(q)) == 0) return true;
        if (DisjointConstants(property, *other)) return true;
      }
    }
  }
  return false;
}

}  // namespace bittern::grammar
