// SPDX-License-Identifier: Apache-2.0
// Standard input, output and error where the parent process has closed them.
#pragma once

namespace bittern {

/// To be called before any file is opened. The next file that is opened takes the place of a closed
/// standard stream, and would get what is meant for that; what takes it here can be used for the
/// opposite only, so that using the stream fails as on a closed one.
void OccupyStandardStreams() noexcept;

}  // namespace bittern
