// SPDX-License-Identifier: Apache-2.0
#include "cli/chat/chat_settings.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "cli/shared/option_spelling.hpp"
#include "request/settings.hpp"
#include "runtime/sampling/sampler.hpp"

namespace bittern::cli {
namespace {

/// A setting of the saved file and another name for it.
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

/// "top_k" gives "--top-k".
std::string WithDashes(std::string_view name) {
  std::string flag = "--" + std::string(name);
  for (char& c : flag) c = c == '_' ? '-' : c;
  return flag;
}

/// The flag that sets what the saved setting `name` sets.
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
  if (!request::IsConstraintSetting(name)) {
    return IsGiven(command, FlagOfSetting(name)) ||
           (name == "samplers" && IsGiven(command, "--sampler-seq"));
  }
  for (const char* flag :
       {"--grammar", "--grammar-file", "--json-schema", "--json-schema-file", "--regex"}) {
    if (IsGiven(command, flag)) return true;
  }
  return false;
}

}  // namespace

Result<void> ReadChatSetting(std::string_view name, const Json& value,
                             const runtime::LoadedModel& model, runtime::GenerateOptions* options) {
  for (const SettingName& row : kShortNames) {
    if (row.other == name) name = row.name;
  }
  if (const auto* row = SamplerOptionOfFlag(WithDashes(name))) name = row->name;
  return request::ReadSetting(name, value, model, options);
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

/// The value of /set: JSON where it is JSON (a number, a list), else the text itself.
Json TypedValue(std::string_view typed) {
  const auto value = Json::Parse(typed, {.max_depth = 100});
  return value ? Json(*value) : Json(typed);
}

}  // namespace bittern::cli
