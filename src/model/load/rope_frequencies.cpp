// SPDX-License-Identifier: Apache-2.0
#include "model/load/rope_frequencies.hpp"

#include <fmt/format.h>

#include <numbers>

#include "base/portable_math.hpp"

namespace bittern::model {

double StretchedFrequency(double frequency, const RopeScaling& scaling) noexcept {
  switch (scaling.kind) {
    case RopeScaling::Kind::kNone:
      return frequency;
    case RopeScaling::Kind::kLinear:
      return frequency / scaling.factor;
    case RopeScaling::Kind::kLlama3:
      break;
  }
  // Turns the wave makes over the original context.
  const double turns = scaling.original_context * frequency / (2 * std::numbers::pi);
  if (turns <= scaling.low_freq_factor) return frequency / scaling.factor;
  if (turns >= scaling.high_freq_factor) return frequency;
  const double smooth =
      (turns - scaling.low_freq_factor) / (scaling.high_freq_factor - scaling.low_freq_factor);
  return (1 - smooth) * frequency / scaling.factor + smooth * frequency;
}

Result<std::vector<double>> RopeFrequencies(TensorBinder& binder, const ModelConfig& c) {
  const auto half = static_cast<std::size_t>(c.rotated_dim / 2);
  std::vector<double> frequencies(half);
  const double log_theta = Log(c.rope_theta);
  for (std::size_t i = 0; i < half; ++i) {
    const double plain = Exp(-log_theta * static_cast<double>(2 * i) / c.rotated_dim);
    frequencies[i] = StretchedFrequency(plain, c.rope_scaling);
  }
  if (binder.checkpoint().Find("rope_freqs.weight") == nullptr) return frequencies;
  const auto divisors = BITTERN_TRY(binder.Vector("rope_freqs.weight", half));
  for (std::size_t i = 0; i < half; ++i) {
    if (divisors[i] < 1) {
      return Fail(ErrorCode::kCorruptFile,
                  fmt::format("tensor \"rope_freqs.weight\": element {} is {}, expected 1 or more",
                              i, divisors[i]));
    }
    frequencies[i] /= static_cast<double>(divisors[i]);
  }
  return frequencies;
}

}  // namespace bittern::model
