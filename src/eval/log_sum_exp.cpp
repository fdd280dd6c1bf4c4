// SPDX-License-Identifier: Apache-2.0
// A vocabulary has up to 128,256 tokens, so an exponential here is a polynomial without a branch,
// which compilers make vector code of. Any number of threads.
#include "eval/log_sum_exp.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>

#include "base/portable_math.hpp"

namespace bittern::eval {
namespace {

constexpr std::size_t kLanes = 8;
constexpr double kLeast = -700;  // e^-700 adds nothing to a sum of 1 or more

/// e^x for kLeast <= x <= 0, to about 1e-11 relative.
double FastExp(double x) {
  const double shifted = x * 0x1.71547652b82fep0 + 0x1.8p52;  // the integer is in the low bits
  const double k = shifted - 0x1.8p52;
  const double r = (x - k * 0x1.62e42feep-1) - k * 0x1.a39ef35793c76p-33;  // |r| <= ln(2) / 2
  double sum = 1.0 / 3628800;
  for (const double factor : {1.0 / 362880, 1.0 / 40320, 1.0 / 5040, 1.0 / 720, 1.0 / 120, 1.0 / 24,
                              1.0 / 6, 0.5, 1.0, 1.0}) {
    sum = sum * r + factor;
  }
  const auto exponent = (std::bit_cast<std::uint64_t>(shifted) + 1023) << 52;
  return sum * std::bit_cast<double>(exponent);
}

}  // namespace

double LogSumExp(std::span<const float> logits) noexcept {
  const double largest = *std::ranges::max_element(logits);
  std::array<double, kLanes> sums = {};
  std::size_t i = 0;
  for (; i + kLanes <= logits.size(); i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      sums[lane] += FastExp(std::max(logits[i + lane] - largest, kLeast));
    }
  }
  double sum = 0;
  for (; i < logits.size(); ++i) sum += FastExp(std::max(logits[i] - largest, kLeast));
  for (const double lane : sums) sum += lane;
  return largest + Log(sum);
}

double ExpectedNats(std::span<const float> logits) noexcept {
  const double largest = *std::ranges::max_element(logits);
  std::array<double, kLanes> sums = {}, weighted = {};
  const auto add = [&](std::size_t i, std::size_t lane) {
    const double below = std::max(logits[i] - largest, kLeast);
    const double part = FastExp(below);
    sums[lane] += part;
    weighted[lane] += part * below;
  };
  std::size_t i = 0;
  for (; i + kLanes <= logits.size(); i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) add(i + lane, lane);
  }
  for (; i < logits.size(); ++i) add(i, 0);
  double sum = 0, mean = 0;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    sum += sums[lane];
    mean += weighted[lane];
  }
  return std::max(0.0, Log(sum) - mean / sum);
}

TokenScore ScoreOf(std::span<const float> logits, std::int32_t token) noexcept {
  const auto index = static_cast<std::size_t>(token);
  const auto best = static_cast<std::size_t>(std::ranges::max_element(logits) - logits.begin());
  return {.nats = std::max(0.0, LogSumExp(logits) - logits[index]), .best = best == index};
}

}  // namespace bittern::eval
