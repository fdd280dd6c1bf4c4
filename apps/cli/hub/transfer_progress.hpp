// SPDX-License-Identifier: Apache-2.0
// How far a file is: share, rate, time left, on a terminal's line of progress.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <string>
#include <utility>

#include "cli/terminal.hpp"

namespace bittern::cli {

class TransferProgress {
 public:
  TransferProgress(std::string name, std::uint64_t size, ProgressLine* line)
      : name_(std::move(name)), size_(size), line_(line) {}

  /// May be called often; the line changes five times a second.
  void Show(std::uint64_t done);

 private:
  using Clock = std::chrono::steady_clock;
  std::string name_;
  std::uint64_t size_;
  ProgressLine* line_;
  std::deque<std::pair<Clock::time_point, std::uint64_t>> seen_;  ///< of the last seconds
};

/// "45 s", "3 min 20 s", "2 h 5 min".
[[nodiscard]] std::string TimeText(double seconds);

}  // namespace bittern::cli
