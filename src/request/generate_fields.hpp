// SPDX-License-Identifier: Apache-2.0
// The members of a request that say how an answer is made: numbers of the sampler chain, stops, and
// a grammar, a JSON schema or a regular expression that the answer obeys. The same names are
// written in settings and receipts. A constraint that cannot be obeyed is refused before the first
// token; an answer is never left free. Any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/constraint.hpp"
#include "request/fields/field_reader.hpp"
#include "runtime/generate_options.hpp"
#include "runtime/loaded_model.hpp"

namespace bittern::request {

/// Every option of a generation that can change a token, by its name in requests.
[[nodiscard]] Json OptionsJson(const runtime::GenerateOptions& options);

/// Reads the same names; what is absent is left alone. Errors: kInvalidArgument, with the field.
/// Ranges beyond the type are checked by runtime::Sampler::Create.
[[nodiscard]] Result<void> ReadOptions(FieldReader* fields, const tokenizer::Tokenizer& tokenizer,
                                       runtime::GenerateOptions* options);

/// Stop strings: so many, and so many bytes each.
inline constexpr std::size_t kMostStops = 64, kMostStopBytes = 1024;
[[nodiscard]] Result<void> ReadStops(FieldReader* fields, std::string_view key,
                                     std::vector<std::string>* stops);

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
