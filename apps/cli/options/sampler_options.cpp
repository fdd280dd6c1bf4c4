// SPDX-License-Identifier: Apache-2.0
// One flag for each row of the table.
#include "cli/options/sampler_options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>

#include "cli/options/model_options.hpp"
#include "cli/options/tabled_options.hpp"
#include "cli/shared/option_spelling.hpp"
#include "request/options/option_text.hpp"
#include "request/options/sampler_option_text.hpp"

namespace bittern::cli {
namespace {

using request::SamplerOption;
using runtime::SamplerOptions;

/// Ranges that the sampler words itself, where they are refused before it is asked.
struct FlagRange {
  std::string_view name;
  double least, most;
};
constexpr FlagRange kFlagRanges[] = {
    {"dry_base", 1, kAnyNumber}, {"adaptive_decay", 0, 0.99}, {"mirostat", 0, 2}};

/// The order of the manual; what is not named follows in the table's order.
constexpr std::string_view kFirst[] = {"samplers",       "presence_penalty", "frequency_penalty",
                                       "top_n_sigma",    "typical_p",        "xtc_probability",
                                       "xtc_threshold",  "dynatemp_range",   "dynatemp_exponent",
                                       "dry_multiplier", "dry_base",         "mirostat_eta"};

/// The range that the flag checks; kFlagRanges goes before the table.
FlagRange RangeOf(const SamplerOption& row) {
  const auto* const found = std::ranges::find(kFlagRanges, row.name, &FlagRange::name);
  if (found != std::end(kFlagRanges)) return *found;
  if (row.most == request::kAnyNumber) return {row.name, -kAnyNumber, kAnyNumber};
  return {row.name, row.least, row.most};
}

/// A seed of 32 bits, or -1 for a random one, as in llama.cpp.
CLI::Validator SeedNumber() {
  const auto check = [](const std::string& text) {
    const auto seed = request::ParseNumber<std::int64_t>(text);
    if (seed && *seed >= -1 && *seed <= 0xffffffff) return std::string();
    return fmt::format("a whole number of -1 to 4294967295 expected, \"{}\" found", text);
  };
  return {check, ""};
}

/// Takes a chain; what is wrong with it becomes the flag's error.
void TakeChain(Result<std::vector<runtime::SamplerStep>> read, runtime::SamplerOptions* sampler,
               const char* flag) {
  if (!read) throw CLI::ValidationError(flag, read.error().message);
  sampler->samplers = *std::move(read);
}

/// --dry-sequence-breaker: "none" is no breaker; alone, it leaves none.
std::vector<std::string> Breakers(const std::vector<std::string>& texts) {
  std::vector<std::string> breakers;
  for (const std::string& text : texts) {
    if (text != "none") breakers.push_back(Unescape(text));
  }
  return breakers;
}

/// --logit-bias ID+BIAS or ID-BIAS, as llama.cpp has it.
runtime::LogitBias Bias(const std::string& text) {
  const auto bias = request::BiasOfText(text);
  if (bias) return *bias;
  throw CLI::ValidationError(
      "--logit-bias", fmt::format("ID+BIAS or ID-BIAS expected, as in 15043-1.5 or 15043-inf, "
                                  "\"{}\" found",
                                  text));
}

/// One function for each type of member.
struct FlagAdder {
  CLI::App& command;
  const SamplerOption& row;
  std::string names, help;
  SamplerOptions* sampler;

  CLI::Option* operator()(float SamplerOptions::* member) const {
    const FlagRange range = RangeOf(row);
    return command.add_option(names, sampler->*member, help)
        ->check(Number(range.least, range.most))
        ->capture_default_str();
  }
  CLI::Option* operator()(int SamplerOptions::* member) const {
    const FlagRange range = RangeOf(row);
    return command.add_option(names, sampler->*member, help)
        ->check(WholeNumber(static_cast<int>(range.least), static_cast<int>(range.most)))
        ->capture_default_str();
  }
  CLI::Option* operator()(std::uint32_t SamplerOptions::* member) const {
    std::uint32_t* to = &(sampler->*member);
    const auto take = [to](std::int64_t seed) { *to = static_cast<std::uint32_t>(seed); };
    return command.add_option_function<std::int64_t>(names, take, help)
        ->check(SeedNumber())
        ->default_str(request::DefaultText(row));
  }
  CLI::Option* operator()(std::vector<std::string> SamplerOptions::* member) const {
    auto* to = &(sampler->*member);
    const auto take = [to](const std::vector<std::string>& texts) { *to = Breakers(texts); };
    return command.add_option_function<std::vector<std::string>>(names, take, help)
        ->allow_extra_args(false);
  }
  CLI::Option* operator()(std::vector<runtime::LogitBias> SamplerOptions::* member) const {
    auto* to = &(sampler->*member);
    const auto take = [to](const std::vector<std::string>& texts) {
      for (const std::string& text : texts) to->push_back(Bias(text));
    };
    return command.add_option_function<std::vector<std::string>>(names, take, help)
        ->allow_extra_args(false);
  }
  CLI::Option* operator()(std::vector<runtime::SamplerStep> SamplerOptions::*) const {
    const auto take = [to = sampler](const std::string& steps) {
      TakeChain(runtime::ParseSamplers(steps), to, "--samplers");
    };
    return command.add_option_function<std::string>(names, take, help)
        ->default_str(request::DefaultText(row));
  }
};

void AddSamplerLetters(CLI::App& command, runtime::SamplerOptions* sampler) {
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

}  // namespace

/// The member's type picks the operator() that makes the flag.
void AddSamplerFlag(CLI::App& command, std::string_view name, SamplerOptions* sampler) {
  const SamplerOption& row = *request::FindSamplerOption(name);
  FlagAdder adder{command, row, fmt::format("{}", fmt::join(SpelledFlags(row.flags), ",")),
                  request::HelpOf(row, FlagOf), sampler};
  std::visit(adder, row.member)->type_name(std::string(row.placeholder));
}

void AddSamplerOptions(CLI::App& command, runtime::GenerateOptions* options) {
  for (const std::string_view name : kFirst) {
    AddSamplerFlag(command, name, &options->sampler);
    if (name == "samplers") AddSamplerLetters(command, &options->sampler);
  }
  for (const SamplerOption& row : request::SamplerOptionTable()) {
    if (command.get_option_no_throw(FlagOf(row)) != nullptr) continue;
    AddSamplerFlag(command, row.name, &options->sampler);
  }
  AddTabled(command, "stop_on_loop", &options->stop_on_loop);
}

void AddLogprobsOption(CLI::App& command, runtime::GenerateOptions* options) {
  AddTabled(command, "logprobs", &options->logprobs);
}

}  // namespace bittern::cli
