// SPDX-License-Identifier: Apache-2.0
// How far a file is: share, rate, time left, as a line of text. One thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>

namespace bittern::hub {

class TransferProgress {
 public:
  /// `size` in bytes.
  TransferProgress(std::string name, std::uint64_t size) : name_(std::move(name)), size_(size) {}

  /// "NAME: 12 %, 140.0 of 1187.8 MB, 11.5 MB/s, 1 min 31 s left" for the bytes that are there,
  /// five times a second at most; else nothing. May be called often.
  [[nodiscard]] std::optional<std::string> Text(std::uint64_t done);

 private:
  using Clock = std::chrono::steady_clock;
  std::string name_;
  std::uint64_t size_;
  std::deque<std::pair<Clock::time_point, std::uint64_t>> seen_;  ///< of the last seconds
};

/// "45 s", "3 min 20 s", "2 h 5 min".
[[nodiscard]] std::string TimeText(double seconds);

}  // namespace bittern::hub
