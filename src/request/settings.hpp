// SPDX-License-Identifier: Apache-2.0
// The settings of a conversation, one at a time: the fields of a request that say how tokens are
// picked and when a reply ends. Saved chats keep them. Any thread.
#pragma once

#include <string_view>

#include "base/json/json.hpp"
#include "base/result.hpp"
#include "runtime/generate_options.hpp"

namespace bittern::runtime {
struct LoadedModel;
}

namespace bittern::request {

/// All settings as one object: "n_predict", "temperature", ... as ReadSetting takes them.
[[nodiscard]] Json SettingsOf(const runtime::GenerateOptions& options);

/// True for "grammar", "json_schema", "regex" and "response_format".
[[nodiscard]] bool IsConstraintSetting(std::string_view name) noexcept;

/// Takes one setting; null takes a constraint away. Errors kInvalidArgument: an unknown name, with
/// the closest one; a wrong value. Then nothing has changed.
[[nodiscard]] Result<void> ReadSetting(std::string_view name, const Json& value,
                                       const runtime::LoadedModel& model,
                                       runtime::GenerateOptions* options);

}  // namespace bittern::request
