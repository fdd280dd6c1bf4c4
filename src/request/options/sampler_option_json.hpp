// SPDX-License-Identifier: Apache-2.0
// An option of the sampler as JSON: a field of a request, and what receipts and settings write.
#pragma once

#include "base/result.hpp"
#include "request/fields/field_reader.hpp"
#include "request/options/sampler_option_table.hpp"

namespace bittern::request {

/// Reads the field of the option; where it is absent, nothing changes. `tokenizer` is for biases of
/// texts. Error kInvalidArgument: the field, what was expected and what was found. Ranges that
/// CheckSamplerOptions has words for are left to it.
[[nodiscard]] Result<void> ReadSamplerOption(const SamplerOption& option,
                                             const tokenizer::Tokenizer& tokenizer,
                                             FieldReader* fields, runtime::SamplerOptions* options);

/// The option's value, as ReadSamplerOption takes it. A float is as short as it can be: 0.8.
[[nodiscard]] Json SamplerOptionJson(const SamplerOption& option,
                                     const runtime::SamplerOptions& options);

}  // namespace bittern::request
