// SPDX-License-Identifier: Apache-2.0
// The lists of `bench` as llama-bench reads them: "128,512", "8-16+8", "128-1024*2".
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"

namespace bittern::bench {

/// The numbers of a list: numbers and ranges FIRST-LAST, with a step +N (1 where none is given) or
/// a factor *N, separated by commas. Error kInvalidArgument names `name`, which stands
/// for the list, and the part that is none
/// of these, or a list of more than 1,000 numbers.
[[nodiscard]] Result<std::vector<std::int32_t>> ParseNumberList(std::string_view text,
                                                                std::string_view name);

/// "PROMPT,GEN" of -pg. Error kInvalidArgument: not two numbers above 0.
[[nodiscard]] Result<std::pair<int, int>> ParsePromptAndGen(std::string_view text,
                                                            std::string_view name);

}  // namespace bittern::bench
