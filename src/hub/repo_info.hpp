// SPDX-License-Identifier: Apache-2.0
// A repository as a hub describes it: the answer of /api/models/REPO/revision/REV?blobs=true.
// Hostile like every answer: bounded, and names that could leave a folder are left out. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace bittern::hub {

struct RepoFile {
  std::string path;                        ///< IsSafePath
  std::optional<std::uint64_t> size = {};  ///< bytes
  std::string sha256 = {}, git_sha1 = {};  ///< hexadecimal digits; empty where not said
};

struct RepoInfo {
  std::string commit;           ///< 40 hexadecimal digits
  std::vector<RepoFile> files;  ///< in the hub's order
  std::size_t left_out = 0;     ///< files whose names are not safe
};

/// Longest answer that is read, in bytes.
inline constexpr std::size_t kMostInfoBytes = std::size_t{8} << 20;

/// Error kCorruptFile: not JSON, or not such an answer.
[[nodiscard]] Result<RepoInfo> ParseRepoInfo(std::string_view json);

/// True for hexadecimal digits in small letters, `count` of them.
[[nodiscard]] bool IsHex(std::string_view text, std::size_t count) noexcept;

}  // namespace bittern::hub
