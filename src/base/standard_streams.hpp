// SPDX-License-Identifier: Apache-2.0
// Standard input, output and error where the parent process has closed them.
#pragma once

namespace bittern {

/// Opens /dev/null, in the wrong direction, on closed descriptors 0 to 2, so that no later file
/// gets their number and their use still fails. Called before any file is opened.
void OccupyStandardStreams() noexcept;

}  // namespace bittern
