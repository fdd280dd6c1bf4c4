// SPDX-License-Identifier: Apache-2.0
// From logits to one token: a chain of small steps with llama.cpp's names, defaults and order
// (sampling/options.hpp, docs/sampling.md), then a draw.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "grammar/token_mask.hpp"
#include "model/candidates.hpp"
#include "runtime/sampling/options.hpp"
#include "runtime/sampling/sampler_steps.hpp"
#include "runtime/sampling/temperature.hpp"
#include "tokenizer/tokenizer.hpp"

namespace bittern::runtime {

/// A token that may be drawn.
struct TokenProbability {
  TokenId id;
  double probability;
};

/// Holds the random state and the recent tokens of one generation. Same options, seed, history
/// and logits: same token, on every machine (own generator, own exp). Not thread-safe.
class Sampler {
 public:
  /// `tokenizer` outlives the sampler; null: DRY knows no breakers and ids are not checked. Error
  /// kInvalidArgument names the option, its range and the value found (NaN too).
  [[nodiscard]] static Result<Sampler> Create(const SamplerOptions& options,
                                              const tokenizer::Tokenizer* tokenizer = nullptr);

  /// Tells the sampler of a token in the context (prompt tokens too; for penalties).
  void Accept(TokenId id);
  /// Picks a token. `logits` is left as it was. Errors: kInternal (not one logit is finite),
  /// kInvalidArgument (the biases forbid every token).
  [[nodiscard]] Result<TokenId> Sample(std::span<const float> logits);
  /// As Sample, but picks only from the tokens that `mask` allows and the tokens in `also`. Error
  /// kInvalidArgument: none of them has a finite logit.
  [[nodiscard]] Result<TokenId> SampleAllowed(std::span<const float> logits,
                                              const grammar::TokenMask& mask,
                                              std::span<const TokenId> also);
  /// The same from the logits of those tokens, or the best of them, by ascending id.
  [[nodiscard]] Result<TokenId> SampleAllowedFrom(const model::CandidateLogits& candidates);
  /// As SampleAllowed where nothing but `id` is allowed: its logit does not matter. Error
  /// kInvalidArgument: the biases forbid it.
  [[nodiscard]] Result<TokenId> SampleForced(TokenId id);
  /// The logits that Sample would look at, if they are few enough to be asked for alone: those for
  /// greedy, top-k, and min-p without top-p. Depends on the tokens accepted so far; holds for up to
  /// `more` tokens that are accepted later, too.
  [[nodiscard]] std::optional<model::CandidateRequest> Request(std::size_t more = 0) const;
  /// As Sample, with only the logits of Request(), by ascending id: the same token.
  [[nodiscard]] Result<TokenId> SampleFrom(const model::CandidateLogits& candidates);
  /// The tokens that the last Sample or SampleFrom has drawn from, in the order of the draw.
  [[nodiscard]] std::vector<TokenProbability> LastCandidates() const;
  /// The seed in force (the drawn one if it was -1).
  [[nodiscard]] std::uint32_t seed() const noexcept { return options_.seed; }

 private:
  Sampler(const SamplerOptions& options, const tokenizer::Tokenizer* tokenizer);
  [[nodiscard]] bool Active(SamplerStep step) const noexcept;
  [[nodiscard]] bool Has(SamplerStep step) const noexcept;  ///< in steps_
  /// The last `count` (-1: all) tokens of the history.
  [[nodiscard]] std::span<const TokenId> Window(int count) const noexcept;
  [[nodiscard]] bool CompletesBreaker(TokenId id);
  [[nodiscard]] Result<TokenId> Choose();
  [[nodiscard]] TokenId ChooseByMirostat();
  [[nodiscard]] TokenId Pick(double temperature);
  void Apply(SamplerStep step);
  void ApplyTemperature(bool last, double* temperature);

  SamplerOptions options_;
  const tokenizer::Tokenizer* tokenizer_;
  std::vector<SamplerStep> steps_;  ///< those that do something, in order
  bool greedy_ = false;             ///< the best one after all changes of single logits
  std::uint64_t random_state_;
  int keep_ = 0;                      ///< tokens of the history that matter; -1: all
  std::vector<TokenId> history_;      ///< oldest first
  std::vector<std::uint8_t> breaks_;  ///< of each: a breaker of DRY ends in it
  std::string tail_;                  ///< bytes in which a breaker may have begun
  std::size_t longest_breaker_ = 0;
  Mirostat mirostat_;
  AdaptiveP adaptive_;
  Candidates candidates_;
  double drawn_at_ = 1;  ///< temperature of the last draw
};

}  // namespace bittern::runtime
