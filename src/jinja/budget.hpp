// SPDX-License-Identifier: Apache-2.0
// The budget of a template. A template is a program from a stranger: it may loop for ever, double a
// string until memory is gone, or nest lists until a recursive walk overflows the stack.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>

#include "base/result.hpp"

namespace bittern::jinja {

/// The bounds of one rendering. docs/chat-templates.md tells them to users.
struct Limits {
  std::uint64_t max_steps = 5'000'000;              ///< nodes run and values walked over
  std::size_t max_bytes = std::size_t{512} << 20;   ///< made in all, garbage included
  std::size_t max_string = std::size_t{64} << 20;   ///< bytes of one string
  std::size_t max_template = std::size_t{4} << 20;  ///< bytes of the source
  int max_depth = 600;                              ///< of running nodes inside nodes
};

inline constexpr int kMaxNesting = 200;           ///< lists in lists
inline constexpr std::size_t kMaxRange = 100000;  ///< elements of range(), as in Jinja's sandbox

/// Counts down. Every loop over input or over values made by the template charges it.
class Budget {
 public:
  explicit Budget(const Limits& limits) : limits_(limits) {}

  /// Error kUnsupported once there are too many.
  [[nodiscard]] Result<void> Step(std::uint64_t count = 1) {
    steps_ += count;
    if (steps_ <= limits_.max_steps) return {};
    return Fail(ErrorCode::kUnsupported,
                fmt::format("stopped after {} steps; an endless loop?", limits_.max_steps));
  }
  /// Before a string or list of that many bytes is made.
  [[nodiscard]] Result<void> Make(std::size_t bytes) {
    if (bytes > limits_.max_string) {
      return Fail(
          ErrorCode::kUnsupported,
          fmt::format("a value of {} bytes; at most {} are allowed", bytes, limits_.max_string));
    }
    bytes_ += bytes;
    if (bytes_ <= limits_.max_bytes) return Step(bytes / 64);
    return Fail(ErrorCode::kUnsupported,
                fmt::format("stopped after making {} bytes of values", limits_.max_bytes));
  }
  [[nodiscard]] const Limits& limits() const noexcept { return limits_; }

 private:
  Limits limits_;
  std::uint64_t steps_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace bittern::jinja
