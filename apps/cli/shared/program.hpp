// SPDX-License-Identifier: Apache-2.0
// The program behind `bittern` and `bittern-mpi`.
#pragma once

namespace bittern::model {
class Ranks;
}

namespace bittern::cli {

/// Does what the words of the command line say. Returns the exit code.
[[nodiscard]] int RunProgram(int argc, char** argv);

/// The ranks that share out every model that a command loads; null: none.
[[nodiscard]] model::Ranks* ProgramRanks() noexcept;
/// Before RunProgram. `ranks` outlives it.
void SetProgramRanks(model::Ranks* ranks) noexcept;

/// Where a signal ends the process, `end` is called last; it may be called at any time. Before
/// RunProgram.
void SetProgramEnd(void (*end)() noexcept) noexcept;
/// Calls it, if there is one.
void EndProgram() noexcept;

}  // namespace bittern::cli
