// SPDX-License-Identifier: Apache-2.0
// `$ref` and `allOf` are followed first; every question about a keyword then walks the list of
// parts.
#include "grammar/schema/view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

namespace bittern::grammar {
namespace {

constexpr std::size_t kMostSchemas = 200;  // that hold together

/// Keywords that restrict values and cannot be obeyed.
constexpr std::string_view kRefused[] = {"unevaluatedItems", "$dynamicRef", "$recursiveRef",
                                         "extends",          "disallow",    "divisibleBy"};

template <class List>
bool IsIn(const List& list, std::string_view name) {
  return std::ranges::find(list, name) != std::end(list);
}

/// Refuses keywords that would be ignored although they restrict values. A keyword whose value
/// restricts nothing passes: `true` for unevaluated..., or an empty object.
Result<void> CheckKeywords(const SchemaAt& at) {
  for (const auto& [key, value] : *at.schema->AsObject()) {
    if (!IsIn(kRefused, key)) continue;
    if (const auto allowed = value.AsBool();
        allowed && *allowed && key.starts_with("unevaluated")) {
      continue;
    }
    const auto* const object = value.AsObject();
    const bool empty = object != nullptr && object->empty();
    if (empty) continue;
    return Refuse(at.pointer + "/" + key, "this keyword cannot be obeyed");
  }
  return {};
}

std::size_t SizeOf(const Json* object) {
  return object == nullptr || object->AsObject() == nullptr ? 0 : object->AsObject()->size();
}

/// True if enum or const is present and no listed value is in all lists, of an allowed type and not
/// forbidden.
bool HasNoConstant(SchemaDocument* document, const std::vector<SchemaAt>& all, unsigned types) {
  std::optional<std::vector<const Json*>> left;
  for (const SchemaAt& at : all) {
    const auto listed = ConstantsOf(*at.schema);
    if (!listed) continue;
    if (!left) {
      left = listed;
    } else {
      KeepListed(document, *listed, true, &*left);
    }
  }
  if (!left) return false;
  std::erase_if(*left, [&](const Json* value) { return (TypeOf(*value) & types) == 0; });
  for (const SchemaAt& at : all) {
    const auto forbidden = ForbiddenConstants(*at.schema);
    if (forbidden) KeepListed(document, *forbidden, false, &*left);
  }
  return left->empty();
}

/// Whether no object under all these schemas can have a property.
bool CannotHave(SchemaDocument* document, const std::vector<SchemaAt>& all, const std::string& name,
                int depth) {
  std::vector<SchemaAt> together;
  for (const SchemaAt& at : all) {
    const Json* properties = at.schema->Find("properties");
    if (!document->Spend(1 + SizeOf(properties) / SchemaDocument::kLooks)) return false;
    const Json* declared = properties == nullptr ? nullptr : properties->Find(name);
    if (declared != nullptr) {
      together.push_back({declared, at.pointer + "/properties/" + PointerKey(name)});
    } else if (const Json* others = at.schema->Find("additionalProperties");
               others != nullptr && others->AsBool() == false &&
               at.schema->Find("patternProperties") == nullptr) {
      return true;
    }
  }
  return !together.empty() && PlainlyEmpty(document, std::move(together), depth - 1);
}

}  // namespace

namespace {

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/// Schemas that Bittern made of one of the document's stand where that one does.
std::string_view Shown(std::string_view pointer) {
  pointer.remove_prefix(std::min(pointer.find_first_not_of('!'), pointer.size()));
  for (std::size_t at = pointer.find('~'); at != pointer.npos; at = pointer.find('~', at + 1)) {
    const char next = at + 1 < pointer.size() ? pointer[at + 1] : ' ';
    if (next != '0' && next != '1') return pointer.substr(0, at);
  }
  return pointer;
}

}  // namespace

tl::unexpected<Error> Refuse(const std::string& pointer, std::string_view what) {
  return Fail(ErrorCode::kInvalidArgument,
              fmt::format("schema at \"#{}\": {}", Shown(pointer), what));
}

/// Numbers by their value (1 equals 1.0), objects whatever the order of their members.
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

/// A number without a fraction is an integer however it is written: 1.0 is one (JSON
/// Schema, 6.1.1).
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

/// A JSON pointer as a URI fragment (RFC 6901 section 6): `~0`, `~1` and %XX in keys, digits as
/// places of lists. Other documents and `$anchor` names are refused.
Result<SchemaAt> ResolveRef(const SchemaDocument& document, const std::string& ref,
                            const std::string& pointer) {
  if (!ref.starts_with('#') || (ref.size() > 1 && ref[1] != '/')) {
    return Refuse(pointer + "/$ref",
                  "a place in this schema (\"#/...\") expected, \"" + ref + "\" found");
  }
  const Json* at = &document.root();
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
      } else if (left.size() >= 3 && left[0] == '%' && HexDigit(left[1]) >= 0 &&
                 HexDigit(left[2]) >= 0) {
        key += static_cast<char>(16 * HexDigit(left[1]) + HexDigit(left[2]));
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

namespace {

/// `unevaluatedProperties` sees only the parts of its own schema; below, all that hold together
/// count as one.
Result<void> CheckUnevaluated(const std::vector<SchemaAt>& all) {
  for (const SchemaAt& at : all) {
    const Json* others = at.schema->Find("unevaluatedProperties");
    if (all.size() < 2 || others == nullptr || others->AsBool() == true) continue;
    return Refuse(at.pointer + "/unevaluatedProperties",
                  "it cannot be obeyed beside other schemas; additionalProperties would be obeyed");
  }
  return {};
}

}  // namespace

void KeepListed(SchemaDocument* document, const std::vector<const Json*>& listed, bool in,
                std::vector<const Json*>* values) {
  const std::size_t comparisons = listed.size() * values->size();
  if (!document->Spend(comparisons / SchemaDocument::kComparisons)) return;
  std::erase_if(*values, [&](const Json* value) {
    return in == std::ranges::none_of(listed,
                                      [&](const Json* other) { return EqualJson(*value, *other); });
  });
}

Result<void> CheckWork(const SchemaDocument& document, const std::string& pointer) {
  if (!document.spent()) return {};
  return Refuse(pointer,
                fmt::format("the schema takes more than {} steps of work to read; fewer choices "
                            "(anyOf, oneOf, if, not) that hold together would be obeyed",
                            SchemaDocument::kMostSteps));
}

/// The price of a schema: a step, and a look at each of its members for each keyword asked for.
Result<std::vector<SchemaAt>> Expand(SchemaDocument* document, std::vector<SchemaAt> schemas) {
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
    document->Spend(1 + SizeOf(at.schema) / 16);
    BITTERN_TRY(CheckWork(*document, at.pointer));
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
      schemas.push_back(BITTERN_TRY(ResolveRef(*document, *ref->AsString(), at.pointer)));
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
  BITTERN_TRY(CheckUnevaluated(found));
  return found;
}

std::optional<std::vector<const Json*>> ConstantsOf(const Json& schema) {
  if (const Json* value = schema.Find("const")) return {{value}};
  const Json* list = schema.Find("enum");
  if (list == nullptr || list->AsArray() == nullptr) return std::nullopt;
  std::vector<const Json*> values;
  for (const Json& value : *list->AsArray()) values.push_back(&value);
  return values;
}

/// `not` with a const or an enum and, at most, remarks beside it.
std::optional<std::vector<const Json*>> ForbiddenConstants(const Json& schema) {
  const Json* negated = schema.Find("not");
  if (negated == nullptr || negated->AsObject() == nullptr) return std::nullopt;
  constexpr std::string_view kRemarks[] = {"title", "description", "$comment"};
  const auto says_more = [&](const Json::Member& member) {
    return member.key != "const" && member.key != "enum" && !IsIn(kRemarks, member.key);
  };
  if (std::ranges::any_of(*negated->AsObject(), says_more)) return std::nullopt;
  if (negated->Find("const") != nullptr && negated->Find("enum") != nullptr) return std::nullopt;
  return ConstantsOf(*negated);
}

/// Only beside "type": "string": a pattern holds for values of other types always, so `not` forbids
/// all of these.
const std::string* ForbiddenPattern(const Json& schema) {
  const Json* negated = schema.Find("not");
  const Json* type = schema.Find("type");
  if (negated == nullptr || type == nullptr || type->AsString() == nullptr) return nullptr;
  const Json* pattern = negated->Find("pattern");
  const bool alone = pattern != nullptr && negated->AsObject()->size() == 1;
  return alone && *type->AsString() == "string" ? pattern->AsString() : nullptr;
}

bool Demands(const Json& schema, std::string_view name) {
  const Json* required = schema.Find("required");
  if (required == nullptr || required->AsArray() == nullptr) return false;
  return std::ranges::any_of(*required->AsArray(), [&](const Json& entry) {
    return entry.AsString() != nullptr && *entry.AsString() == name;
  });
}

/// RFC 6901: "~" becomes "~0" and "/" becomes "~1".
std::string PointerKey(std::string key) {
  for (std::size_t i = 0; i < key.size(); ++i) {
    if (key[i] == '~' || key[i] == '/') key.replace(i, 1, key[i] == '~' ? "~0" : "~1"), ++i;
  }
  return key;
}

/// False means only that it is not plain to see. `depth` limits the look into required properties.
bool PlainlyEmpty(SchemaDocument* document, std::vector<SchemaAt> schemas, int depth) {
  auto expanded = Expand(document, std::move(schemas));
  if (!expanded) return false;
  // Up to draft 7 nothing counts beside a reference.
  std::erase_if(*expanded, [](const SchemaAt& at) { return at.schema->Find("$ref") != nullptr; });
  unsigned types = kAllTypes;
  for (const SchemaAt& at : *expanded) {
    if (at.schema->AsObject() == nullptr) return true;  // false
    const auto allowed = TypesOf(at);
    if (!allowed) return false;
    types &= *allowed;
  }
  if (types == 0 || HasNoConstant(document, *expanded, types)) return true;
  if (types != kObjectType || depth == 0) return false;
  std::set<std::string> demanded;
  for (const SchemaAt& at : *expanded) {
    const Json* required = at.schema->Find("required");
    if (required == nullptr || required->AsArray() == nullptr) continue;
    for (const Json& name : *required->AsArray()) {
      if (name.AsString() != nullptr) demanded.insert(*name.AsString());
    }
  }
  return std::ranges::any_of(demanded, [&](const std::string& name) {
    return CannotHave(document, *expanded, name, depth);
  });
}

/// The types that a schema without `type` speaks of; all if it speaks of none.
unsigned TypesMeant(const std::vector<SchemaAt>& all) {
  constexpr std::pair<std::string_view, unsigned> kAbout[] = {
      {"properties", kObjectType},
      {"required", kObjectType},
      {"additionalProperties", kObjectType},
      {"patternProperties", kObjectType},
      {"items", kArrayType},
      {"prefixItems", kArrayType},
      {"contains", kArrayType},
      {"propertyNames", kObjectType},
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

}  // namespace bittern::grammar
