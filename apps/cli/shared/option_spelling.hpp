// SPDX-License-Identifier: Apache-2.0
// How the options of request/options/sampler_option_table.hpp and option_table.hpp are spelt on a
// command line. Their rows have names without dashes: "temp,temperature".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "request/options/sampler_option_table.hpp"

namespace bittern::cli {

/// All spellings of "s,seed": "-s", "--seed".
[[nodiscard]] std::vector<std::string> SpelledFlags(std::string_view names);
/// The first long one, "--seed"; "" where there is none.
[[nodiscard]] std::string UsualFlag(std::string_view names);
/// The usual flag of an option of the sampler: "--top-nsigma".
[[nodiscard]] inline std::string FlagOf(const request::SamplerOption& option) {
  return UsualFlag(option.flags);
}
/// The row with that flag, "--top-n-sigma"; null if there is none.
[[nodiscard]] const request::SamplerOption* SamplerOptionOfFlag(std::string_view flag);

}  // namespace bittern::cli
