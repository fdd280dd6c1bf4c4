// SPDX-License-Identifier: Apache-2.0
// Tokens to a tree, by recursive descent with Jinja 3.1's precedences.
#pragma once

#include <string_view>

#include "base/result.hpp"
#include "jinja/ast.hpp"

namespace bittern::jinja {

/// Errors kCorruptFile (not Jinja) and kUnsupported (include, import, extends; nested too deeply)
/// name the line.
[[nodiscard]] Result<Block> Parse(std::string_view source);

}  // namespace bittern::jinja
