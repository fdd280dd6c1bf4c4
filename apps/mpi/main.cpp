// SPDX-License-Identifier: Apache-2.0
// The program `bittern-mpi`: mpirun -np N bittern-mpi COMMAND ... runs a command of `bittern` on
// rank 0, and every model that it loads is shared out among all ranks
// (docs/design/0021-one-model-on-several-hosts.md).
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/files/mapped_guard.hpp"
#include "base/os/environment.hpp"
#include "base/os/signals.hpp"
#include "cli/options/default_model.hpp"
#include "cli/options/environment.hpp"
#include "cli/program.hpp"
#include "cli/shared/page_origin.hpp"
#include "cli/shared/program_ranks.hpp"
#include "kernels/instruction_sets.hpp"
#include "mpi/mpi_ranks.hpp"
#include "runtime/shared_model.hpp"

namespace bittern::mpi {
namespace {

constexpr int kExitUsage = 1, kExitRuntime = 3;

/// $BITTERN_MPI_DELAY_US: for measurements of slower networks.
double DelayOfUser() {
  const char* text = os::Variable("BITTERN_MPI_DELAY_US");
  return text == nullptr ? 0 : std::strtod(text, nullptr);
}

/// mpirun ends the ranks that are left when one is lost. Called in a signal handler; one rank says
/// so.
void EndQuietly() noexcept { std::_Exit(kExitRuntime); }
void EndWithWords() noexcept {
  constexpr char kText[] =
      "bittern-mpi: ended by mpirun: a rank was lost, or the job was stopped\n";
  os::WriteErrorInHandler(kText);
  EndQuietly();
}

/// Ends the job where ranks are different programs.
void CheckBuilds(MpiRanks& ranks) {
  const std::string build = std::string(BITTERN_VERSION " ") + cli::kCommit;
  const auto builds = model::TextsOfAll(ranks, build);
  for (std::size_t r = 1; r < builds.size(); ++r) {
    if (builds[r] == builds[0]) continue;
    if (!ranks.leads()) return;
    ranks.EndAll("rank " + std::to_string(r) + " is another build than rank 0: expected " +
                     builds[0] + ", found " + builds[r],
                 kExitUsage);
  }
}

Result<formats::Checkpoint> OpenAsRank0(const std::string& path) {
  return path.starts_with("built-in ") ? cli::OpenBuiltinModel() : formats::Checkpoint::Open(path);
}

int Follow(MpiRanks& ranks) {
  os::CleanUpAtEnd(EndQuietly);
  if (const auto guarded = GuardMappedReads(); !guarded) {
    ranks.EndAll(guarded.error().message, kExitRuntime);
  }
  kernels::ForceIsa(cli::IsaOfUser());
  runtime::FollowRanks(ranks, OpenAsRank0);
  ranks.Finish();
  return 0;
}

int Lead(MpiRanks& ranks, int argc, char** argv) {
  cli::SetProgramRanks(&ranks);
  cli::SetProgramEnd(EndWithWords);
  const int exit_code = cli::RunProgram(argc, argv);
  if (!runtime::EndRanks(ranks)) ranks.EndAll("", exit_code);
  ranks.Finish();
  return exit_code;
}

}  // namespace
}  // namespace bittern::mpi

int main(int argc, char** argv) {
  using bittern::mpi::MpiRanks;
  MpiRanks ranks(&argc, &argv, bittern::mpi::DelayOfUser());
  bittern::mpi::CheckBuilds(ranks);
  return ranks.leads() ? bittern::mpi::Lead(ranks, argc, argv) : bittern::mpi::Follow(ranks);
}
