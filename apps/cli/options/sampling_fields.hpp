// SPDX-License-Identifier: Apache-2.0
// The fields of a JSON request that say how tokens are picked, under the names of llama.cpp's and
// OpenAI's servers: for `batch` lines and whatever else takes requests.
#pragma once

#include <string_view>

#include "base/json/json.hpp"
#include "base/result.hpp"
#include "runtime/generate_options.hpp"

namespace bittern::cli {

/// Takes one field; false if it is none of these. Errors: kInvalidArgument names the field, what
/// was expected and what was found; ranges are checked by the sampler.
[[nodiscard]] Result<bool> ReadSamplingField(std::string_view field, const Json& value,
                                             const tokenizer::Tokenizer& tokenizer,
                                             runtime::GenerateOptions* options);

/// The fields that give these options, all of them, as ReadSamplingField takes them.
[[nodiscard]] Json SamplingFieldsOf(const runtime::SamplerOptions& options);

}  // namespace bittern::cli
