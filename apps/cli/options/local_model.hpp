// SPDX-License-Identifier: Apache-2.0
// Models by name at a terminal: flags and the environment say how, standard error shows what goes
// on, Ctrl-C ends it. Main thread.
#pragma once

#include <string>

#include "hub/pull.hpp"

namespace bittern::cli {

/// Values of flags of this process; AddHubOptions and the like fill them.
[[nodiscard]] hub::Given& GivenByFlags() noexcept;

/// Reads GivenByFlags and the environment. Errors as hub::SettingsFrom.
[[nodiscard]] Result<hub::Settings> HubSettingsOfUser();

/// hub::Pull, shown on standard error. Errors as there.
[[nodiscard]] Result<hub::Pulled> PullShown(const hub::Reference& reference,
                                            const hub::Settings& settings);

/// The value of -m as a path: a name with hf:// before it is looked up in the cache and, where it
/// is not there, pulled; all else is returned as it is. Errors as hub::Pull.
[[nodiscard]] Result<std::string> LocalModel(const std::string& path);

}  // namespace bittern::cli
