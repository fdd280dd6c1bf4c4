// SPDX-License-Identifier: Apache-2.0
// How the options of the sampler (request/sampler_option_table.hpp) are spelt on a command line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "request/sampler_option_table.hpp"

namespace bittern::cli {

/// All spellings: "-s", "--seed".
[[nodiscard]] std::vector<std::string> FlagsOf(const request::SamplerOption& option);
/// The usual one: "--top-nsigma".
[[nodiscard]] std::string FlagOf(const request::SamplerOption& option);
/// The row with that flag, "--top-n-sigma"; null if there is none.
[[nodiscard]] const request::SamplerOption* SamplerOptionOfFlag(std::string_view flag);

}  // namespace bittern::cli
