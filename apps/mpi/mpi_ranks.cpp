// SPDX-License-Identifier: Apache-2.0
// MPI's own error handler stays: what it cannot do ends the job.
#include "mpi/mpi_ranks.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <thread>

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

/// MPI waits at full speed. A rank that follows a server without requests waits for hours, so it
/// sleeps in between once a pass is late.
void MpiRanks::AwaitPatiently(MPI_Request* request) const {
  using std::chrono::steady_clock;
  const auto start = steady_clock::now();
  for (int done = 0; done == 0;) {
    MPI_Test(request, &done, MPI_STATUS_IGNORE);
    const auto waited = steady_clock::now() - start;
    if (done != 0) return;
    if (rank_ == 0 || waited < std::chrono::milliseconds(3)) {
      std::this_thread::yield();  // there may be more ranks than cores
      continue;
    }
    const bool idle = waited > std::chrono::seconds(1);
    std::this_thread::sleep_for(std::chrono::microseconds(idle ? 3000 : 200));
  }
}

void MpiRanks::DoGatherToAll(const std::byte* mine, std::span<const std::size_t> sizes,
                             std::byte* all) noexcept {
  Lay(sizes);
  const int own = counts_[static_cast<std::size_t>(rank_)];
  MPI_Allgatherv(mine, own, MPI_BYTE, all, counts_.data(), places_.data(), MPI_BYTE,
                 MPI_COMM_WORLD);
  Delay();
}

void MpiRanks::DoGatherToFirst(const std::byte* mine, std::span<const std::size_t> sizes,
                               std::byte* all) noexcept {
  Lay(sizes);
  const int own = counts_[static_cast<std::size_t>(rank_)];
  MPI_Gatherv(mine, own, MPI_BYTE, all, counts_.data(), places_.data(), MPI_BYTE, 0,
              MPI_COMM_WORLD);
  Delay();
}

void MpiRanks::DoBroadcast(std::span<std::byte> bytes) noexcept {
  const std::size_t sizes[] = {bytes.size()};
  Lay(sizes);
  MPI_Request request;
  MPI_Ibcast(bytes.data(), counts_[0], MPI_BYTE, 0, MPI_COMM_WORLD, &request);
  AwaitPatiently(&request);
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
