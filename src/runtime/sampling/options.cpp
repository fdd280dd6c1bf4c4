// SPDX-License-Identifier: Apache-2.0
// Ranges are checked in one place, with words of their own; names of steps are a table.
#include "runtime/sampling/options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <utility>

namespace bittern::runtime {
namespace {

/// A step by its letter (llama.cpp's --sampler-seq) and by the names that --samplers takes.
struct StepNames {
  SamplerStep step;
  char letter;
  std::initializer_list<std::string_view> names;  // the first is the one shown
};

const StepNames kSteps[] = {
    {SamplerStep::kPenalties, 'e', {"penalties"}},
    {SamplerStep::kDry, 'd', {"dry"}},
    {SamplerStep::kTopNSigma, 's', {"top_n_sigma", "top-n-sigma", "top_nsigma", "top-nsigma"}},
    {SamplerStep::kTopK, 'k', {"top_k", "top-k"}},
    {SamplerStep::kTypicalP, 'y', {"typ_p", "typ-p", "typical_p", "typical-p", "typical", "typ"}},
    {SamplerStep::kTopP, 'p', {"top_p", "top-p", "nucleus"}},
    {SamplerStep::kMinP, 'm', {"min_p", "min-p"}},
    {SamplerStep::kXtc, 'x', {"xtc"}},
    {SamplerStep::kTemperature, 't', {"temperature", "temp"}},
    {SamplerStep::kAdaptiveP, 'a', {"adaptive_p", "adaptive-p"}},
};

Result<void> CheckNumber(std::string_view name, float value) {
  if (std::isfinite(value)) return {};
  return Fail(ErrorCode::kInvalidArgument,
              fmt::format("{}: a number expected, {} found", name, value));
}

Result<void> CheckLeast(std::string_view name, int value, int least, std::string_view meaning) {
  if (value >= least) return {};
  return Fail(ErrorCode::kInvalidArgument,
              fmt::format("{}: {} expected, {} found", name, meaning, value));
}

/// `good` is the answer, false for NaN as well; the rest is for the message.
Result<void> CheckRange(std::string_view name, float value, bool good, std::string_view expected) {
  if (good) return {};
  return Fail(ErrorCode::kInvalidArgument,
              fmt::format("{}: {} expected, {} found", name, expected, value));
}

/// A bias may be -infinity (the token is forbidden), not +infinity. vocab_size 0: not known.
Result<void> CheckBias(const LogitBias& entry, int vocab_size) {
  if (entry.id < 0 || (vocab_size > 0 && entry.id >= vocab_size)) {
    const auto range = vocab_size > 0 ? fmt::format("0..{}", vocab_size - 1) : "0 or more";
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("logit_bias: a token id of {} expected, {} found", range, entry.id));
  }
  return CheckRange("logit_bias", entry.bias,
                    !std::isnan(entry.bias) && entry.bias < std::numeric_limits<float>::infinity(),
                    "a number or -infinity");
}

}  // namespace

std::vector<SamplerStep> DefaultSamplers() {
  using enum SamplerStep;
  return {kPenalties, kDry, kTopNSigma, kTopK, kTypicalP, kTopP, kMinP, kXtc, kTemperature};
}

std::string_view SamplerStepName(SamplerStep step) noexcept {
  for (const StepNames& row : kSteps) {
    if (row.step == step) return *row.names.begin();
  }
  return "unknown";
}

Result<SamplerStep> SamplerStepByName(std::string_view name) {
  std::string known;
  for (const StepNames& row : kSteps) {
    if (std::ranges::find(row.names, name) != row.names.end()) return row.step;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", *row.names.begin());
  }
  return Fail(ErrorCode::kInvalidArgument,
              fmt::format("samplers: one of {} expected, \"{}\" found", known, name));
}

/// Names between semicolons: "top_k;temperature".
Result<std::vector<SamplerStep>> ParseSamplers(std::string_view names) {
  std::vector<SamplerStep> steps;
  while (!names.empty()) {
    const std::size_t end = std::min(names.find(';'), names.size());
    steps.push_back(BITTERN_TRY(SamplerStepByName(names.substr(0, end))));
    names.remove_prefix(std::min(end + 1, names.size()));
  }
  return steps;
}

/// A letter for each step: "kt".
Result<std::vector<SamplerStep>> ParseSamplerLetters(std::string_view letters) {
  std::vector<SamplerStep> steps;
  for (const char letter : letters) {
    const auto* const row = std::ranges::find(kSteps, letter, &StepNames::letter);
    if (row == std::end(kSteps)) {
      return Fail(ErrorCode::kInvalidArgument,
                  fmt::format("sampler sequence: letters of \"edskypmxta\" expected, \"{}\" found",
                              letters));
    }
    steps.push_back(row->step);
  }
  return steps;
}

/// First that all are finite numbers, then ranges: a comparison with NaN would tell nothing.
Result<void> CheckSamplerOptions(const SamplerOptions& options, int vocab_size) {
  const std::pair<std::string_view, float> numbers[] = {
      {"temperature", options.temperature},
      {"top_p", options.top_p},
      {"min_p", options.min_p},
      {"repeat_penalty", options.repeat_penalty},
      {"frequency_penalty", options.frequency_penalty},
      {"presence_penalty", options.presence_penalty},
      {"typical_p", options.typical_p},
      {"top_n_sigma", options.top_n_sigma},
      {"xtc_probability", options.xtc_probability},
      {"xtc_threshold", options.xtc_threshold},
      {"dynatemp_range", options.dynatemp_range},
      {"dynatemp_exponent", options.dynatemp_exponent},
      {"dry_multiplier", options.dry_multiplier},
      {"dry_base", options.dry_base},
      {"mirostat_tau", options.mirostat_tau},
      {"mirostat_eta", options.mirostat_eta},
      {"adaptive_target", options.adaptive_target},
      {"adaptive_decay", options.adaptive_decay}};
  for (const auto& [name, value] : numbers) BITTERN_TRY(CheckNumber(name, value));
  BITTERN_TRY(CheckRange("repeat_penalty", options.repeat_penalty, options.repeat_penalty > 0,
                         "a number above 0 (1 is off)"));
  BITTERN_TRY(CheckRange("dry_base", options.dry_base, options.dry_base >= 1, "1 or more"));
  BITTERN_TRY(CheckRange("adaptive_decay", options.adaptive_decay,
                         options.adaptive_decay >= 0 && options.adaptive_decay <= 0.99f,
                         "0 to 0.99"));
  constexpr std::string_view kWindow = "0 (off), -1 (whole context) or a count of tokens";
  BITTERN_TRY(CheckLeast("repeat_last_n", options.repeat_last_n, -1, kWindow));
  BITTERN_TRY(CheckLeast("dry_penalty_last_n", options.dry_penalty_last_n, -1, kWindow));
  BITTERN_TRY(CheckLeast("dry_allowed_length", options.dry_allowed_length, 0, "a count of tokens"));
  BITTERN_TRY(CheckLeast("min_keep", options.min_keep, 0, "a count of tokens"));
  if (options.mirostat < 0 || options.mirostat > 2) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("mirostat: 0 (off), 1 or 2 expected, {} found", options.mirostat));
  }
  for (const LogitBias& entry : options.logit_bias) BITTERN_TRY(CheckBias(entry, vocab_size));
  return {};
}

}  // namespace bittern::runtime
