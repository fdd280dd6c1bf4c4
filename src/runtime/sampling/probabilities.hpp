// SPDX-License-Identifier: Apache-2.0
// Softmax and what is computed from it, in double, in list order, with our own exp and log.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "runtime/sampling/sampler_steps.hpp"

namespace bittern::runtime {

/// Probabilities of the candidates at a temperature > 0; they sum to 1 but for rounding.
[[nodiscard]] std::vector<double> Softmax(const Candidates& candidates, double temperature = 1);

/// Log(p) for p in 0..1; a very negative number for those too small for Log.
[[nodiscard]] double LogOf(double p) noexcept;

/// -sum of p log p, in nats.
[[nodiscard]] double EntropyOf(std::span<const double> probabilities) noexcept;

}  // namespace bittern::runtime
