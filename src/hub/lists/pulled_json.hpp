// SPDX-License-Identifier: Apache-2.0
// A pull as JSON and as a sentence. Pure.
#pragma once

#include <string>

#include "base/json/json.hpp"
#include "hub/pull.hpp"

namespace bittern::hub {

/// {"repo", "commit", "path", "files": [{"file", "bytes", "fetched", "sha256" or "git_sha1"}]}
[[nodiscard]] Json PulledJson(const Pulled& pulled);

/// Bytes, seconds and rate of what was downloaded, or that there was nothing to download.
[[nodiscard]] std::string PulledText(const Pulled& pulled);

}  // namespace bittern::hub
