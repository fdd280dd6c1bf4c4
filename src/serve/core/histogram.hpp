// SPDX-License-Identifier: Apache-2.0
// How many of some times fell below each of some bounds, as Prometheus counts them. Any thread.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace bittern::serve {

/// Times of a server that takes milliseconds for a cached word and minutes for a long text.
class TimeHistogram {
 public:
  /// Seconds; the last bucket, which is not here, has no bound.
  static constexpr std::array<double, 14> kBounds = {0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5,
                                                     1,     2.5,  5,     10,   30,  60,   300};

  void Observe(double seconds) noexcept {
    std::size_t bucket = 0;
    while (bucket < kBounds.size() && seconds > kBounds[bucket]) ++bucket;
    sum_us_.fetch_add(static_cast<std::uint64_t>(seconds * 1e6));
    counts_[bucket].fetch_add(1);
  }
  /// Times in the bucket below bound `bucket` and above the one before it.
  [[nodiscard]] std::uint64_t count(std::size_t bucket) const noexcept {
    return counts_[bucket].load();
  }
  [[nodiscard]] double sum() const noexcept { return static_cast<double>(sum_us_.load()) / 1e6; }

 private:
  std::array<std::atomic<std::uint64_t>, kBounds.size() + 1> counts_ = {};
  std::atomic<std::uint64_t> sum_us_{0};
};

}  // namespace bittern::serve
