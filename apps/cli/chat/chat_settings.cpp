// SPDX-License-Identifier: Apache-2.0
#include "cli/chat/chat_settings.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "cli/options/constraint_fields.hpp"
#include "cli/options/outside_json.hpp"
#include "cli/options/sampler_spelling.hpp"
#include "cli/options/sampling_fields.hpp"
#include "cli/options/suggestion.hpp"
#include "runtime/sampling/sampler.hpp"

namespace bittern::cli {
namespace {

struct SettingName {
  std::string_view name, other;
};

/// Names that llama.cpp's flags have for the same thing; those of the sampler's are in the table.
constexpr SettingName kShortNames[] = {{"n_predict", "n"},
                                       {"n_predict", "predict"},
                                       {"n_predict", "max_tokens"},
                                       {"stop", "reverse_prompt"}};

/// Settings beside the sampler's whose flag has another name than "--" and the name with dashes.
constexpr SettingName kOtherFlags[] = {{"n_predict", "--predict"}, {"stop", "--reverse-prompt"}};

constexpr std::string_view kConstraintNames[] = {"grammar", "json_schema", "regex",
                                                 "response_format"};

bool IsConstraint(std::string_view name) {
  return std::ranges::find(kConstraintNames, name) != std::end(kConstraintNames);
}

std::string WithDashes(std::string_view name) {
  std::string flag = "--" + std::string(name);
  for (char& c : flag) c = c == '_' ? '-' : c;
  return flag;
}

std::string FlagOfSetting(std::string_view name) {
  if (const auto* row = request::FindSamplerOption(name)) return FlagOf(*row);
  for (const SettingName& row : kOtherFlags) {
    if (row.name == name) return std::string(row.other);
  }
  return WithDashes(name);
}

bool IsGiven(const CLI::App& command, const std::string& flag) {
  const CLI::Option* option = command.get_option_no_throw(flag);
  return option != nullptr && option->count() != 0;
}

/// A constraint of any kind on the command line stands instead of the saved one.
bool IsGivenSetting(const CLI::App& command, std::string_view name) {
  if (!IsConstraint(name)) {
    return IsGiven(command, FlagOfSetting(name)) ||
           (name == "samplers" && IsGiven(command, "--sampler-seq"));
  }
  for (const char* flag :
       {"--grammar", "--grammar-file", "--json-schema", "--json-schema-file", "--regex"}) {
    if (IsGiven(command, flag)) return true;
  }
  return false;
}

tl::unexpected<Error> UnknownSetting(std::string_view name,
                                     const runtime::GenerateOptions& options) {
  std::vector<std::string> names;
  const auto all = ChatSettingsOf(options);
  for (const auto& [known, value] : all.members()) names.push_back(known);
  for (const std::string_view known : kConstraintNames) names.emplace_back(known);
  const std::string closest = ClosestName(std::string(name), names);
  return Fail(ErrorCode::kInvalidArgument,
              fmt::format("{}: there is no such setting{}", name,
                          closest.empty() ? "" : fmt::format("; did you mean {}?", closest)));
}

Result<void> ReadStops(const Json& value, std::vector<std::string>* stops) {
  std::vector<std::string> texts;
  const Json list = value.is_array() ? value : Json::MakeArray({value});
  for (const Json& text : list.elements()) {
    if (text.text().empty()) {
      return Fail(ErrorCode::kInvalidArgument, "stop: a text or a list of texts expected");
    }
    texts.push_back(text.text());
  }
  *stops = std::move(texts);
  return {};
}

/// What is not in a `batch` line's sampler; false if the name is none of these.
Result<bool> ReadOwnSetting(std::string_view name, const Json& value,
                            runtime::GenerateOptions* options) {
  if (name == "stop") {
    BITTERN_TRY(ReadStops(value, &options->stops));
    return true;
  }
  if (name == "n_predict") {
    const double number = value.AsNumber().value_or(-3);
    if (number < -2 || number > std::numeric_limits<int>::max() || number != std::floor(number)) {
      return Fail(ErrorCode::kInvalidArgument,
                  "n_predict: a whole number from -1 (until the reply ends) expected");
    }
    options->max_tokens = static_cast<int>(number);
    return true;
  }
  if (name == "ignore_eos") {
    const auto flag = value.AsBool();
    if (!flag) return Fail(ErrorCode::kInvalidArgument, "ignore_eos: true or false expected");
    options->ignore_eos = *flag;
    return true;
  }
  if (!IsConstraint(name)) return false;
  // Null takes a constraint away.
  options->constraint.reset();
  BITTERN_TRY(ReadConstraintField(name, value, options));
  if (options->constraint) BITTERN_TRY(grammar::CheckConstraint(*options->constraint));
  return true;
}

}  // namespace

Json ChatSettingsOf(const runtime::GenerateOptions& options) {
  Json settings = {{"n_predict", options.max_tokens},
                   {"stop", options.stops},
                   {"ignore_eos", options.ignore_eos},
                   {"stop_on_loop", options.stop_on_loop}};
  settings.Update(SamplingFieldsOf(options.sampler));
  if (!options.constraint) return settings;
  const std::string& text = options.constraint->text;
  switch (options.constraint->kind) {
    case grammar::ConstraintKind::kGbnf:
      settings["grammar"] = text;
      break;
    case grammar::ConstraintKind::kRegex:
      settings["regex"] = text;
      break;
    case grammar::ConstraintKind::kJsonSchema:
      settings["json_schema"] = Json::Parse(text, {.max_depth = 100}).value_or(Json());
      break;
    case grammar::ConstraintKind::kJsonObject:
      settings["response_format"] = {{"type", "json_object"}};
      break;
    case grammar::ConstraintKind::kToolCalls:
      break;  // no chat has functions
  }
  return settings;
}

Result<void> ReadChatSetting(std::string_view name, const Json& value,
                             const tokenizer::Tokenizer& tokenizer,
                             runtime::GenerateOptions* options) {
  for (const SettingName& row : kShortNames) {
    if (row.other == name) name = row.name;
  }
  if (const auto* row = SamplerOptionOfFlag(WithDashes(name))) name = row->name;
  runtime::GenerateOptions changed = *options;
  // Logprobs are no setting: they are written with --json only.
  const bool is_logprobs = name == "logprobs" || name == "top_logprobs" || name == "n_probs";
  bool known = BITTERN_TRY(ReadOwnSetting(name, value, &changed));
  if (!known && !is_logprobs) {
    known = BITTERN_TRY(ReadSamplingField(name, value, tokenizer, &changed));
  }
  if (!known) return UnknownSetting(name, *options);
  BITTERN_TRY(runtime::CheckSamplerOptions(changed.sampler, tokenizer.vocab_size()));
  *options = std::move(changed);
  return {};
}

Result<void> TakeSavedSettings(const Json& settings, const CLI::App& command,
                               const tokenizer::Tokenizer& tokenizer,
                               runtime::GenerateOptions* options) {
  for (const auto& [name, value] : settings.members()) {
    if (IsGivenSetting(command, name)) continue;
    BITTERN_TRY(ReadChatSetting(name, Json(value), tokenizer, options));
  }
  return {};
}

Json TypedValue(std::string_view typed) {
  const auto value = ParseOutsideJson(typed);
  return value ? Json(*value) : Json(typed);
}

}  // namespace bittern::cli
