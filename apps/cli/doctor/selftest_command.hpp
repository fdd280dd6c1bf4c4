// SPDX-License-Identifier: Apache-2.0
// The self-test as the commands show it.
#pragma once

#include <functional>
#include <string>

#include "base/json/json.hpp"
#include "proof/selftest/selftest.hpp"

namespace bittern::cli {

/// Checks the built-in model and, unless both are empty, that of `path` or $BITTERN_MODEL. What has
/// not begun after `seconds` is skipped.
[[nodiscard]] proof::SelftestReport MakeSelftest(
    const std::string& path, int num_threads, double seconds,
    const std::function<void(std::string_view)>& on_progress);

}  // namespace bittern::cli
