// SPDX-License-Identifier: Apache-2.0
// Words and variables that a program is started with, as UTF-8, and the folders that the system's
// habits name.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace bittern::os {

/// The value of an environment variable, null if it is not set. "HOME" means the user's home folder
/// on systems that call that something else. The text stays valid while the process lives. Any
/// thread, as long as none changes the environment.
[[nodiscard]] const char* Variable(const char* name);
/// All of them, as "NAME=value".
[[nodiscard]] std::vector<std::string> AllVariables();

/// The words of the command line without the program's name; `count` and `words` are main's.
[[nodiscard]] std::vector<std::string> CommandLine(int count, char** words);

/// For what can be made again: $XDG_CACHE_HOME where it is absolute, else ~/.cache (Linux),
/// ~/Library/Caches (macOS), %LOCALAPPDATA% (Windows). Empty without a home.
[[nodiscard]] std::filesystem::path CacheFolder();
/// For what a program remembers of its use, and no other one reads: $XDG_STATE_HOME where it is
/// absolute, else ~/.local/state (Linux), ~/Library/Application Support (macOS), %LOCALAPPDATA%
/// (Windows). Empty without a home.
[[nodiscard]] std::filesystem::path StateFolder();

}  // namespace bittern::os
