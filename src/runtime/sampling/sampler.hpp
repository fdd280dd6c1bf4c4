// SPDX-License-Identifier: Apache-2.0
// From logits to one token: a chain of small steps in llama.cpp's order, with its names and
// defaults: penalties, top-k, top-p, min-p, temperature, draw.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "model/forward/screened_head.hpp"
#include "runtime/sampling/sampler_steps.hpp"
#include "tokenizer/tokenizer.hpp"

namespace bittern::runtime {

using tokenizer::TokenId;

struct SamplerOptions {
  float temperature = 0.8f;          ///< <= 0: greedy (lowest id among equals)
  int top_k = 40;                    ///< <= 0: off
  float top_p = 0.95f;               ///< >= 1: off; <= 0: the best one only
  float min_p = 0.05f;               ///< <= 0: off
  float repeat_penalty = 1.0f;       ///< 1: off; > 0
  int repeat_last_n = 64;            ///< 0: off, -1: the whole context
  std::uint32_t seed = 0xffffffffu;  ///< 0xffffffff (-1): taken from the system once
};

/// Holds the random state and the recent tokens of one generation. Same options, seed, history
/// and logits: same token, on every machine (own generator, own exp). Not thread-safe.
class Sampler {
 public:
  /// Error kInvalidArgument names the option, its range and the value found (NaN too).
  [[nodiscard]] static Result<Sampler> Create(const SamplerOptions& options);

  /// Tells the sampler of a token in the context (prompt tokens too; for penalties).
  void Accept(TokenId id);
  /// Picks a token. `logits` is left as it was. Error kInternal: not one logit is finite.
  [[nodiscard]] Result<TokenId> Sample(std::span<const float> logits);
  /// The logits that Sample would look at, if they are few enough to be asked for alone: those for
  /// greedy, top-k, and min-p without top-p. Depends on the tokens accepted so far; holds for up to
  /// `more` tokens that are accepted later, too.
  [[nodiscard]] std::optional<model::CandidateRequest> Request(std::size_t more = 0) const;
  /// As Sample, with only the logits of Request(), by ascending id: the same token.
  [[nodiscard]] Result<TokenId> SampleFrom(const model::CandidateLogits& candidates);
  /// The seed in force (the drawn one if it was -1).
  [[nodiscard]] std::uint32_t seed() const noexcept { return options_.seed; }

 private:
  explicit Sampler(const SamplerOptions& options);
  [[nodiscard]] bool penalises() const noexcept;  ///< tokens accepted matter
  [[nodiscard]] TokenId Choose();

  SamplerOptions options_;
  std::uint64_t random_state_;
  std::vector<TokenId> recent_;  ///< The last repeat_last_n tokens, oldest first.
  Candidates candidates_;
};

}  // namespace bittern::runtime
