// SPDX-License-Identifier: Apache-2.0
// The fields that say what an answer must be: a grammar, a JSON schema, a regular expression. What
// cannot be obeyed is refused before the first token; an answer is never left free. Any thread.
#pragma once

#include <optional>
#include <string>

#include "grammar/constraint.hpp"
#include "request/fields/field_reader.hpp"
#include "runtime/loaded_model.hpp"

namespace bittern::request {

using OptionalConstraint = std::optional<grammar::Constraint>;

/// "grammar", "json_schema", "regex" and OpenAI's "response_format", of which one may be given.
/// Errors: kInvalidArgument with the field, and the JSON pointer of a keyword that cannot be
/// obeyed.
[[nodiscard]] Result<void> ReadConstraint(FieldReader* fields, const runtime::LoadedModel& model,
                                          OptionalConstraint* constraint);

/// The constraint of {"type": "json_schema", ...} at `path`. `wrapped`: the schema lies in a member
/// "json_schema", as in chat completions; else beside "type", as in responses.
[[nodiscard]] Result<OptionalConstraint> ReadFormat(const std::string& path, const Json& format,
                                                    bool wrapped);

/// Compiles the grammar, which the answer then finds ready. Errors start with `path`.
[[nodiscard]] Result<void> CheckConstraint(const std::string& path,
                                           const runtime::LoadedModel& model,
                                           const grammar::Constraint& constraint);

/// {"type", "text"}, for settings and receipts; and back. Errors: kInvalidArgument.
[[nodiscard]] Json ConstraintJson(const grammar::Constraint& constraint);
[[nodiscard]] Result<grammar::Constraint> ReadConstraintJson(const std::string& path,
                                                             const Json& json);

}  // namespace bittern::request
