// SPDX-License-Identifier: Apache-2.0
// How much memory is left for this process: of the machine, of its swap space, and of the control
// groups that limit it (cgroups(7), Documentation/admin-guide/cgroup-v1/memory.rst and
// cgroup-v2.rst).
#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <string_view>

#include "base/os/memory.hpp"
#include "base/os/posix/reserve.hpp"

namespace bittern::os {
namespace {

constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();

/// The number behind a word that begins a line; `otherwise` where there is none.
std::uint64_t Figure(const std::filesystem::path& file, std::string_view word,
                     std::uint64_t otherwise) {
  std::ifstream in(file);
  for (std::string name; in >> name;) {
    std::uint64_t value = 0;
    if (name == word && in >> value) return value;
    in.clear();
    in.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return otherwise;
}

std::uint64_t Less(std::uint64_t limit, std::uint64_t used) {
  return limit - std::min(limit, used);
}

/// A group of version 1 tells the strictest limit of all above it.
std::uint64_t RoomOfV1(const std::filesystem::path& group) {
  const auto stat = group / "memory.stat";
  const std::uint64_t limit = Figure(stat, "hierarchical_memory_limit", kMost);
  return Less(limit, Figure(stat, "total_rss", 0));
}

/// In version 2 each group has a limit of its own; "max", which is no number, is none.
std::uint64_t RoomOfV2(const std::filesystem::path& mount, std::filesystem::path group) {
  std::uint64_t room = kMost;
  for (;; group = group.parent_path()) {
    const auto folder = mount / group.relative_path();
    std::uint64_t limit = 0;
    if (std::ifstream(folder / "memory.max") >> limit) {
      room = std::min(room, Less(limit, Figure(folder / "memory.stat", "anon", 0)));
    }
    if (group.relative_path().empty()) return room;
  }
}

/// The room that the groups of this process leave. In a container the names may be the host's,
/// whose folders are not there: then the mounts themselves are the process's groups.
std::uint64_t RoomOfGroups() {
  const std::filesystem::path mount = "/sys/fs/cgroup";
  std::uint64_t room = kMost;
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {  // "4:cpu,memory:/name", "0::/name"
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    std::string kinds(1, ',');
    kinds.append(line, first + 1, second - first - 1).push_back(',');
    const std::filesystem::path group = line.substr(second + 1);
    if (kinds == ",,") {
      room = std::min(room, RoomOfV2(mount, group));
    } else if (kinds.find(",memory,") != std::string::npos) {
      const auto own = mount / "memory" / group.relative_path();
      std::error_code ignored;
      room =
          std::min(room, RoomOfV1(std::filesystem::exists(own, ignored) ? own : mount / "memory"));
    }
  }
  return room;
}

/// Swap space on disks: what lies compressed in memory makes no room for numbers that cannot be
/// compressed.
std::uint64_t RoomOfSwap() {
  std::ifstream swaps("/proc/swaps");
  std::uint64_t room = 0;
  std::string line;
  std::getline(swaps, line);  // the titles
  while (std::getline(swaps, line)) {
    std::istringstream words(line);
    std::string name, type;
    std::uint64_t size = 0, used = 0;
    if (words >> name >> type >> size >> used && name.find("zram") == std::string::npos) {
      room += Less(size, used) * 1024;
    }
  }
  return room;
}

}  // namespace

std::uint64_t RoomForPages() {
  const std::uint64_t available = AvailableMemory();
  if (available == 0) return 0;
  return std::min(available + RoomOfSwap(), RoomOfGroups());
}

int ReserveBytes(int file, std::size_t bytes) noexcept {
  errno = posix_fallocate(file, 0, static_cast<off_t>(bytes));
  return errno == 0 ? 0 : -1;
}

}  // namespace bittern::os
