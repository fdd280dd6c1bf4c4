// SPDX-License-Identifier: Apache-2.0
// An option of the sampler as a text: how the C interface, Python and Node.js set it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "request/options/sampler_option_table.hpp"

namespace bittern::request {

/// Whether several texts add up: the breakers of DRY, the biases.
[[nodiscard]] bool TakesSeveral(const SamplerOption& option) noexcept;

/// Sets the option from texts, the last of them where it takes one. A number in decimal; a chain of
/// steps with ';' between them, empty for the usual one; a bias as "15043+1.5" or "15043-inf"; a
/// breaker as it is, "none" for no breaker. Error kInvalidArgument, with nothing changed: the name,
/// what was expected and what was found; what CheckSamplerOptions refuses, too.
[[nodiscard]] Result<void> SetSamplerOption(const SamplerOption& option,
                                            std::span<const std::string> texts,
                                            runtime::SamplerOptions* options);

/// "15043+1.5", "15043-inf"; nothing where a text is no bias.
[[nodiscard]] std::optional<runtime::LogitBias> BiasOfText(std::string_view text);

/// The expectation of a text: "a number of 0 to 1".
[[nodiscard]] std::string ExpectedText(const SamplerOption& option);

/// The default, read from a struct that nothing has changed. Texts of an option that takes several
/// are a JSON list; none are "".
[[nodiscard]] std::string DefaultText(const SamplerOption& option);

}  // namespace bittern::request
