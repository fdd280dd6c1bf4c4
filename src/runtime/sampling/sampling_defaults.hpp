// SPDX-License-Identifier: Apache-2.0
// Sampling options that a model file recommends, under llama.cpp's keys: general.sampling.temp,
// top_k, top_p, min_p, penalty_last_n, penalty_repeat. What the user says goes before them.
#pragma once

#include <span>
#include <string_view>

#include "base/decision.hpp"
#include "formats/metadata.hpp"
#include "runtime/sampling/sampler.hpp"

namespace bittern::runtime {

/// A key of a file and the option that it stands for.
struct SamplingKey {
  std::string_view key;     ///< "general.sampling.temp"
  std::string_view option;  ///< "temperature": its key in the public API
};

/// All keys that are read.
[[nodiscard]] std::span<const SamplingKey> SamplingKeys() noexcept;

/// Sets the option of `key` to what the file says, if it says something that Sampler::Create
/// accepts. A value that is not a number or out of range is left alone. Both are decisions.
void TakeSamplingDefault(const formats::Metadata& metadata, const SamplingKey& key,
                         SamplerOptions* options, Decisions* decisions);

}  // namespace bittern::runtime
