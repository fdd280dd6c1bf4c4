// SPDX-License-Identifier: Apache-2.0
// Texts as people type them: escapes and lists of numbers. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace bittern {

/// "1,2, 3" as numbers. Error kInvalidArgument names the part that is not one, and `name`, which
/// stands for the list.
[[nodiscard]] Result<std::vector<std::int32_t>> ParseIntegers(std::string_view text,
                                                              std::string_view name);

/// Replaces \n \t \r \\ \" \' as llama.cpp does; other backslashes stay.
[[nodiscard]] std::string Unescape(std::string_view text);

}  // namespace bittern
