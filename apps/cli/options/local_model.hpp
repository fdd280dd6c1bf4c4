// SPDX-License-Identifier: Apache-2.0
// Models by name at a terminal: flags and the environment say how, standard error shows what goes
// on, Ctrl-C ends it. Main thread.
#pragma once

#include <optional>
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

/// Value of -y: yes to every question.
[[nodiscard]] bool& YesByFlag() noexcept;

/// The model that the value of -m or $BITTERN_MODEL names: hf://NAME, or a name that no file and no
/// folder has. Nothing for a path. Errors as hub::ParseReference, for hf:// only.
[[nodiscard]] Result<std::optional<hub::Reference>> ModelNamedBy(const std::string& path);

/// The value of -m as a path. A name is looked up in the cache. One that is not there is pulled if
/// it has hf:// before it, or with -y, or once the user has said yes at the terminal; else it is
/// kNotFound. A path is returned as it is. Errors as hub::Pull.
[[nodiscard]] Result<std::string> LocalModel(const std::string& path);

}  // namespace bittern::cli
