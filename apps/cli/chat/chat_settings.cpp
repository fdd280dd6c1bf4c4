// SPDX-License-Identifier: Apache-2.0
#include "cli/chat/chat_settings.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "base/text/closest_name.hpp"
#include "cli/options/outside_json.hpp"
#include "cli/options/sampler_spelling.hpp"
#include "request/constraint_fields.hpp"
#include "request/generate_fields.hpp"
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

}  // namespace

Json ChatSettingsOf(const runtime::GenerateOptions& options) {
  Json settings = {{"n_predict", options.max_tokens}};
  settings.Update(request::OptionsJson(options));
  settings.Erase("max_tokens");
  settings.Erase("constraint");
  if (static_cast<std::int32_t>(options.sampler.seed) == -1) settings["seed"] = -1;
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
                             const runtime::LoadedModel& model, runtime::GenerateOptions* options) {
  for (const SettingName& row : kShortNames) {
    if (row.other == name) name = row.name;
  }
  if (const auto* row = SamplerOptionOfFlag(WithDashes(name))) name = row->name;
  runtime::GenerateOptions changed = *options;
  Json object;
  object.Append(std::string(name), value);
  auto fields = BITTERN_TRY(request::FieldReader::Open(object));
  if (IsConstraint(name)) {
    changed.constraint.reset();  // null takes a constraint away
    BITTERN_TRY(request::ReadConstraint(&fields, model, &changed.constraint));
  } else {
    BITTERN_TRY(request::ReadOptions(&fields, model.tokenizer, &changed));
  }
  if (!fields.Finish()) return UnknownSetting(name, *options);
  BITTERN_TRY(runtime::CheckSamplerOptions(changed.sampler, model.tokenizer.vocab_size()));
  *options = std::move(changed);
  return {};
}

Result<void> TakeSavedSettings(const Json& settings, const CLI::App& command,
                               const runtime::LoadedModel& model,
                               runtime::GenerateOptions* options) {
  for (const auto& [name, value] : settings.members()) {
    if (IsGivenSetting(command, name)) continue;
    BITTERN_TRY(ReadChatSetting(name, value, model, options));
  }
  return {};
}

Json TypedValue(std::string_view typed) {
  const auto value = ParseOutsideJson(typed);
  return value ? Json(*value) : Json(typed);
}

}  // namespace bittern::cli
