// SPDX-License-Identifier: Apache-2.0
// The additions of `bittern-mpi` to `bittern`.
#pragma once

namespace bittern::model {
class Ranks;
}

namespace bittern::cli {

/// The ranks that share out every model that a command loads; null: none.
[[nodiscard]] model::Ranks* ProgramRanks() noexcept;
/// Before RunProgram. `ranks` outlives it.
void SetProgramRanks(model::Ranks* ranks) noexcept;

/// Makes a signal that ends the process call `end` last, which may be called at any time. Before
/// RunProgram.
void SetProgramEnd(void (*end)() noexcept) noexcept;
/// Calls it, if there is one.
void EndProgram() noexcept;

}  // namespace bittern::cli
