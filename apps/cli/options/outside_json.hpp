// SPDX-License-Identifier: Apache-2.0
// JSON that comes from outside: a line of a batch, a saved conversation, a value that was typed.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "base/result.hpp"

namespace bittern::cli {

/// How deep lists and objects may lie in each other. What reads, copies and prints such values
/// calls itself once a level.
inline constexpr int kMostJsonDepth = 100;

/// Members keep their order. Errors kInvalidArgument: "not valid JSON"; more than kMostJsonDepth
/// levels.
[[nodiscard]] Result<nlohmann::ordered_json> ParseOutsideJson(std::string_view text);

}  // namespace bittern::cli
