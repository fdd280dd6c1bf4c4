// SPDX-License-Identifier: Apache-2.0
// One file from a hub to the disk: ranges over several connections, put together in order, so that
// the unfinished file is always a beginning of the whole (huggingface_hub goes on with it, and this
// program after a crash). Hashed as it is written; it gets its name only with the right hash. One
// thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "base/result.hpp"
#include "hub/ask.hpp"
#include "hub/digest.hpp"
#include "hub/http.hpp"
#include "hub/settings.hpp"

namespace bittern::hub {

struct TransferJob {
  std::string url, name, repo;  ///< name: for messages
  std::uint64_t size = 0;       ///< bytes
  DigestKind kind = DigestKind::kSha256;
  std::string hash;                         ///< hexadecimal digits
  std::filesystem::path incomplete, whole;  ///< in one folder
  std::function<void(std::uint64_t done)> on_progress;
};

/// Bytes of one request.
inline constexpr std::uint64_t kChunkBytes = std::uint64_t{16} << 20;

/// Errors: kIo (network, disk), kCorruptFile (lengths or hash are not what was said), kNotFound,
/// kCancelled. What came stays in `incomplete`, but not bytes with a wrong hash.
[[nodiscard]] Result<void> Transfer(HttpClient& client, const Settings& settings,
                                    const Watch& watch, const TransferJob& job);

}  // namespace bittern::hub
