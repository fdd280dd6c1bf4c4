// SPDX-License-Identifier: Apache-2.0
// A model by its name: found in the cache, or fetched into it. A listener is told what goes on. Any
// thread, one per call; processes that pull the same file wait for each other.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "hub/reference.hpp"
#include "hub/settings.hpp"

namespace bittern::hub {

struct PulledFile {
  std::string path;            ///< in the repository
  std::uint64_t size = 0;      ///< bytes
  std::string hash;            ///< empty of a file that was found in the cache
  bool fetched = false;        ///< it was not there before
  std::uint64_t received = 0;  ///< bytes that came from the hub now
};

struct Pulled {
  std::string repo, commit;
  std::filesystem::path path;  ///< the model on this machine: a file or a folder
  std::vector<PulledFile> files;
  double seconds = 0;
};

/// The files that a pull is going to look at, in the cache or from the hub.
struct PullPlan {
  std::string name;                ///< RepoText of the reference
  std::string commit;              ///< 40 hexadecimal digits
  std::vector<std::string> files;  ///< paths in the repository; one at least
  std::uint64_t bytes = 0;         ///< of all files, as far as the hub says
  std::string why;                 ///< reason for the choice of the file; empty if it was named
};

/// How far a pull is.
struct PullProgress {
  std::string_view file;                  ///< the one that is being fetched
  std::uint64_t done = 0, size = 0;       ///< bytes of it
  std::uint64_t all_done = 0, bytes = 0;  ///< bytes of all files: there now, and of the plan
};

/// Is told what goes on, by the thread that pulls. Each member may be empty.
struct PullListener {
  std::function<bool()> is_cancelled;  ///< asked many times a second; true ends the pull
  std::function<void(const std::string& sentence)> on_notice;
  std::function<void(const PullPlan& plan)> on_plan;  ///< once, when the files are chosen
  std::function<void(const PullProgress& progress)> on_progress;
  std::function<void()> on_file_end;  ///< after the last on_progress of a file, whole or not
};

/// The model as the cache has it, without a look at the hub; nothing where that is not a whole
/// model. Error kInvalidArgument: several files fit.
[[nodiscard]] Result<std::optional<Pulled>> FindInCache(const Reference& reference,
                                                        const Settings& settings);

/// Asks the hub for the newest state and fetches what the cache lacks. Offline: FindInCache, or
/// kNotFound. Errors: kNotFound, kIo, kCorruptFile, kInvalidArgument, kUnsupported, kCancelled.
[[nodiscard]] Result<Pulled> Pull(const Reference& reference, const Settings& settings,
                                  const PullListener& listener);

/// FindInCache, and Pull only where that finds nothing. Errors as Pull.
[[nodiscard]] Result<Pulled> FindOrPull(const Reference& reference, const Settings& settings,
                                        const PullListener& listener);

}  // namespace bittern::hub
