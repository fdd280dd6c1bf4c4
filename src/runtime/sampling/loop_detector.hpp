// SPDX-License-Identifier: Apache-2.0
// Tells a text that goes in circles: small models repeat a passage until the context is full.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "tokenizer/tokenizer.hpp"

namespace bittern::runtime {

/// Not thread-safe.
class LoopDetector {
 public:
  static constexpr std::size_t kLongest = 256;  ///< tokens of the passage
  static constexpr std::size_t kTimes = 4;      ///< how often it must stand there
  static constexpr std::size_t kLeast = 64;     ///< tokens of all repetitions together

  /// Adds a token; true if the text now ends with kTimes or more copies of one passage of at most
  /// kLongest tokens, kLeast tokens in all. O(kLongest).
  bool Push(tokenizer::TokenId id) {
    bool loops = false;
    for (std::size_t period = 1; period <= kLongest && period <= ids_.size(); ++period) {
      std::size_t& same = same_[period - 1];
      same = ids_[ids_.size() - period] == id ? same + 1 : 0;
      const std::size_t covered = same + period;
      loops = loops || (covered >= kTimes * period && covered >= kLeast);
    }
    ids_.push_back(id);
    return loops;
  }

  /// True if a text of these tokens ends in a loop.
  [[nodiscard]] static bool EndsInLoop(std::span<const tokenizer::TokenId> ids) {
    LoopDetector detector;
    bool loops = false;
    for (const tokenizer::TokenId id : ids) loops = detector.Push(id);
    return loops;
  }

 private:
  std::vector<tokenizer::TokenId> ids_;
  std::array<std::size_t, kLongest> same_{};  // tokens at the end that equal those a period before
};

}  // namespace bittern::runtime
