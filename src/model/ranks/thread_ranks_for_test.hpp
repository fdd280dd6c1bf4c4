// SPDX-License-Identifier: Apache-2.0
// Ranks that are threads of one process: what tests share a network out with. Never part of the
// library.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <vector>

#include "model/ranks/ranks.hpp"

namespace bittern::model {

/// The threads meet here.
class ThreadRanksHub {
 public:
  explicit ThreadRanksHub(int size) : size_(size), given_(static_cast<std::size_t>(size)) {}

  [[nodiscard]] int size() const noexcept { return size_; }
  /// Every thread gives a pointer; take() sees all of them before any thread leaves.
  template <class Take>
  void Meet(int rank, const std::byte* mine, const Take& take) {
    given_[static_cast<std::size_t>(rank)] = mine;
    Wait();
    take(given_);
    Wait();
  }

 private:
  /// Returns when all threads are here. (std::barrier of mingw's libstdc++ 12 loses wake-ups.)
  void Wait() {
    std::unique_lock lock(mutex_);
    const int round = round_;
    if (++arrived_ == size_) {
      arrived_ = 0;
      ++round_;
      all_here_.notify_all();
    }
    all_here_.wait(lock, [&] { return round_ != round; });
  }

  int size_;
  std::mutex mutex_;
  std::condition_variable all_here_;
  int arrived_ = 0, round_ = 0;
  std::vector<const std::byte*> given_;
};

class ThreadRanks : public Ranks {
 public:
  ThreadRanks(ThreadRanksHub* hub, int rank) : hub_(*hub), rank_(rank) {}

  [[nodiscard]] int rank() const noexcept override { return rank_; }
  [[nodiscard]] int size() const noexcept override { return hub_.size(); }
  void DoGatherToAll(const std::byte* mine, std::span<const std::size_t> sizes,
                     std::byte* all) noexcept override {
    ++calls;
    hub_.Meet(rank_, mine, [&](const auto& given) {
      for (std::size_t r = 0; r < sizes.size(); ++r) {
        if (sizes[r] != 0) std::memcpy(all, given[r], sizes[r]);
        all += sizes[r];
      }
    });
  }
  void DoGatherToFirst(const std::byte* mine, std::span<const std::size_t> sizes,
                       std::byte* all) noexcept override {
    if (rank_ == 0) return DoGatherToAll(mine, sizes, all);
    ++calls;
    hub_.Meet(rank_, mine, [](const auto&) {});
  }
  void DoBroadcast(std::span<std::byte> bytes) noexcept override {
    ++calls;
    hub_.Meet(rank_, bytes.data(), [&](const auto& given) {
      if (rank_ != 0 && !bytes.empty()) std::memcpy(bytes.data(), given[0], bytes.size());
    });
  }
  [[noreturn]] void EndAll(const std::string& message, int exit_code) noexcept override {
    std::fprintf(stderr, "rank %d: %s (%d)\n", rank_, message.c_str(), exit_code);
    std::abort();
  }

  std::size_t calls = 0;  ///< how often this rank has met the others

 private:
  ThreadRanksHub& hub_;
  int rank_;
};

}  // namespace bittern::model
