// SPDX-License-Identifier: Apache-2.0
// How the next token is picked: all options of the chain, under llama.cpp's names and with its
// defaults, and the order of its steps (docs/sampling.md).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "tokenizer/tokenizer.hpp"

namespace bittern::runtime {

using tokenizer::TokenId;

enum class SamplerStep : std::uint8_t {
  kPenalties,
  kDry,
  kTopNSigma,
  kTopK,
  kTypicalP,
  kTopP,
  kMinP,
  kXtc,
  kTemperature,
  kAdaptiveP,  ///< wherever it stands in a chain, it is the last step
};

/// llama.cpp's order.
[[nodiscard]] std::vector<SamplerStep> DefaultSamplers();

/// "top_k"
[[nodiscard]] std::string_view SamplerStepName(SamplerStep step) noexcept;

/// A step by one of llama.cpp's names ("top_k", "top-k", "temp"). Error kInvalidArgument.
[[nodiscard]] Result<SamplerStep> SamplerStepByName(std::string_view name);

/// A chain of names with ';' between them, in that order: "penalties;top_k;temperature". An empty
/// text is an empty chain. Error kInvalidArgument.
[[nodiscard]] Result<std::vector<SamplerStep>> ParseSamplers(std::string_view names);

/// A chain of letters, as llama.cpp writes it: "edskypmxt". Error kInvalidArgument.
[[nodiscard]] Result<std::vector<SamplerStep>> ParseSamplerLetters(std::string_view letters);

/// Added to the logit of one token before all steps.
struct LogitBias {
  TokenId id = 0;
  float bias = 0;  ///< -infinity: the token is never picked
};

struct SamplerOptions {
  float temperature = 0.8f;          ///< <= 0: greedy (lowest id among equals)
  int top_k = 40;                    ///< <= 0: off
  float top_p = 0.95f;               ///< >= 1: off; <= 0: the best one only
  float min_p = 0.05f;               ///< <= 0: off
  float repeat_penalty = 1.0f;       ///< 1: off; > 0
  int repeat_last_n = 64;            ///< 0: off, -1: the whole context
  std::uint32_t seed = 0xffffffffu;  ///< 0xffffffff (-1): taken from the system once

  float frequency_penalty = 0;  ///< taken off once for each time a token is recent; 0: off
  float presence_penalty = 0;   ///< taken off once for each recent token; 0: off
  float typical_p = 1;          ///< >= 1: off
  float top_n_sigma = -1;       ///< <= 0: off
  float xtc_probability = 0;    ///< <= 0: off
  float xtc_threshold = 0.1f;   ///< > 0.5: off
  float dynatemp_range = 0;     ///< temperature -+ this, by entropy; <= 0: off
  float dynatemp_exponent = 1;
  float dry_multiplier = 0;  ///< 0: off
  float dry_base = 1.75f;    ///< >= 1
  int dry_allowed_length = 2;
  int dry_penalty_last_n = -1;  ///< 0: off, -1: the whole context
  std::vector<std::string> dry_sequence_breakers = {"\n", ":", "\"", "*"};
  int mirostat = 0;  ///< 1 or 2: instead of all steps but the bias and a plain temperature
  float mirostat_tau = 5;
  float mirostat_eta = 0.1f;
  float adaptive_target = -1;   ///< < 0: off
  float adaptive_decay = 0.9f;  ///< 0..0.99
  int min_keep = 0;             ///< candidates that typical-p, top-p, min-p and XTC leave at least
  std::vector<LogitBias> logit_bias = {};
  std::vector<SamplerStep> samplers = DefaultSamplers();
};

/// Error kInvalidArgument names the option, its range and the value found (NaN too).
/// `vocab_size` bounds the ids of logit_bias; 0: not known yet.
[[nodiscard]] Result<void> CheckSamplerOptions(const SamplerOptions& options, int vocab_size = 0);

}  // namespace bittern::runtime
