// SPDX-License-Identifier: Apache-2.0
// The program `mpi-latency`: how long the ranks of an MPI job take for an exchange, through the
// code that bittern-mpi has. tools/scaling reads what it prints.
//   mpirun -np N mpi-latency BYTES...      bytes that each rank gives
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "base/os/environment.hpp"
#include "mpi/mpi_ranks.hpp"

namespace {

using bittern::mpi::MpiRanks;

/// Microseconds of the median of many exchanges, as this rank sees it. All ranks are ready at once,
/// but for the time by which they left the exchange before.
double MedianMicroseconds(MpiRanks& ranks, std::size_t bytes) {
  constexpr int kWarm = 200, kCounted = 2001;
  const std::vector<std::byte> mine(bytes);
  const std::vector<std::size_t> sizes(static_cast<std::size_t>(ranks.size()), bytes);
  std::vector<std::byte> all(bytes * sizes.size());
  std::vector<double> taken;
  for (int i = 0; i < kWarm + kCounted; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    ranks.GatherToAll(mine.data(), sizes, all.data());
    const auto end = std::chrono::steady_clock::now();
    if (i >= kWarm) taken.push_back(std::chrono::duration<double, std::micro>(end - begin).count());
  }
  std::ranges::nth_element(taken, taken.begin() + kCounted / 2);
  return taken[kCounted / 2];
}

}  // namespace

int main(int argc, char** argv) {
  const char* delay = bittern::os::Variable("BITTERN_MPI_DELAY_US");
  MpiRanks ranks(&argc, &argv, delay == nullptr ? 0 : std::strtod(delay, nullptr));
  if (argc < 2) {
    if (ranks.leads()) std::fputs("usage: mpirun -np N mpi-latency BYTES...\n", stderr);
    ranks.Finish();
    return 1;
  }
  for (int i = 1; i < argc; ++i) {
    const std::size_t bytes = std::strtoul(argv[i], nullptr, 10);
    const double median = MedianMicroseconds(ranks, bytes);
    if (!ranks.leads()) continue;
    std::printf("{\"ranks\": %d, \"bytes\": %zu, \"microseconds\": %.2f}\n", ranks.size(), bytes,
                median);
    std::fflush(stdout);
  }
  ranks.Finish();
  return 0;
}
