// SPDX-License-Identifier: Apache-2.0
// A model by its name: found in the cache, or fetched into it. What goes on is told on standard
// error. Main thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "cli/hub/reference.hpp"
#include "cli/hub/settings.hpp"

namespace bittern::cli::hub {

struct PulledFile {
  std::string path;            ///< in the repository
  std::uint64_t size = 0;      ///< bytes
  std::string hash;            ///< empty of a file that was found in the cache
  bool fetched = false;        ///< it was not there before
  std::uint64_t received = 0;  ///< bytes that came from the hub now
};

struct Pulled {
  std::string repo, commit;
  std::filesystem::path path;  ///< what -m takes: a file or a folder
  std::vector<PulledFile> files;
  double seconds = 0;
};

/// What the cache has of it, without a look at the hub; nothing where that is not a whole model.
/// Error kInvalidArgument: several files fit.
[[nodiscard]] Result<std::optional<Pulled>> FindInCache(const Reference& reference,
                                                        const Settings& settings);

/// Asks the hub for the newest state and fetches what the cache lacks. Offline: FindInCache, or
/// kNotFound. Errors: kNotFound, kIo, kCorruptFile, kInvalidArgument, kUnsupported, kCancelled.
[[nodiscard]] Result<Pulled> Pull(const Reference& reference, const Settings& settings);

/// What -m is given, as a path: a name with hf:// before it is looked up in the cache and, where it
/// is not there, pulled; all else is returned as it is. Errors as Pull.
[[nodiscard]] Result<std::string> LocalModel(const std::string& path);

}  // namespace bittern::cli::hub
