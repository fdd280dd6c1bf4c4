// SPDX-License-Identifier: Apache-2.0
// The chain itself: which steps run, in which order. The steps are in sampler_steps.cpp.
#include "runtime/sampling/sampler.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/portable_math.hpp"
#include "base/system_random.hpp"

namespace bittern::runtime {
namespace {

constexpr std::uint32_t kSeedFromSystem = 0xffffffffu;

Result<void> CheckFinite(std::string_view name, float value) {
  if (std::isfinite(value)) return {};
  return Fail(ErrorCode::kInvalidArgument,
              fmt::format("{}: a number expected, {} found", name, value));
}

Result<void> Check(const SamplerOptions& options) {
  BITTERN_TRY(CheckFinite("temperature", options.temperature));
  BITTERN_TRY(CheckFinite("top_p", options.top_p));
  BITTERN_TRY(CheckFinite("min_p", options.min_p));
  BITTERN_TRY(CheckFinite("repeat_penalty", options.repeat_penalty));
  if (options.repeat_penalty <= 0) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("repeat_penalty: a number above 0 expected (1 is off), {} found",
                            options.repeat_penalty));
  }
  if (options.repeat_last_n < -1) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("repeat_last_n: 0 (off), -1 (whole context) or a count of tokens "
                            "expected, {} found",
                            options.repeat_last_n));
  }
  return {};
}

std::uint32_t SystemSeed() {
  const std::uint32_t seed = SystemRandom();
  // A printed seed must give the same text when given back, so it cannot be "-1".
  return seed == kSeedFromSystem ? 0 : seed;
}

}  // namespace

Result<Sampler> Sampler::Create(const SamplerOptions& options) {
  BITTERN_TRY(Check(options));
  return Sampler(options);
}

Sampler::Sampler(const SamplerOptions& options) : options_(options) {
  if (options_.seed == kSeedFromSystem) options_.seed = SystemSeed();
  random_state_ = options_.seed;
}

bool Sampler::penalises() const noexcept {
  return options_.repeat_penalty != 1.0f && options_.repeat_last_n != 0;
}

void Sampler::Accept(TokenId id) {
  if (!penalises()) return;
  const bool full = options_.repeat_last_n > 0 &&
                    recent_.size() == static_cast<std::size_t>(options_.repeat_last_n);
  if (full) recent_.erase(recent_.begin());
  recent_.push_back(id);
}

Result<TokenId> Sampler::Sample(std::span<const float> logits) {
  const bool any_finite =
      std::any_of(logits.begin(), logits.end(), [](float x) { return std::isfinite(x); });
  if (!any_finite) {
    return Fail(ErrorCode::kInternal,
                fmt::format("none of the {} logits is a finite number", logits.size()));
  }
  const bool greedy = options_.temperature <= 0;
  if (greedy && recent_.empty()) return Argmax(logits);
  CollectCandidates(logits, &candidates_);
  return Choose();
}

std::optional<model::CandidateRequest> Sampler::Request(std::size_t more) const {
  // A penalty above 1 only lowers logits, of so many tokens at most: the best ones after it are
  // among so many more before it.
  const std::size_t penalised = penalises() ? recent_.size() + more : 0;
  if (options_.repeat_penalty < 1 && penalised != 0) return std::nullopt;
  std::size_t count = penalised + 1;
  if (options_.temperature > 0) {
    if (options_.top_k <= 0) {
      if (options_.top_p < 1 || options_.min_p <= 0 || penalised != 0) return std::nullopt;
      // e^-within = min_p, and a little more for the rounding of exponentials.
      const auto within = static_cast<float>(-Log(static_cast<double>(options_.min_p)));
      return model::CandidateRequest{.count = 0, .within = std::max(within, 0.0f) + 0.01f};
    }
    count = penalised + static_cast<std::size_t>(options_.top_k);
  }
  return model::CandidateRequest{.count = count, .within = 0};
}

Result<TokenId> Sampler::SampleFrom(const model::CandidateLogits& candidates) {
  if (candidates.ids.empty()) {
    return Fail(ErrorCode::kInternal,
                "the logits are not finite numbers: the weights are damaged or the file is read "
                "with a wrong setting (see `bittern inspect`)");
  }
  candidates_.clear();
  for (std::size_t i = 0; i < candidates.ids.size(); ++i) {
    candidates_.push_back({candidates.ids[i], candidates.logits[i]});
  }
  return Choose();
}

/// The chain over candidates_, which are by ascending id.
TokenId Sampler::Choose() {
  const bool greedy = options_.temperature <= 0;
  if (!recent_.empty()) ApplyRepeatPenalty(recent_, options_.repeat_penalty, &candidates_);
  if (greedy) return Best(candidates_).id;
  if (options_.top_k > 0) KeepTopK(static_cast<std::size_t>(options_.top_k), &candidates_);
  if (options_.top_p < 1) KeepTopP(static_cast<double>(options_.top_p), &candidates_);
  if (options_.min_p > 0) KeepMinP(static_cast<double>(options_.min_p), &candidates_);
  return Draw(static_cast<double>(options_.temperature), ToUniform(NextRandom(&random_state_)),
              candidates_);
}

}  // namespace bittern::runtime
