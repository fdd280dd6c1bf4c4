// SPDX-License-Identifier: Apache-2.0
// The fields of a JSON request that say what the text must be, under the names of llama.cpp's and
// OpenAI's servers.
#pragma once

#include <string_view>

#include "base/json/json.hpp"
#include "base/result.hpp"
#include "runtime/generate_options.hpp"

namespace bittern::cli {

/// Takes "grammar", "json_schema", "regex" or "response_format"; false if the field is none of
/// these. Errors: kInvalidArgument names the field; what cannot be obeyed is refused when the text
/// begins.
[[nodiscard]] Result<bool> ReadConstraintField(std::string_view field, const Json& value,
                                               runtime::GenerateOptions* options);

}  // namespace bittern::cli
