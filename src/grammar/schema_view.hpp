// SPDX-License-Identifier: Apache-2.0
// Several schemas that must all hold, seen as one: where `$ref` and `allOf` lead, and their
// keywords side by side.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/json.hpp"

namespace bittern::grammar {

using formats::Json;

/// A schema and where it stands in the document.
struct SchemaAt {
  const Json* schema;
  std::string pointer;      ///< "/properties/a"
  bool anyof_done = false;  ///< a branch has been picked already
  bool oneof_done = false;
  bool expanded = false;  ///< `$ref` and `allOf` have been followed
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
[[nodiscard]] Result<SchemaAt> ResolveRef(const Json& document, const std::string& ref,
                                          const std::string& pointer);

/// Replaces `$ref` and `allOf` by what they stand for, and checks that every keyword is known.
[[nodiscard]] Result<std::vector<SchemaAt>> Expand(const Json& document,
                                                   std::vector<SchemaAt> schemas);

/// Whether no value can be valid under both, so far as that is plain to see: by type, by constants,
/// or by a property that both demand.
[[nodiscard]] bool AreDisjoint(const Json& document, const SchemaAt& a, const SchemaAt& b);

}  // namespace bittern::grammar
