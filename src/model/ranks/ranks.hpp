// SPDX-License-Identifier: Apache-2.0
// Processes that run one network together, each with a part of every matrix
// (docs/design/0021-one-model-on-several-hosts.md). How bytes go from one to another is behind this
// interface: MPI in the program bittern-mpi, threads in tests.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace bittern::model {

/// The part of a pass that an exchange belongs to.
enum class RankStep : std::uint8_t { kTold, kHeads, kOutput, kNeurons, kDown, kHead, kOther };
inline constexpr const char* kRankStepNames[] = {
    "pass told", "attention", "o_proj", "gate and up", "down_proj", "output head", "other"};

/// The exchanges of a rank.
struct RankTraffic {
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;  ///< received; on rank 0 also what it broadcasts
  double seconds = 0;       ///< with the wait for slower ranks
};
using RankTraffics = std::array<RankTraffic, std::size(kRankStepNames)>;

/// Rank 0 leads: it alone is asked for passes, and tells the others. Every call is collective: all
/// ranks make the same calls in the same order, one thread of each at a time, any thread. Nothing
/// returns an error: the loss of a rank ends the processes of all.
class Ranks {
 public:
  virtual ~Ranks() = default;

  [[nodiscard]] virtual int rank() const noexcept = 0;
  /// At least 1.
  [[nodiscard]] virtual int size() const noexcept = 0;
  /// Every rank gives sizes[rank()] bytes. Each gets the bytes of all ranks, one after the other.
  /// sizes: (size()), the same on all ranks.
  void GatherToAll(const std::byte* mine, std::span<const std::size_t> sizes, std::byte* all,
                   RankStep step = RankStep::kOther) noexcept;
  /// The same to rank 0 alone; the others give null for `all`.
  void GatherToFirst(const std::byte* mine, std::span<const std::size_t> sizes, std::byte* all,
                     RankStep step = RankStep::kOther) noexcept;
  /// Rank 0's bytes to all.
  void Broadcast(std::span<std::byte> bytes, RankStep step = RankStep::kOther) noexcept;
  /// All calls so far, by RankStep. To be read between passes.
  [[nodiscard]] const RankTraffics& traffic() const noexcept { return traffic_; }
  /// Not collective: says why on this rank, and ends the processes of all with that exit code.
  [[noreturn]] virtual void EndAll(const std::string& message, int exit_code) noexcept = 0;

  [[nodiscard]] bool leads() const noexcept { return rank() == 0; }
  /// Held by rank 0 while it tells the others something and while they do it.
  [[nodiscard]] std::mutex& turn() noexcept { return turn_; }
  /// Some ranks wait for what will not come: the processes can only be ended (EndAll).
  void MarkLost() noexcept { lost_ = true; }
  [[nodiscard]] bool lost() const noexcept { return lost_; }
  /// The number of a model that is being loaded, from 1: the same on all ranks.
  [[nodiscard]] std::uint64_t NextModel() noexcept { return ++models_; }

 private:
  virtual void DoGatherToAll(const std::byte* mine, std::span<const std::size_t> sizes,
                             std::byte* all) noexcept = 0;
  virtual void DoGatherToFirst(const std::byte* mine, std::span<const std::size_t> sizes,
                               std::byte* all) noexcept = 0;
  virtual void DoBroadcast(std::span<std::byte> bytes) noexcept = 0;
  /// Calls work() and counts it.
  template <class Work>
  void Count(RankStep step, std::size_t bytes, const Work& work) noexcept;

  RankTraffics traffic_{};
  std::mutex turn_;
  std::uint64_t models_ = 0;
  std::atomic<bool> lost_ = false;
};

/// The things that rank 0 tells the others, in the first byte of a message.
enum class RankCommand : std::uint8_t {
  kEnd,   ///< nothing comes any more
  kLoad,  ///< load a model (runtime/shared_model.hpp)
  kPass,  ///< run a pass of a model (rank_leader.hpp)
  kDrop,  ///< let a model go: its number
};

/// values[i] becomes the largest values[i] of all ranks.
void TakeLargest(Ranks& ranks, std::span<float> values);

/// Whether `mine` holds on every rank.
[[nodiscard]] bool HoldsOnAll(Ranks& ranks, bool mine);

/// The texts of all ranks, by rank.
[[nodiscard]] std::vector<std::string> TextsOfAll(Ranks& ranks, const std::string& mine);

/// Bytes of any number from every rank to rank 0, one after the other; empty elsewhere.
[[nodiscard]] std::vector<std::byte> CollectBytes(Ranks& ranks, std::span<const std::byte> mine,
                                                  std::vector<std::size_t>* sizes, RankStep step);

/// Rank 0's bytes, whose number the others do not know before.
[[nodiscard]] std::vector<std::byte> BytesOfFirst(Ranks& ranks, std::span<const std::byte> mine,
                                                  RankStep step = RankStep::kOther);

}  // namespace bittern::model
