// SPDX-License-Identifier: Apache-2.0
// Flags about models by name: -hf where a model is run, and how `pull` downloads.
#pragma once

#include <string>

#include "cli/shared/cli11.hpp"

namespace bittern::cli {

/// --hf-repo, --hf-file, --hf-token, --offline, as llama.cpp has them, and --yes. *path becomes
/// hf://NAME.
void AddHubModelOptions(CLI::App& command, std::string* path);
/// --endpoint, --hf-token, --offline
void AddHubOptions(CLI::App& command);
/// --connections, --retries
void AddTransferOptions(CLI::App& command);

}  // namespace bittern::cli
