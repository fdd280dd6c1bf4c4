// SPDX-License-Identifier: Apache-2.0
// Each step transforms the candidates in place. Mirostat and adaptive-p learn from the token
// that was drawn.
#include "runtime/sampling/temperature.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/portable_math.hpp"
#include "runtime/sampling/probabilities.hpp"

namespace bittern::runtime {
namespace {

constexpr double kLn2 = 0.693147180559945309417232121458;

/// base^exponent for base >= 0.
double Power(double base, double exponent) noexcept {
  if (exponent == 0) return 1;
  return base <= 0 ? 0 : Exp(exponent * LogOf(base));
}

}  // namespace

void Scale(double temperature, Candidates* candidates) {
  constexpr double kLargest = std::numeric_limits<float>::max();
  for (Candidate& candidate : *candidates) {
    const double scaled = static_cast<double>(candidate.logit) / temperature;
    candidate.logit = static_cast<float>(std::clamp(scaled, -kLargest, kLargest));
  }
}

double DynamicTemperature(double temperature, double range, double exponent,
                          const Candidates& candidates) {
  const double least = std::max(0.0, temperature - range), most = temperature + range;
  if (candidates.size() < 2) return most;
  const double largest = LogOf(1 / static_cast<double>(candidates.size()));
  const double share = std::min(EntropyOf(Softmax(candidates)) / -largest, 1.0);
  return least + (most - least) * Power(share, exponent);
}

void Mirostat::Truncate1(std::size_t vocab_size, Candidates* candidates) const {
  SortBest(candidates->size(), candidates);
  constexpr std::size_t kEstimated = 100;
  const std::size_t size = candidates->size();
  double products = 0, squares = 0;
  for (std::size_t i = 0; i + 1 < std::min(kEstimated, size); ++i) {
    const double t = Log(static_cast<double>(i + 2) / static_cast<double>(i + 1));
    // log(p[i] / p[i + 1])
    products += t * (static_cast<double>((*candidates)[i].logit) -
                     static_cast<double>((*candidates)[i + 1].logit));
    squares += t * t;
  }
  double kept = 1;
  if (squares > 0) {
    const double s = products / squares, epsilon = s - 1;
    const double top = epsilon * Exp(mu * kLn2);
    const double bottom = 1 - Exp(-epsilon * Log(static_cast<double>(vocab_size)));
    // For s near 1 the fraction tends to 2^mu / log(vocab_size).
    const double ratio = std::fabs(epsilon) < 1e-9
                             ? Exp(mu * kLn2) / Log(static_cast<double>(vocab_size))
                             : top / bottom;
    kept = s > 0 ? Power(ratio, 1 / s) : static_cast<double>(size);
  }
  const auto most = static_cast<double>(size);
  const double bounded = std::isfinite(kept) ? std::clamp(kept, 1.0, most) : most;
  candidates->resize(static_cast<std::size_t>(bounded));
}

void Mirostat::Truncate2(Candidates* candidates) const {
  SortBest(candidates->size(), candidates);
  const std::vector<double> p = Softmax(*candidates);
  const auto high = std::ranges::find_if(p, [&](double x) { return -LogOf(x) / kLn2 > mu; });
  candidates->resize(std::max<std::size_t>(1, static_cast<std::size_t>(high - p.begin())));
}

void Mirostat::Observe(double probability) noexcept {
  mu -= eta * (-LogOf(probability) / kLn2 - tau);
}

AdaptiveP AdaptiveP::Begin(double target, double decay) noexcept {
  return {target, decay, target / (1 - decay), 1 / (1 - decay)};
}

void AdaptiveP::Transform(Candidates* candidates) const {
  constexpr double kWidth = 0.3, kPeak = 5, kSharpness = 10;
  const double aim = std::clamp(target, 0.0, 1.0);
  const double moved = std::clamp(2 * aim - weighted_sum / total_weight, 0.0, 1.0);
  const std::vector<double> p = Softmax(*candidates);
  for (std::size_t i = 0; i < p.size(); ++i) {
    const double off = std::fabs(p[i] - moved) / kWidth;
    (*candidates)[i].logit = static_cast<float>(kPeak - kSharpness * off * off / (1 + off));
  }
}

void AdaptiveP::Observe(double probability) noexcept {
  weighted_sum = probability + decay * weighted_sum;
  total_weight = 1 + decay * total_weight;
}

}  // namespace bittern::runtime
