// SPDX-License-Identifier: Apache-2.0
// MPI's own error handler stays: what it cannot do ends the job.
#include "mpi/mpi_ranks.hpp"

#include <mpi.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <limits>

namespace bittern::mpi {

MpiRanks::MpiRanks(int* argc, char*** argv, double delay_us) : delay_us_(delay_us) {
  int provided = 0;
  MPI_Init_thread(argc, argv, MPI_THREAD_SERIALIZED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  if (provided < MPI_THREAD_SERIALIZED) {
    EndAll("this MPI cannot be called from several threads (MPI_THREAD_SERIALIZED expected)", 3);
  }
}

void MpiRanks::Lay(std::span<const std::size_t> sizes) {
  counts_.clear();
  places_.clear();
  std::size_t at = 0;
  for (const std::size_t size : sizes) {
    places_.push_back(static_cast<int>(at));
    counts_.push_back(static_cast<int>(size));
    at += size;
  }
  if (at > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    EndAll("a batch is too large to be exchanged: over 2 GiB; ubatch_size of less helps", 3);
  }
}

void MpiRanks::Delay() const {
  if (delay_us_ <= 0) return;
  const auto end =
      std::chrono::steady_clock::now() + std::chrono::duration<double, std::micro>(delay_us_);
  while (std::chrono::steady_clock::now() < end) {
  }
}

void MpiRanks::GatherToAll(const std::byte* mine, std::span<const std::size_t> sizes,
                           std::byte* all) noexcept {
  Lay(sizes);
  const int own = counts_[static_cast<std::size_t>(rank_)];
  MPI_Allgatherv(mine, own, MPI_BYTE, all, counts_.data(), places_.data(), MPI_BYTE,
                 MPI_COMM_WORLD);
  Delay();
}

void MpiRanks::GatherToFirst(const std::byte* mine, std::span<const std::size_t> sizes,
                             std::byte* all) noexcept {
  Lay(sizes);
  const int own = counts_[static_cast<std::size_t>(rank_)];
  MPI_Gatherv(mine, own, MPI_BYTE, all, counts_.data(), places_.data(), MPI_BYTE, 0,
              MPI_COMM_WORLD);
  Delay();
}

void MpiRanks::Broadcast(std::span<std::byte> bytes) noexcept {
  const std::size_t sizes[] = {bytes.size()};
  Lay(sizes);
  MPI_Bcast(bytes.data(), counts_[0], MPI_BYTE, 0, MPI_COMM_WORLD);
  Delay();
}

void MpiRanks::EndAll(const std::string& message, int exit_code) noexcept {
  if (!message.empty()) {
    std::fprintf(stderr, "bittern-mpi: rank %d: %s\n", rank_, message.c_str());
    std::fflush(stderr);
  }
  MPI_Abort(MPI_COMM_WORLD, exit_code);
  std::_Exit(exit_code);
}

void MpiRanks::Finish() noexcept { MPI_Finalize(); }

}  // namespace bittern::mpi
