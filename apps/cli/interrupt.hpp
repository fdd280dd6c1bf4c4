// SPDX-License-Identifier: Apache-2.0
// Ctrl-C that ends a generation cleanly the first time and kills the process the second time.
#pragma once

#include <atomic>

namespace bittern::cli {

/// From now on the first SIGINT sets the flag that is returned. The signal's default action is
/// back by then, so the next one ends the process.
[[nodiscard]] const std::atomic<bool>& CatchInterrupt();

/// SIGINT ends the process again, and the flag is down.
void ReleaseInterrupt();

}  // namespace bittern::cli
