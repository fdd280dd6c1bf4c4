// SPDX-License-Identifier: Apache-2.0
// Signals that end the process leave no half-written files. Ctrl-C that ends a generation cleanly
// the first time and kills the process the second time.
#pragma once

#include <atomic>

namespace bittern::cli {

/// From now on signals that end the process (SIGINT, SIGTERM, SIGHUP, SIGPIPE and the like) remove
/// temporary files first. Those that are ignored stay so. SIGXFSZ is ignored: a file that grows
/// beyond the limit of its process is an error of the write, as a full disk is.
void RemoveFilesOnSignals();

/// From now on the first SIGINT sets the flag that is returned; the next one ends the process.
[[nodiscard]] const std::atomic<bool>& CatchInterrupt();

/// SIGINT ends the process again (see RemoveFilesOnSignals), and the flag is down.
void ReleaseInterrupt();

}  // namespace bittern::cli
