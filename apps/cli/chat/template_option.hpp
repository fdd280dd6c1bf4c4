// SPDX-License-Identifier: Apache-2.0
// --chat-template of every command that writes conversations.
#pragma once

#include <string>

#include "base/result.hpp"
#include "cli/shared/cli11.hpp"

namespace bittern::cli {

void AddChatTemplateOption(CLI::App& command, std::string* name_or_file);

/// The argument of runtime::ChatPrompt::Create: a name stays one, anything else is a file to read.
/// Error kInvalidArgument.
[[nodiscard]] Result<std::string> ReadChatTemplate(const std::string& name_or_file);

}  // namespace bittern::cli
