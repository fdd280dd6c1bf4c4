// SPDX-License-Identifier: Apache-2.0
// Several schemas that must all hold, seen as one: where `$ref` and `allOf` lead, and their
// keywords side by side.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/json/json.hpp"
#include "grammar/schema/document.hpp"

namespace bittern::grammar {

/// A schema and where it stands in the document.
struct SchemaAt {
  const Json* schema;
  std::string pointer;    ///< "/properties/a"
  unsigned done = 0;      ///< of `anyOf`, ...: Done bits; a branch has been picked already
  bool expanded = false;  ///< `$ref` and `allOf` have been followed
};

/// Keywords that are decided by picking a branch.
enum Done : unsigned {
  kAnyOfDone = 1,
  kOneOfDone = 2,
  kIfDone = 4,
  kDependenciesDone = 8,
  kNotDone = 16,
};

/// Types of JSON values, as bits. A whole number is kInteger, another one kFraction.
enum JsonType : unsigned {
  kNullType = 1,
  kBooleanType = 2,
  kIntegerType = 4,
  kFractionType = 8,
  kStringType = 16,
  kArrayType = 32,
  kObjectType = 64,
  kAllTypes = 127,
};

/// Error kInvalidArgument: "POINTER: what".
[[nodiscard]] tl::unexpected<Error> Refuse(const std::string& pointer, std::string_view what);

/// Whether two values are equal as JSON Schema means it.
[[nodiscard]] bool EqualJson(const Json& a, const Json& b);

[[nodiscard]] unsigned TypeOf(const Json& value);

/// The types that `type` allows; all where there is none.
[[nodiscard]] Result<unsigned> TypesOf(const SchemaAt& at);

/// The document's schema at "#/...". Errors kInvalidArgument: it is not in the document.
[[nodiscard]] Result<SchemaAt> ResolveRef(const SchemaDocument& document, const std::string& ref,
                                          const std::string& pointer);

/// Error kInvalidArgument: the document has cost more than it may.
[[nodiscard]] Result<void> CheckWork(const SchemaDocument& document, const std::string& pointer);

/// Replaces `$ref` and `allOf` by what they stand for, and checks that every keyword is known.
/// Errors also as CheckWork.
[[nodiscard]] Result<std::vector<SchemaAt>> Expand(SchemaDocument* document,
                                                   std::vector<SchemaAt> schemas);

/// Whether no value can be valid under all, so far as that is plain to see: by type, by constants,
/// or by a property that one of them demands.
/// Never plain once the document has cost more than it may.
[[nodiscard]] bool PlainlyEmpty(SchemaDocument* document, std::vector<SchemaAt> schemas,
                                int depth = 3);

/// Leaves the values that are in the other list, or those that are not. Nothing is left out once
/// the document has cost more than it may.
void KeepListed(SchemaDocument* document, const std::vector<const Json*>& listed, bool in,
                std::vector<const Json*>* values);

/// The constants that a schema allows, if it lists them.
[[nodiscard]] std::optional<std::vector<const Json*>> ConstantsOf(const Json& schema);

/// The constants that its `not` forbids, if this lists them and says nothing else.
[[nodiscard]] std::optional<std::vector<const Json*>> ForbiddenConstants(const Json& schema);

/// The pattern that texts of a schema of strings must not match, if its `not` says nothing else.
[[nodiscard]] const std::string* ForbiddenPattern(const Json& schema);

/// Whether `required` has a name.
[[nodiscard]] bool Demands(const Json& schema, std::string_view name);

/// The types that schemas without `type` speak of; all if they speak of none.
[[nodiscard]] unsigned TypesMeant(const std::vector<SchemaAt>& all);

/// Names of declared and of required properties, in order; `required` gets the latter. The keywords
/// have been checked.
[[nodiscard]] std::vector<std::string> NamesOf(const std::vector<SchemaAt>& all,
                                               std::set<std::string>* required);

/// A key as a part of a JSON pointer.
[[nodiscard]] std::string PointerKey(std::string key);

}  // namespace bittern::grammar
