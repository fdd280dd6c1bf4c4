// SPDX-License-Identifier: Apache-2.0
// A JSON schema (draft 7 to 2020-12) as a grammar of JSON texts that are valid under it
// (docs/structured-output.md). Never more than that: what cannot be obeyed is refused. It may be
// less: one order of properties, one spacing.
#pragma once

#include <cstdint>
#include <string_view>

#include "grammar/automaton/grammar.hpp"

namespace bittern::grammar {

/// Error kInvalidArgument: not JSON; a keyword that cannot be obeyed, by its JSON pointer; more
/// work than SchemaDocument::kMostSteps. `steps`: what others of the same request have cost; this
/// one is added.
[[nodiscard]] Result<Grammar> ParseJsonSchema(std::string_view schema,
                                              std::uint64_t* steps = nullptr);

/// Any JSON object, as `response_format: {"type": "json_object"}` wants it.
[[nodiscard]] Grammar JsonObjectGrammar();

/// The texts of strings of a `format`; nothing for formats that are not known.
[[nodiscard]] std::string_view PatternOfFormat(std::string_view format) noexcept;

}  // namespace bittern::grammar
