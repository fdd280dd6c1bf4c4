// SPDX-License-Identifier: Apache-2.0
// One row for each number; what is not a number follows. Ranges are the sampler's to check.
#include "cli/options/sampler_options.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <string>

#include "cli/options/model_options.hpp"

namespace bittern::cli {
namespace {

struct NumberFlag {
  const char* names;
  float runtime::SamplerOptions::* option;
  const char* type;
  const char* help;
  double least = -kAnyNumber, most = kAnyNumber;
};

constexpr NumberFlag kNumberFlags[] = {
    {"--presence-penalty", &runtime::SamplerOptions::presence_penalty, "X",
     "Take X off the logit of every recent token; 0: off"},
    {"--frequency-penalty", &runtime::SamplerOptions::frequency_penalty, "X",
     "Take X off the logit of a recent token for each time it is there; 0: off"},
    {"--top-nsigma,--top-n-sigma", &runtime::SamplerOptions::top_n_sigma, "N",
     "Drop logits over N standard deviations below the best; 0 or less: nothing"},
    {"--typical,--typical-p", &runtime::SamplerOptions::typical_p, "P",
     "Draw among the most typical tokens whose probability exceeds P; 1: all"},
    {"--xtc-probability", &runtime::SamplerOptions::xtc_probability, "P",
     "How often the best tokens are left out (XTC); 0: never"},
    {"--xtc-threshold", &runtime::SamplerOptions::xtc_threshold, "P",
     "XTC leaves out all tokens of probability P or more but the last; above 0.5: none"},
    {"--dynatemp-range", &runtime::SamplerOptions::dynatemp_range, "X",
     "Temperature from --temp - X to --temp + X by entropy; 0: --temp"},
    {"--dynatemp-exp", &runtime::SamplerOptions::dynatemp_exponent, "X",
     "Exponent of the entropy's share for --dynatemp-range"},
    {"--dry-multiplier", &runtime::SamplerOptions::dry_multiplier, "X",
     "Penalise tokens that would repeat a passage, from X on (DRY); 0: off"},
    {"--dry-base", &runtime::SamplerOptions::dry_base, "X",
     "DRY's penalty grows by this factor with each repeated token", 1},
    {"--mirostat-lr", &runtime::SamplerOptions::mirostat_eta, "X", "Learning rate of --mirostat"},
    {"--mirostat-ent", &runtime::SamplerOptions::mirostat_tau, "X",
     "Surprise that --mirostat aims at, in bits a token"},
    {"--adaptive-target", &runtime::SamplerOptions::adaptive_target, "P",
     "Probability that the step adaptive_p of --samplers aims at; below 0: off"},
    {"--adaptive-decay", &runtime::SamplerOptions::adaptive_decay, "X",
     "How much adaptive_p remembers, 0 to 0.99", 0, 0.99},
};

struct CountFlag {
  const char* names;
  int runtime::SamplerOptions::* option;
  int least;
  const char* help;
  int most = std::numeric_limits<int>::max();
};

constexpr CountFlag kCountFlags[] = {
    {"--dry-allowed-length", &runtime::SamplerOptions::dry_allowed_length, 0,
     "DRY lets passages shorter than this be repeated"},
    {"--dry-penalty-last-n", &runtime::SamplerOptions::dry_penalty_last_n, -1,
     "How many tokens DRY looks back; 0: none, -1: all"},
    {"--mirostat", &runtime::SamplerOptions::mirostat, 0,
     "1 or 2: keep the surprise of the text even, in place of the other samplers; 0: off", 2},
    {"--min-keep", &runtime::SamplerOptions::min_keep, 0,
     "Tokens that typical-p, top-p, min-p and XTC leave at least"},
};

std::string ChainText(const std::vector<runtime::SamplerStep>& steps) {
  std::string text;
  for (const runtime::SamplerStep step : steps) {
    text += fmt::format("{}{}", text.empty() ? "" : ";", runtime::SamplerStepName(step));
  }
  return text;
}

/// "15043+1.5", "15043-inf"
std::optional<runtime::LogitBias> ReadBias(const std::string& text) {
  runtime::LogitBias entry;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, entry.id);
  if (error != std::errc() || rest == end || (*rest != '+' && *rest != '-')) return std::nullopt;
  const std::string_view number(rest + 1, end);
  const auto [last, wrong] = std::from_chars(number.data(), end, entry.bias);
  if (number.starts_with('-') || wrong != std::errc() || last != end || std::isnan(entry.bias)) {
    return std::nullopt;
  }
  if (*rest == '-') entry.bias = -entry.bias;
  return entry;
}

/// Takes a chain; what is wrong with it becomes the flag's error.
void TakeChain(Result<std::vector<runtime::SamplerStep>> read, runtime::SamplerOptions* sampler,
               const char* flag) {
  if (!read) throw CLI::ValidationError(flag, read.error().message);
  sampler->samplers = *std::move(read);
}

void AddChain(CLI::App& command, runtime::SamplerOptions* sampler) {
  command
      .add_option_function<std::string>(
          "--samplers",
          [sampler](const std::string& names) {
            TakeChain(runtime::ParseSamplers(names), sampler, "--samplers");
          },
          "Steps in order, with ';' between them")
      ->type_name("NAMES")
      ->default_str(ChainText(sampler->samplers));
  command
      .add_option_function<std::string>(
          "--sampling-seq,--sampler-seq",
          [sampler](const std::string& letters) {
            TakeChain(runtime::ParseSamplerLetters(letters), sampler, "--sampler-seq");
          },
          "The same in letters")
      ->type_name("LETTERS")
      ->default_str("edskypmxt");
}

void AddBreakers(CLI::App& command, runtime::SamplerOptions* sampler) {
  command
      .add_option_function<std::vector<std::string>>(
          "--dry-sequence-breaker",
          [sampler](const std::vector<std::string>& breakers) {
            sampler->dry_sequence_breakers.clear();
            for (const std::string& breaker : breakers) {
              if (breaker != "none") sampler->dry_sequence_breakers.push_back(Unescape(breaker));
            }
          },
          "A text over which DRY does not look back, in place of newline, ':', '\"' and '*'; may "
          "be "
          "repeated; none: no such text")
      ->type_name("TEXT")
      ->allow_extra_args(false);
}

void AddBias(CLI::App& command, runtime::SamplerOptions* sampler) {
  command
      .add_option_function<std::vector<std::string>>(
          "-l,--logit-bias",
          [sampler](const std::vector<std::string>& texts) {
            for (const std::string& text : texts) {
              const auto entry = ReadBias(text);
              if (!entry) {
                throw CLI::ValidationError(
                    "--logit-bias",
                    fmt::format("ID+BIAS or ID-BIAS expected, as in 15043-1.5 or 15043-inf, "
                                "\"{}\" found",
                                text));
              }
              sampler->logit_bias.push_back(*entry);
            }
          },
          "Add to the logit of a token: ID+BIAS or ID-BIAS; ID-inf forbids it; may be repeated")
      ->type_name("ID+BIAS")
      ->allow_extra_args(false);
}

}  // namespace

void AddSamplerOptions(CLI::App& command, runtime::GenerateOptions* options) {
  runtime::SamplerOptions* sampler = &options->sampler;
  AddChain(command, sampler);
  for (const NumberFlag& flag : kNumberFlags) {
    command.add_option(flag.names, sampler->*flag.option, flag.help)
        ->type_name(flag.type)
        ->check(Number(flag.least, flag.most))
        ->capture_default_str();
  }
  for (const CountFlag& flag : kCountFlags) {
    command.add_option(flag.names, sampler->*flag.option, flag.help)
        ->type_name("N")
        ->check(WholeNumber(flag.least, flag.most))
        ->capture_default_str();
  }
  AddBreakers(command, sampler);
  AddBias(command, sampler);
  command.add_flag("--stop-on-loop", options->stop_on_loop,
                   "Stop where the text repeats one passage over and over (finish reason: loop)");
}

void AddLogprobsOption(CLI::App& command, runtime::GenerateOptions* options) {
  command
      .add_option("--logprobs", options->logprobs,
                  "Write how probable each token was, and the N most probable ones at its place "
                  "(0: none); -1: off")
      ->type_name("N")
      ->check(WholeNumber(-1))
      ->capture_default_str();
}

}  // namespace bittern::cli
