// SPDX-License-Identifier: Apache-2.0
// GBNF, the grammar notation of llama.cpp (docs/structured-output.md).
#pragma once

#include <string_view>

#include "grammar/automaton/grammar.hpp"

namespace bittern::grammar {

/// Reads rules `name ::= ...`; the one named "root" is what a text must be. Error kInvalidArgument
/// names line and column, what was expected and what was found.
[[nodiscard]] Result<Grammar> ParseGbnf(std::string_view text);

}  // namespace bittern::grammar
