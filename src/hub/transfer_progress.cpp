// SPDX-License-Identifier: Apache-2.0
#include "hub/transfer_progress.hpp"

#include <fmt/format.h>

#include <cmath>

#include "base/text/display.hpp"

namespace bittern::hub {

std::string TimeText(double seconds) {
  const auto whole = static_cast<std::uint64_t>(std::lround(seconds));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

std::optional<std::string> TransferProgress::Text(std::uint64_t done) {
  constexpr std::chrono::milliseconds kBetween{200};
  constexpr std::chrono::seconds kLookBack{5};
  const auto now = Clock::now();
  if (!seen_.empty() && now - seen_.back().first < kBetween) return std::nullopt;
  seen_.emplace_back(now, done);
  while (seen_.size() > 2 && now - seen_.front().first > kLookBack) seen_.pop_front();
  const double seconds = std::chrono::duration<double>(now - seen_.front().first).count();
  const double rate = seconds > 0 ? static_cast<double>(done - seen_.front().second) / seconds : 0;
  std::string text =
      fmt::format("{}: {:.0f} %, {:.1f} of {:.1f} MB", Printable(name_, 40),
                  size_ == 0 ? 100.0 : 100 * static_cast<double>(done) / static_cast<double>(size_),
                  static_cast<double>(done) / 1e6, static_cast<double>(size_) / 1e6);
  if (rate > 0) {
    text += fmt::format(", {:.1f} MB/s, {} left", rate / 1e6,
                        TimeText(static_cast<double>(size_ - done) / rate));
  }
  return text;
}

}  // namespace bittern::hub
