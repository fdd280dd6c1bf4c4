// SPDX-License-Identifier: Apache-2.0
// Each way to stretch a rotation divides its frequencies: all alike, by their size, by their place,
// or by a list of the file.
#include "model/load/rope_frequencies.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
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
    case RopeScaling::Kind::kYarn:
    case RopeScaling::Kind::kLong:
      return frequency;  // RopeFrequencies: they go by the place of the pair
  }
  // Turns the wave makes over the original context.
  const double turns = scaling.original_context * frequency / (2 * std::numbers::pi);
  if (turns <= scaling.low_freq_factor) return frequency / scaling.factor;
  if (turns >= scaling.high_freq_factor) return frequency;
  const double smooth =
      (turns - scaling.low_freq_factor) / (scaling.high_freq_factor - scaling.low_freq_factor);
  return (1 - smooth) * frequency / scaling.factor + smooth * frequency;
}

namespace {

/// Stretches by the place of a pair: those before `low` stay, those from `high` on are divided, and
/// between them the share rises in a line.
class YarnRamp {
 public:
  explicit YarnRamp(const ModelConfig& c) : factor_(c.rope_scaling.factor) {
    const RopeScaling& scaling = c.rope_scaling;
    // The pair whose wave makes so many turns over the original context.
    const auto place = [&](double turns) {
      return c.rotated_dim * Log(scaling.original_context / (turns * 2 * std::numbers::pi)) /
             (2 * Log(c.rope_theta));
    };
    low_ = std::max(std::floor(place(scaling.beta_fast)), 0.0);
    high_ = std::min(std::ceil(place(scaling.beta_slow)), c.rotated_dim - 1.0);
  }

  [[nodiscard]] double Stretch(std::size_t pair, double frequency) const {
    const double rise = (static_cast<double>(pair) - low_) / std::max(high_ - low_, 0.001);
    const double divided = std::clamp(rise, 0.0, 1.0);
    return frequency / factor_ * divided + frequency * (1 - divided);
  }

 private:
  double factor_, low_, high_;
};

constexpr const char* kLongFactors = "rope_factors_long.weight";
constexpr const char* kShortFactors = "rope_factors_short.weight";

/// Divides each frequency by its factor: of a long context where the model has one. Both lists must
/// be there, as a file that lacks one is no whole model.
Result<void> DivideByFactors(TensorBinder& binder, const ModelConfig& c,
                             std::vector<double>* frequencies) {
  constexpr double kMostRadians = 1 << 20;  // for which SinCos is exact enough
  const bool is_long = c.context_length > c.rope_scaling.original_context;
  for (const char* name : {kShortFactors, kLongFactors}) {
    if (binder.checkpoint().Find(name) == nullptr) {
      return Fail(ErrorCode::kCorruptFile,
                  fmt::format("{} is missing; {}.rope.scaling.type \"longrope\" needs it",
                              TensorPrefix(name), c.architecture));
    }
    const auto factors = BITTERN_TRY(binder.Vector(name, frequencies->size()));
    for (std::size_t i = 0; i < factors.size(); ++i) {
      const double divided = (*frequencies)[i] / static_cast<double>(factors[i]);
      if (!(factors[i] > 0) || divided * c.context_length > kMostRadians) {
        return Fail(ErrorCode::kCorruptFile,
                    fmt::format("{}: element {} is {}, expected more than 0, and no more than 2^20 "
                                "radians at the end of the context",
                                TensorPrefix(name), i, factors[i]));
      }
      if (is_long == (name == kLongFactors)) (*frequencies)[i] = divided;
    }
  }
  return {};
}

}  // namespace

std::vector<double> PlainFrequencies(double theta, int size) {
  std::vector<double> frequencies;
  const double log_theta = Log(theta);
  for (int i = 0; i < size / 2; ++i) {
    frequencies.push_back(Exp(-log_theta * static_cast<double>(2 * i) / size));
  }
  return frequencies;
}

Result<std::vector<double>> RopeFrequencies(TensorBinder& binder, const ModelConfig& c) {
  std::vector<double> frequencies = PlainFrequencies(c.rope_theta, c.rotated_dim);
  const std::size_t half = frequencies.size();
  for (double& frequency : frequencies) frequency = StretchedFrequency(frequency, c.rope_scaling);
  if (c.rope_scaling.kind == RopeScaling::Kind::kYarn) {
    const YarnRamp ramp(c);
    for (std::size_t i = 0; i < half; ++i) frequencies[i] = ramp.Stretch(i, frequencies[i]);
  }
  if (c.rope_scaling.kind == RopeScaling::Kind::kLong) {
    BITTERN_TRY(DivideByFactors(binder, c, &frequencies));
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
