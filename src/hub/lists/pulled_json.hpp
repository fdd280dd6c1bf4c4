// SPDX-License-Identifier: Apache-2.0
// A pull as JSON.
#pragma once

#include "base/json/json.hpp"
#include "hub/pull.hpp"

namespace bittern::hub {

/// {"repo", "commit", "path", "files": [{"file", "bytes", "fetched", "sha256" or "git_sha1"}]}
[[nodiscard]] Json PulledJson(const Pulled& pulled);

}  // namespace bittern::hub
