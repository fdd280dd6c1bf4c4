// SPDX-License-Identifier: Apache-2.0
// The numbers of the sampler chain by their names, for reading and for writing: requests, settings
// and receipts say the same.
#pragma once

#include <string_view>

#include "request/fields/field_reader.hpp"
#include "runtime/generate_options.hpp"

namespace bittern::request {

/// Every option of a generation that can change a token, by its name in requests.
[[nodiscard]] Json OptionsJson(const runtime::GenerateOptions& options);

/// Reads the same names; what is absent is left alone. Errors: kInvalidArgument, with the field.
/// Ranges beyond the type are checked by runtime::Sampler::Create.
[[nodiscard]] Result<void> ReadOptions(FieldReader* fields, const tokenizer::Tokenizer& tokenizer,
                                       runtime::GenerateOptions* options);

/// Stop strings: so many, and so many bytes each.
inline constexpr std::size_t kMostStops = 64, kMostStopBytes = 1024;
[[nodiscard]] Result<void> ReadStops(FieldReader* fields, std::string_view key,
                                     std::vector<std::string>* stops);

}  // namespace bittern::request
