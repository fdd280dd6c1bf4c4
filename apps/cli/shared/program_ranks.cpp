// SPDX-License-Identifier: Apache-2.0
#include "cli/shared/program_ranks.hpp"

namespace bittern::cli {
namespace {

model::Ranks* program_ranks = nullptr;
void (*program_end)() noexcept = nullptr;

}  // namespace

model::Ranks* ProgramRanks() noexcept { return program_ranks; }
void SetProgramRanks(model::Ranks* ranks) noexcept { program_ranks = ranks; }

void SetProgramEnd(void (*end)() noexcept) noexcept { program_end = end; }
void EndProgram() noexcept {
  if (program_end != nullptr) program_end();
}

}  // namespace bittern::cli
