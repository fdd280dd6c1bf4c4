// SPDX-License-Identifier: Apache-2.0
// Values that fail a schema, as a list of ways to fail, each of which suffices. A way that cannot
// be expressed is left out: fewer values come out then, and none is wrong.
#include <algorithm>

#include "base/json/json.hpp"
#include "grammar/schema/compiler.hpp"

namespace bittern::grammar {
namespace {

constexpr std::size_t kMostWays = 40;

/// Keywords that restrict and whose contrary is not said.
constexpr std::string_view kNoContrary[] = {"format",
                                            "if",
                                            "items",
                                            "prefixItems",
                                            "additionalItems",
                                            "unevaluatedItems",
                                            "additionalProperties",
                                            "patternProperties",
                                            "unevaluatedProperties",
                                            "propertyNames",
                                            "contains",
                                            "multipleOf",
                                            "divisibleBy",
                                            "uniqueItems",
                                            "dependencies",
                                            "dependentRequired",
                                            "dependentSchemas",
                                            "extends",
                                            "disallow",
                                            "$dynamicRef",
                                            "$recursiveRef"};

/// A bound, the type it is about, and the bound that is its contrary.
struct NegatedBound {
  std::string_view keyword, type, contrary;
  int shift;  ///< of a count
};
constexpr NegatedBound kBounds[] = {{"minLength", "string", "maxLength", -1},
                                    {"maxLength", "string", "minLength", 1},
                                    {"minItems", "array", "maxItems", -1},
                                    {"maxItems", "array", "minItems", 1},
                                    {"minProperties", "object", "maxProperties", -1},
                                    {"maxProperties", "object", "minProperties", 1},
                                    {"minimum", "number", "exclusiveMaximum", 0},
                                    {"maximum", "number", "exclusiveMinimum", 0},
                                    {"exclusiveMinimum", "number", "maximum", 0},
                                    {"exclusiveMaximum", "number", "minimum", 0}};

Json Text(std::string_view text) { return Json(std::string(text)); }

bool HoldsAlways(const Json& schema) {
  return schema.AsBool() == true || (schema.AsObject() != nullptr && schema.AsObject()->empty());
}

}  // namespace

Json OfTypes(unsigned types) {
  constexpr std::pair<unsigned, std::string_view> kNames[] = {
      {kNullType, "null"},     {kBooleanType, "boolean"}, {kFractionType, "number"},
      {kStringType, "string"}, {kArrayType, "array"},     {kObjectType, "object"}};
  Json::Array names;
  for (const auto& [type, name] : kNames) {
    if ((types & type) != 0) names.push_back(Text(name));
  }
  if ((types & kIntegerType) != 0 && (types & kFractionType) == 0) names.push_back(Text("integer"));
  return Json(Json::Object{{"type", Json(std::move(names))}});
}

SchemaAt SchemaCompiler::Not(const SchemaAt& at) {
  return Made("!" + at.pointer, Json(Json::Object{{"not", *at.schema}}));
}

/// The contrary of keywords that have other schemas in them.
Result<void> SchemaCompiler::NotParts(const SchemaAt& at, Negation* found) {
  const auto parts = [&](const Json& list, const std::string& name) {
    Schemas schemas;
    for (const Json& part : *list.AsArray()) {
      schemas.push_back({&part, at.pointer + "/" + name + "/" + std::to_string(schemas.size())});
    }
    return schemas;
  };
  for (const std::string name : {"anyOf", "oneOf", "allOf"}) {
    const Json* list = at.schema->Find(name);
    if (list == nullptr) continue;
    if (list->AsArray() == nullptr) return Refuse(at.pointer + "/" + name, "a list expected");
    Schemas none;
    for (const SchemaAt& part : parts(*list, name)) {
      if (name == "allOf") found->ways.push_back({Not(part)});
      none.push_back(Not(part));
    }
    if (name != "allOf") found->ways.push_back(std::move(none));
    if (name == "oneOf") found->all = false;  // or of two at once
  }
  if (const Json* negated = at.schema->Find("not")) {
    found->ways.push_back({{negated, at.pointer + "/not"}});
  }
  return {};
}

/// A declared property is there and not as declared; a required one is not there.
Result<void> SchemaCompiler::NotObject(const SchemaAt& at, Negation* found) {
  BITTERN_TRY(CheckObjectKeywords(at));
  if (const Json* required = at.schema->Find("required")) {
    for (const Json& name : *required->AsArray()) {
      found->ways.push_back({Without(*name.AsString(), "!" + at.pointer)});
    }
  }
  const Json* properties = at.schema->Find("properties");
  if (properties == nullptr) return {};
  for (const auto& [name, schema] : *properties->AsObject()) {
    if (HoldsAlways(schema)) continue;
    const Json other(Json::Object{{name, Json(Json::Object{{"not", schema}})}});
    found->ways.push_back({Made("!" + at.pointer + "~has/" + PointerKey(name),
                                Json(Json::Object{{"type", Text("object")},
                                                  {"required", Json(Json::Array{Text(name)})},
                                                  {"properties", other}}))});
  }
  return {};
}

/// Adds the contrary of each bound: `not` of "minimum: 3" is "exclusiveMaximum: 3". A bound whose
/// contrary cannot be said sets found->all to false.
void SchemaCompiler::NotBounds(const SchemaAt& at, Negation* found) {
  for (const NegatedBound& bound : kBounds) {
    const Json* value = at.schema->Find(bound.keyword);
    if (value == nullptr) continue;
    // Draft 4 says by a truth whether the bound itself is meant.
    const Json* open = bound.keyword == "minimum"   ? at.schema->Find("exclusiveMinimum")
                       : bound.keyword == "maximum" ? at.schema->Find("exclusiveMaximum")
                                                    : nullptr;
    const bool whole = value->AsUint() && *value->AsUint() < 1'000'000'000;
    if (!value->AsNumber() || (open != nullptr && open->AsBool()) || (bound.shift != 0 && !whole)) {
      found->all = false;
      continue;
    }
    if (bound.shift < 0 && *value->AsUint() == 0) continue;  // it holds always
    const Json other =
        bound.shift == 0
            ? *value
            : Json(Json::Value(*value->AsUint() + static_cast<std::uint64_t>(bound.shift)));
    found->ways.push_back({Made(
        "!" + at.pointer + "~" + std::string(bound.keyword),
        Json(Json::Object{{"type", Text(bound.type)}, {std::string(bound.contrary), other}}))});
  }
}

/// The ways in which a value can fail `at`: one for each keyword that it may break, at most
/// kMostWays of them.
Result<SchemaCompiler::Negation> SchemaCompiler::WaysOfNot(const SchemaAt& at) {
  Negation found;
  if (const auto allowed = at.schema->AsBool()) {
    if (!*allowed) found.ways.emplace_back();
    return found;
  }
  if (at.schema->AsObject() == nullptr) return Refuse(at.pointer, "a schema expected");
  if (const Json* ref = at.schema->Find("$ref")) {
    // Up to draft 7 nothing beside it counts, so its contrary alone is sure.
    if (ref->AsString() == nullptr) return Refuse(at.pointer + "/$ref", "a text expected");
    const SchemaAt named = BITTERN_TRY(ResolveRef(*document_, *ref->AsString(), at.pointer));
    found.ways = {{Not(named)}};
    found.all = at.schema->AsObject()->size() == 1;
    return found;
  }
  BITTERN_TRY(NotObject(at, &found));
  if (at.schema->Find("type") != nullptr) {
    const unsigned types = BITTERN_TRY(TypesOf(at));
    unsigned others = kAllTypes & ~types;
    const Json* nullable = at.schema->Find("nullable");  // OpenAPI's way to allow null
    if (nullable != nullptr && nullable->AsBool() == true) others &= ~unsigned{kNullType};
    if ((types & kIntegerType) != 0) {
      found.all = found.all && (types & kFractionType) != 0;  // fractions alone are not said
      others &= ~unsigned{kFractionType};
    }
    if (others != 0) found.ways.push_back({Made("!" + at.pointer + "~type", OfTypes(others))});
  }
  for (const std::string name : {"const", "enum"}) {
    if (const Json* listed = at.schema->Find(name)) {
      const Json forbidden(Json::Object{{name, *listed}});
      found.ways.push_back(
          {Made("!" + at.pointer + "~" + name, Json(Json::Object{{"not", forbidden}}))});
    }
  }
  if (const Json* pattern = at.schema->Find("pattern")) {
    const Json forbidden(Json::Object{{"pattern", *pattern}});
    found.ways.push_back({Made("!" + at.pointer + "~pattern",
                               Json(Json::Object{{"type", Text("string")}, {"not", forbidden}}))});
  }
  NotBounds(at, &found);
  BITTERN_TRY(NotParts(at, &found));
  for (const std::string_view name : kNoContrary) {
    if (at.schema->Find(name) != nullptr) found.all = false;
  }
  if (found.ways.size() > kMostWays) {
    found.ways.resize(kMostWays);
    found.all = false;
  }
  return found;
}

}  // namespace bittern::grammar
