// SPDX-License-Identifier: Apache-2.0
// The chain itself: which steps run, in which order. The steps are in the files beside it.
#include "runtime/sampling/sampler.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/os/process.hpp"
#include "base/portable_math.hpp"
#include "runtime/sampling/penalties.hpp"
#include "runtime/sampling/probabilities.hpp"
#include "runtime/sampling/truncation.hpp"

namespace bittern::runtime {
namespace {

constexpr std::uint32_t kSeedFromSystem = 0xffffffffu;

std::uint32_t SystemSeed() {
  const std::uint32_t seed = os::Random();
  // A printed seed must give the same text when given back, so it cannot be "-1".
  return seed == kSeedFromSystem ? 0 : seed;
}

std::size_t Index(TokenId id) noexcept { return static_cast<std::size_t>(id); }

/// Whether a step changes logits one by one, by the tokens before them.
bool ChangesSingleLogits(SamplerStep step) noexcept {
  return step == SamplerStep::kPenalties || step == SamplerStep::kDry;
}

/// Whether a step never drops the best candidate and changes no logit.
bool KeepsBest(SamplerStep step) noexcept {
  return step == SamplerStep::kTopK || step == SamplerStep::kTopP || step == SamplerStep::kMinP ||
         step == SamplerStep::kTopNSigma;
}

/// True for a chain whose result is the best candidate after its first steps, which change single
/// logits: the steps between them and the temperature need not run.
bool IsGreedy(const SamplerOptions& options, const std::vector<SamplerStep>& steps) {
  if (options.temperature > 0 || options.dynatemp_range > 0 || options.mirostat != 0) return false;
  auto step = std::ranges::find_if_not(steps, ChangesSingleLogits);
  step = std::find_if_not(step, steps.end(), KeepsBest);
  return step != steps.end() && *step == SamplerStep::kTemperature && step + 1 == steps.end();
}

}  // namespace

Result<Sampler> Sampler::Create(const SamplerOptions& options,
                                const tokenizer::Tokenizer* tokenizer) {
  BITTERN_TRY(CheckSamplerOptions(options, tokenizer == nullptr ? 0 : tokenizer->vocab_size()));
  return Sampler(options, tokenizer);
}

/// Keeps only steps that can change something. adaptive-p comes last wherever the list has it,
/// since it draws the token. keep_ becomes the longest history that a step looks at.
Sampler::Sampler(const SamplerOptions& options, const tokenizer::Tokenizer* tokenizer)
    : options_(options),
      tokenizer_(tokenizer),
      mirostat_{.tau = static_cast<double>(options.mirostat_tau),
                .eta = static_cast<double>(options.mirostat_eta),
                .mu = 2 * static_cast<double>(options.mirostat_tau)},
      adaptive_(AdaptiveP::Begin(static_cast<double>(options.adaptive_target),
                                 static_cast<double>(options.adaptive_decay))) {
  if (options_.seed == kSeedFromSystem) options_.seed = SystemSeed();
  random_state_ = options_.seed;
  for (const SamplerStep step : options_.samplers) {
    if (step != SamplerStep::kAdaptiveP && Active(step)) steps_.push_back(step);
  }
  const bool adaptive =
      std::ranges::find(options_.samplers, SamplerStep::kAdaptiveP) != options_.samplers.end();
  if (adaptive && Active(SamplerStep::kAdaptiveP)) steps_.push_back(SamplerStep::kAdaptiveP);
  greedy_ = IsGreedy(options_, steps_);
  const auto keep = [&](int count) {
    keep_ = keep_ < 0 || count < 0 ? -1 : std::max(keep_, count);
  };
  if (Has(SamplerStep::kPenalties)) keep(options_.repeat_last_n);
  if (Has(SamplerStep::kDry)) keep(options_.dry_penalty_last_n);
  for (const std::string& breaker : options_.dry_sequence_breakers) {
    longest_breaker_ = std::max(longest_breaker_, breaker.size());
  }
}

/// Whether a step of the chain can change anything.
bool Sampler::Active(SamplerStep step) const noexcept {
  if (options_.mirostat != 0) return false;
  switch (step) {
    case SamplerStep::kPenalties:
      return options_.repeat_last_n != 0 &&
             (options_.repeat_penalty != 1 || options_.frequency_penalty != 0 ||
              options_.presence_penalty != 0);
    case SamplerStep::kDry:
      return options_.dry_multiplier != 0 && options_.dry_penalty_last_n != 0;
    case SamplerStep::kTopNSigma:
      return options_.top_n_sigma > 0;
    case SamplerStep::kTopK:
      return options_.top_k > 0;
    case SamplerStep::kTypicalP:
      return options_.typical_p < 1;
    case SamplerStep::kTopP:
      return options_.top_p < 1;
    case SamplerStep::kMinP:
      return options_.min_p > 0;
    case SamplerStep::kXtc:
      return options_.xtc_probability > 0 && options_.xtc_threshold <= 0.5f;
    case SamplerStep::kTemperature:
      return true;
    case SamplerStep::kAdaptiveP:
      return options_.adaptive_target >= 0;
  }
  return false;
}

bool Sampler::Has(SamplerStep step) const noexcept {
  return std::ranges::find(steps_, step) != steps_.end();
}

std::span<const TokenId> Sampler::Window(int count) const noexcept {
  const std::span<const TokenId> all(history_);
  return count < 0 ? all : all.last(std::min(all.size(), static_cast<std::size_t>(count)));
}

/// Whether a sequence breaker of DRY ends inside the token that is added to the text.
bool Sampler::CompletesBreaker(TokenId id) {
  if (tokenizer_ == nullptr || longest_breaker_ == 0) return false;
  const std::size_t before = tail_.size();
  tail_ += tokenizer_->TokenBytes(id, /*render_special=*/true);
  const bool found = std::ranges::any_of(options_.dry_sequence_breakers, [&](const auto& breaker) {
    if (breaker.empty()) return false;
    const std::size_t begin = before >= breaker.size() ? before - breaker.size() + 1 : 0;
    return tail_.find(breaker, begin) != std::string::npos;
  });
  if (tail_.size() >= longest_breaker_) tail_.erase(0, tail_.size() - (longest_breaker_ - 1));
  return found;
}

void Sampler::Accept(TokenId id) {
  if (keep_ == 0) return;
  history_.push_back(id);
  if (Has(SamplerStep::kDry)) breaks_.push_back(CompletesBreaker(id) ? 1 : 0);
  // Old tokens go many at a time, so that a token costs little.
  if (keep_ > 0 && history_.size() > 2 * static_cast<std::size_t>(keep_) + 64) {
    const auto old = static_cast<std::ptrdiff_t>(history_.size()) - keep_;
    history_.erase(history_.begin(), history_.begin() + old);
    if (!breaks_.empty()) breaks_.erase(breaks_.begin(), breaks_.begin() + old);
  }
}

Result<TokenId> Sampler::Sample(std::span<const float> logits) {
  const bool any_finite =
      std::any_of(logits.begin(), logits.end(), [](float x) { return std::isfinite(x); });
  if (!any_finite) {
    return Fail(ErrorCode::kInternal,
                fmt::format("none of the {} logits is a finite number", logits.size()));
  }
  if (greedy_ && history_.empty() && options_.logit_bias.empty()) {
    const TokenId best = Argmax(logits);
    candidates_ = {{best, logits[static_cast<std::size_t>(best)]}};
    return best;
  }
  CollectCandidates(logits, &candidates_);
  return Choose();
}

namespace {

tl::unexpected<Error> NoneAllowed() {
  return Fail(ErrorCode::kInvalidArgument,
              "grammar: none of the tokens that it allows here has a finite logit");
}

}  // namespace

Result<TokenId> Sampler::SampleAllowed(std::span<const float> logits,
                                       const grammar::TokenMask& mask,
                                       std::span<const TokenId> also) {
  const auto has_logit = [&](TokenId id) {
    return static_cast<std::size_t>(id) < logits.size() && std::isfinite(logits[Index(id)]);
  };
  if (mask.bits.empty()) {
    std::vector<TokenId> ids(mask.few);
    ids.insert(ids.end(), also.begin(), also.end());
    std::ranges::sort(ids);
    candidates_.clear();
    for (const TokenId id : ids) {
      if (has_logit(id)) candidates_.push_back({id, logits[Index(id)]});
    }
  } else {
    CollectCandidates(logits, &candidates_);
    std::erase_if(candidates_, [&](const Candidate& candidate) {
      return !mask.Allows(candidate.id) && std::ranges::find(also, candidate.id) == also.end();
    });
  }
  if (candidates_.empty()) return NoneAllowed();
  return Choose();
}

Result<TokenId> Sampler::SampleAllowedFrom(const model::CandidateLogits& candidates) {
  candidates_.clear();
  for (std::size_t i = 0; i < candidates.ids.size(); ++i) {
    if (!std::isfinite(candidates.logits[i])) continue;
    candidates_.push_back({candidates.ids[i], candidates.logits[i]});
  }
  if (candidates_.empty()) return NoneAllowed();
  return Choose();
}

Result<TokenId> Sampler::SampleForced(TokenId id) {
  candidates_ = {{id, 0.0f}};
  return Choose();
}

std::optional<model::CandidateRequest> Sampler::Request(std::size_t more) const {
  if (options_.mirostat != 0) return std::nullopt;
  // Steps that only lower logits touch at most `lowered` tokens, so the best k afterwards are among
  // the best k + lowered before.
  std::size_t lowered = options_.logit_bias.size();
  if (std::ranges::any_of(options_.logit_bias, [](const LogitBias& b) { return b.bias > 0; })) {
    return std::nullopt;
  }
  for (const SamplerStep step : steps_) {
    if (step == SamplerStep::kPenalties) {
      const std::size_t recent = Window(options_.repeat_last_n).size() + more;
      const bool raises = options_.repeat_penalty < 1 || options_.frequency_penalty < 0 ||
                          options_.presence_penalty < 0;
      if (raises && recent != 0) return std::nullopt;
      lowered += recent;
    } else if (greedy_ && KeepsBest(step)) {
      continue;
    } else if (greedy_ && step == SamplerStep::kTemperature) {
      return model::CandidateRequest{.count = lowered + 1, .within = 0};
    } else if (step == SamplerStep::kTopK) {
      return model::CandidateRequest{.count = lowered + static_cast<std::size_t>(options_.top_k),
                                     .within = 0};
    } else if (step == SamplerStep::kMinP && lowered == 0 && options_.min_keep <= 1) {
      // e^-within = min_p, and a little more for the rounding of exponentials.
      const auto within = static_cast<float>(-Log(static_cast<double>(options_.min_p)));
      return model::CandidateRequest{.count = 0, .within = std::max(within, 0.0f) + 0.01f};
    } else {
      return std::nullopt;
    }
  }
  return std::nullopt;
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

void Sampler::Apply(SamplerStep step) {
  const auto min_keep = static_cast<std::size_t>(options_.min_keep);
  switch (step) {
    case SamplerStep::kPenalties:
      return ApplyPenalties(Window(options_.repeat_last_n),
                            {.repeat = options_.repeat_penalty,
                             .frequency = options_.frequency_penalty,
                             .presence = options_.presence_penalty},
                            &candidates_);
    case SamplerStep::kDry: {
      const auto window = Window(options_.dry_penalty_last_n);
      const auto breaks = std::span<const std::uint8_t>(breaks_).last(window.size());
      const auto last = std::find(breaks.rbegin(), breaks.rend(), std::uint8_t{1});
      return ApplyDry(window, static_cast<std::size_t>(last - breaks.rbegin()),
                      {.multiplier = options_.dry_multiplier,
                       .base = options_.dry_base,
                       .allowed_length = options_.dry_allowed_length},
                      &candidates_);
    }
    case SamplerStep::kTopNSigma:
      return KeepTopNSigma(static_cast<double>(options_.top_n_sigma), &candidates_);
    case SamplerStep::kTopK:
      return KeepTopK(static_cast<std::size_t>(options_.top_k), &candidates_);
    case SamplerStep::kTypicalP:
      return KeepTypical(static_cast<double>(options_.typical_p), min_keep, &candidates_);
    case SamplerStep::kTopP:
      return KeepTopP(static_cast<double>(options_.top_p), &candidates_, min_keep);
    case SamplerStep::kMinP:
      return KeepMinP(static_cast<double>(options_.min_p), &candidates_, min_keep);
    case SamplerStep::kXtc:
      if (ToUniform(NextRandom(&random_state_)) > static_cast<double>(options_.xtc_probability)) {
        return;
      }
      return ExcludeTopChoices(static_cast<double>(options_.xtc_threshold), min_keep, &candidates_);
    case SamplerStep::kTemperature:
    case SamplerStep::kAdaptiveP:
      return;  // the caller's
  }
}

/// At the end of the chain the draw divides by the temperature, in double; before other steps all
/// logits are divided.
void Sampler::ApplyTemperature(bool last, double* temperature) {
  const auto base = static_cast<double>(options_.temperature);
  const auto range = static_cast<double>(options_.dynatemp_range);
  const double now =
      range > 0 ? DynamicTemperature(base, range, static_cast<double>(options_.dynatemp_exponent),
                                     candidates_)
                : base;
  if (now <= 0) {
    candidates_ = {Best(candidates_)};
  } else if (last) {
    *temperature = now;
  } else if (now != 1) {
    Scale(now, &candidates_);
  }
}

/// Draws from candidates_.
TokenId Sampler::Pick(double temperature) {
  drawn_at_ = temperature;
  return Draw(temperature, ToUniform(NextRandom(&random_state_)), candidates_);
}

/// Mirostat takes the place of the whole chain, as in llama.cpp; only biases and the temperature
/// come before.
TokenId Sampler::ChooseByMirostat() {
  const auto temperature = static_cast<double>(options_.temperature);
  const std::size_t vocab_size = tokenizer_ == nullptr
                                     ? candidates_.size()
                                     : static_cast<std::size_t>(tokenizer_->vocab_size());
  if (temperature <= 0) {
    candidates_ = {Best(candidates_)};
  } else if (temperature != 1) {
    Scale(temperature, &candidates_);
  }
  if (options_.mirostat == 1) {
    mirostat_.Truncate1(vocab_size, &candidates_);
  } else {
    mirostat_.Truncate2(&candidates_);
  }
  const TokenId id = Pick(1);
  const auto picked = std::ranges::find(candidates_, id, &Candidate::id) - candidates_.begin();
  mirostat_.Observe(Softmax(candidates_)[static_cast<std::size_t>(picked)]);
  return id;
}

/// The chain over candidates_, which are by ascending id.
Result<TokenId> Sampler::Choose() {
  if (!options_.logit_bias.empty()) {
    ApplyLogitBias(options_.logit_bias, &candidates_);
    if (candidates_.empty()) {
      return Fail(ErrorCode::kInvalidArgument, "logit_bias: it forbids every token");
    }
  }
  drawn_at_ = 1;
  if (options_.mirostat != 0) return ChooseByMirostat();
  double temperature = 1;
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const SamplerStep step = steps_[i];
    if (greedy_ && KeepsBest(step)) continue;
    if (step == SamplerStep::kTemperature) {
      ApplyTemperature(i + 1 == steps_.size(), &temperature);
    } else {
      Apply(step);
    }
  }
  if (greedy_) return candidates_.front().id;
  if (!steps_.empty() && steps_.back() == SamplerStep::kAdaptiveP) {
    const Candidates before = candidates_;
    const std::vector<double> probabilities = Softmax(before);
    adaptive_.Transform(&candidates_);
    const TokenId id = Pick(1);
    const auto picked = std::ranges::find(before, id, &Candidate::id) - before.begin();
    adaptive_.Observe(probabilities[static_cast<std::size_t>(picked)]);
    return id;
  }
  return Pick(temperature);
}

std::vector<TokenProbability> Sampler::LastCandidates() const {
  std::vector<TokenProbability> result;
  if (candidates_.empty()) return result;
  const std::vector<double> probabilities = Softmax(candidates_, drawn_at_);
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    result.push_back({candidates_[i].id, probabilities[i]});
  }
  return result;
}

}  // namespace bittern::runtime
