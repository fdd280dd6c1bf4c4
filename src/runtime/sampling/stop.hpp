// SPDX-License-Identifier: Apache-2.0
// Stop strings in a stream of text: text that may be the start of one is held back until known.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace bittern::runtime {

/// Feeds on generated text and gives back what may be shown. One per generation.
class StopMatcher {
 public:
  explicit StopMatcher(std::vector<std::string> stops);  // empty strings are ignored

  /// Appends `text`; returns the part that can be shown now. Once a stop string is complete,
  /// returns what preceded it, stopped() is true and later calls return "".
  [[nodiscard]] std::string Push(std::string_view text);
  /// The text that was held back when the generation ended otherwise.
  [[nodiscard]] std::string Finish();
  [[nodiscard]] bool stopped() const noexcept { return stopped_; }
  /// The stop string that was seen; empty: none.
  [[nodiscard]] const std::string& word() const noexcept { return word_; }

 private:
  std::vector<std::string> stops_;
  std::string held_, word_;
  bool stopped_ = false;
};

}  // namespace bittern::runtime
