// SPDX-License-Identifier: Apache-2.0
// The settings that /set changes and a saved conversation keeps: the fields of a `batch` line that
// say how tokens are picked and when a reply ends.
#pragma once

#include <string>
#include <string_view>

#include "base/json/json.hpp"
#include "base/result.hpp"
#include "cli/shared/cli11.hpp"
#include "runtime/generate_options.hpp"
#include "runtime/loaded_model.hpp"

namespace bittern::cli {

/// As request::ReadSetting, under any name that a flag has, too.
[[nodiscard]] Result<void> ReadChatSetting(std::string_view name, const Json& value,
                                           const runtime::LoadedModel& model,
                                           runtime::GenerateOptions* options);

/// Takes the settings of a saved conversation, but for those whose flags are on the command line.
/// Errors as ReadChatSetting.
[[nodiscard]] Result<void> TakeSavedSettings(const Json& settings, const CLI::App& command,
                                             const runtime::LoadedModel& model,
                                             runtime::GenerateOptions* options);

/// A value as a user types it after /set: JSON, else a text. `top_k 20`, `stop ["."]`.
[[nodiscard]] Json TypedValue(std::string_view typed);

}  // namespace bittern::cli
