// SPDX-License-Identifier: Apache-2.0
// The rows in the order of `--help`.
#include "request/options/sampler_option_table.hpp"

#include <algorithm>
#include <limits>

namespace bittern::request {
namespace {

using runtime::SamplerOptions;

constexpr double kMostInt = std::numeric_limits<int>::max();
constexpr double kMostSeed = std::numeric_limits<std::uint32_t>::max();

// Options that are no numbers come last; no bound of it is looked at.
// A row: name, flags, placeholder, member, least, most, common, help.
constexpr SamplerOption kRows[] = {
    {"seed", "s,seed", "N", &SamplerOptions::seed, -1, kMostSeed, true,
     "Seed of the random draw; -1 (or 4294967295, as in llama.cpp): a new one each time"},
    {"temperature", "temp,temperature", "X", &SamplerOptions::temperature, -kAnyNumber, kAnyNumber,
     true,
     "Temperature; 0 or less: always the most probable token. A model file may recommend another "
     "value of this and of {top_k} to {repeat_last_n}"},
    {"top_p", "top-p", "P", &SamplerOptions::top_p, 0, 1, false,
     "Draw among the fewest best whose probability reaches P; 1: all"},
    {"min_p", "min-p", "P", &SamplerOptions::min_p, 0, 1, false,
     "Drop what is less probable than P times the best; 0: nothing"},
    {"repeat_penalty", "repeat-penalty", "X", &SamplerOptions::repeat_penalty, -kAnyNumber,
     kAnyNumber, false, "Make recent tokens less probable; 1: off"},
    {"frequency_penalty", "frequency-penalty", "X", &SamplerOptions::frequency_penalty, -kAnyNumber,
     kAnyNumber, false, "Take X off the logit of a recent token for each time it is there; 0: off"},
    {"presence_penalty", "presence-penalty", "X", &SamplerOptions::presence_penalty, -kAnyNumber,
     kAnyNumber, false, "Take X off the logit of every recent token; 0: off"},
    {"typical_p", "typical,typical-p", "P", &SamplerOptions::typical_p, -kAnyNumber, kAnyNumber,
     false, "Draw among the most typical tokens whose probability exceeds P; 1: all"},
    {"top_n_sigma", "top-nsigma,top-n-sigma", "N", &SamplerOptions::top_n_sigma, -kAnyNumber,
     kAnyNumber, false,
     "Drop logits over N standard deviations below the best; 0 or less: nothing"},
    {"xtc_probability", "xtc-probability", "P", &SamplerOptions::xtc_probability, -kAnyNumber,
     kAnyNumber, false, "How often the best tokens are left out (XTC); 0: never"},
    {"xtc_threshold", "xtc-threshold", "P", &SamplerOptions::xtc_threshold, -kAnyNumber, kAnyNumber,
     false, "XTC leaves out all tokens of probability P or more but the last; above 0.5: none"},
    {"dynatemp_range", "dynatemp-range", "X", &SamplerOptions::dynatemp_range, -kAnyNumber,
     kAnyNumber, false,
     "Temperature from {temperature} - X to {temperature} + X by entropy; 0: {temperature}"},
    {"dynatemp_exponent", "dynatemp-exp", "X", &SamplerOptions::dynatemp_exponent, -kAnyNumber,
     kAnyNumber, false, "Exponent of the entropy's share for {dynatemp_range}"},
    {"dry_multiplier", "dry-multiplier", "X", &SamplerOptions::dry_multiplier, -kAnyNumber,
     kAnyNumber, false, "Penalise tokens that would repeat a passage, from X on (DRY); 0: off"},
    {"dry_base", "dry-base", "X", &SamplerOptions::dry_base, -kAnyNumber, kAnyNumber, false,
     "DRY's penalty grows by this factor with each repeated token"},
    {"mirostat_tau", "mirostat-ent", "X", &SamplerOptions::mirostat_tau, -kAnyNumber, kAnyNumber,
     false, "Surprise that {mirostat} aims at, in bits a token"},
    {"mirostat_eta", "mirostat-lr", "X", &SamplerOptions::mirostat_eta, -kAnyNumber, kAnyNumber,
     false, "Learning rate of {mirostat}"},
    {"adaptive_target", "adaptive-target", "P", &SamplerOptions::adaptive_target, -kAnyNumber,
     kAnyNumber, false, "Probability that the step adaptive_p of {samplers} aims at; below 0: off"},
    {"adaptive_decay", "adaptive-decay", "X", &SamplerOptions::adaptive_decay, -kAnyNumber,
     kAnyNumber, false, "How much adaptive_p remembers, 0 to 0.99"},
    {"top_k", "top-k", "K", &SamplerOptions::top_k, -1, kMostInt, false,
     "Draw among the K best; 0 (or -1): all"},
    {"repeat_last_n", "repeat-last-n", "N", &SamplerOptions::repeat_last_n, -1, kMostInt, false,
     "How many tokens count as recent; 0: none, -1: all"},
    {"dry_allowed_length", "dry-allowed-length", "N", &SamplerOptions::dry_allowed_length, 0,
     kMostInt, false, "DRY lets passages shorter than this be repeated"},
    {"dry_penalty_last_n", "dry-penalty-last-n", "N", &SamplerOptions::dry_penalty_last_n, -1,
     kMostInt, false, "How many tokens DRY looks back; 0: none, -1: all"},
    {"mirostat", "mirostat", "N", &SamplerOptions::mirostat, 0, kMostInt, false,
     "1 or 2: keep the surprise of the text even, in place of the other samplers; 0: off"},
    {"min_keep", "min-keep", "N", &SamplerOptions::min_keep, 0, kMostInt, false,
     "Tokens that typical-p, top-p, min-p and XTC leave at least"},
    {"dry_sequence_breakers", "dry-sequence-breaker", "TEXT",
     &SamplerOptions::dry_sequence_breakers, 0, 0, false,
     "A text over which DRY does not look back, in place of newline, ':', '\"' and '*'; may be "
     "repeated; none: no such text"},
    {"logit_bias", "l,logit-bias", "ID+BIAS", &SamplerOptions::logit_bias, 0, 0, false,
     "Add to the logit of a token: ID+BIAS or ID-BIAS; ID-inf forbids it; may be repeated"},
    {"samplers", "samplers", "NAMES", &SamplerOptions::samplers, 0, 0, false,
     "Steps in order, with ';' between them"},
};

}  // namespace

std::span<const SamplerOption> SamplerOptionTable() noexcept { return kRows; }

const SamplerOption* FindSamplerOption(std::string_view name) noexcept {
  const auto* const row = std::ranges::find(kRows, name, &SamplerOption::name);
  return row == std::end(kRows) ? nullptr : row;
}

/// A name in braces that is no option is left out.
std::string HelpOf(const SamplerOption& option,
                   const std::function<std::string(const SamplerOption& other)>& spelling) {
  std::string text;
  std::string_view rest = option.help;
  while (true) {
    const std::size_t open = rest.find('{');
    text += rest.substr(0, open);
    if (open == std::string_view::npos) return text;
    const std::size_t close = rest.find('}', open);
    const SamplerOption* other = FindSamplerOption(rest.substr(open + 1, close - open - 1));
    if (other != nullptr) text += spelling(*other);
    rest.remove_prefix(std::min(close, rest.size() - 1) + 1);
  }
}

}  // namespace bittern::request
