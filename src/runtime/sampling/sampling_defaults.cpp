// SPDX-License-Identifier: Apache-2.0
#include "runtime/sampling/sampling_defaults.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "runtime/sampling/sampler.hpp"

namespace bittern::runtime {
namespace {

constexpr SamplingKey kKeys[] = {
    {"general.sampling.temp", "temperature"},
    {"general.sampling.top_k", "top_k"},
    {"general.sampling.top_p", "top_p"},
    {"general.sampling.min_p", "min_p"},
    {"general.sampling.penalty_last_n", "repeat_last_n"},
    {"general.sampling.penalty_repeat", "repeat_penalty"},
};

/// Sets the option of a key; false for a fraction where a count is wanted, or too large a one.
bool Set(std::string_view option, double value, SamplerOptions* options) {
  int* count = option == "top_k"           ? &options->top_k
               : option == "repeat_last_n" ? &options->repeat_last_n
                                           : nullptr;
  if (count != nullptr) {
    if (value != std::floor(value) || std::fabs(value) > std::numeric_limits<int>::max()) {
      return false;
    }
    *count = static_cast<int>(value);
    return true;
  }
  float* number = option == "temperature" ? &options->temperature
                  : option == "top_p"     ? &options->top_p
                  : option == "min_p"     ? &options->min_p
                                          : &options->repeat_penalty;
  *number = static_cast<float>(value);
  return true;
}

}  // namespace

std::span<const SamplingKey> SamplingKeys() noexcept { return kKeys; }

void TakeSamplingDefault(const formats::Metadata& metadata, const SamplingKey& key,
                         SamplerOptions* options, Decisions* decisions) {
  const auto value = metadata.GetFloat(key.key);
  const std::string subject(key.option);
  if (!value.has_value()) {
    decisions->push_back({subject, "as without the file", value.error().message, true});
    return;
  }
  if (!*value) return;
  SamplerOptions with = *options;
  if (!Set(key.option, **value, &with) || !Sampler::Create(with).has_value()) {
    decisions->push_back({subject, "as without the file",
                          fmt::format("{} = {} is out of range", key.key, **value), true});
    return;
  }
  *options = with;
  decisions->push_back({subject, fmt::format("{:.6g}", **value), std::string(key.key), false});
}

}  // namespace bittern::runtime
