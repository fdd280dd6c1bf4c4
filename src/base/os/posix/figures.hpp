// SPDX-License-Identifier: Apache-2.0
// The part of UsageOfProcess that POSIX does not have.
#pragma once

#include "base/os/process.hpp"

namespace bittern::os {

/// Fills what the system tells beyond CPU time and limits.
void AddFigures(ProcessUsage* usage);

}  // namespace bittern::os
