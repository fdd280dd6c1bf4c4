// SPDX-License-Identifier: Apache-2.0
// The program behind `bittern` and `bittern-mpi`.
#pragma once

namespace bittern::cli {

/// Does what the words of the command line say. Returns the exit code.
[[nodiscard]] int RunProgram(int argc, char** argv);

}  // namespace bittern::cli
