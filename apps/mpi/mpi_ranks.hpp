// SPDX-License-Identifier: Apache-2.0
// Ranks that are processes of an MPI job.
#pragma once

#include <mpi.h>

#include <vector>

#include "model/ranks/ranks.hpp"

namespace bittern::mpi {

/// The ranks of MPI_COMM_WORLD. One object, which lives as long as MPI does.
class MpiRanks : public model::Ranks {
 public:
  /// Begins MPI. delay_us: every exchange then takes so much longer, as on a slower network.
  MpiRanks(int* argc, char*** argv, double delay_us);

  [[nodiscard]] int rank() const noexcept override { return rank_; }
  [[nodiscard]] int size() const noexcept override { return size_; }
  void DoGatherToAll(const std::byte* mine, std::span<const std::size_t> sizes,
                     std::byte* all) noexcept override;
  void DoGatherToFirst(const std::byte* mine, std::span<const std::size_t> sizes,
                       std::byte* all) noexcept override;
  void DoBroadcast(std::span<std::byte> bytes) noexcept override;
  [[noreturn]] void EndAll(const std::string& message, int exit_code) noexcept override;

  /// Ends MPI, once all ranks have come here.
  void Finish() noexcept;

 private:
  /// `sizes` as MPI wants them: places_ and counts_.
  void Lay(std::span<const std::size_t> sizes);
  void Delay() const;
  void AwaitPatiently(MPI_Request* request) const;

  int rank_ = 0, size_ = 1;
  double delay_us_;
  std::vector<int> counts_, places_;
};

}  // namespace bittern::mpi
