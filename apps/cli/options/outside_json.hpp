// SPDX-License-Identifier: Apache-2.0
// JSON that comes from outside: a line of a batch, a saved conversation, a value that was typed.
#pragma once

#include <string_view>

#include "base/json/json.hpp"
#include "base/result.hpp"

namespace bittern::cli {

/// How deep lists and objects may lie in each other. What reads, copies and prints such values
/// calls itself once a level.
inline constexpr int kMostJsonDepth = 100;

/// Members keep their order. Errors kInvalidArgument: "not valid JSON"; more than kMostJsonDepth
/// levels.
[[nodiscard]] Result<Json> ParseOutsideJson(std::string_view text);

}  // namespace bittern::cli
