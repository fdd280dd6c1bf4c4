// SPDX-License-Identifier: Apache-2.0
// Splits the thoughts between <think> and </think> at the beginning of a reply off the rest, as the
// reply comes. One thread.
#pragma once

#include <string>
#include <string_view>

namespace bittern::runtime {

class ThoughtFold {
 public:
  /// `begun`: the prompt has opened the thoughts already.
  explicit ThoughtFold(bool begun) : state_(begun ? State::kThinking : State::kStart) {}

  /// The part of `text` that is no thought. The beginning of a tag waits for the rest of it.
  [[nodiscard]] std::string Add(std::string_view text);
  /// The text that has waited.
  [[nodiscard]] std::string Finish();

  [[nodiscard]] bool thinking() const noexcept { return state_ == State::kThinking; }
  /// The thoughts, without the tags.
  [[nodiscard]] const std::string& thoughts() const noexcept { return thoughts_; }

 private:
  enum class State { kStart, kThinking, kAnswer };
  State state_;
  std::string waiting_, thoughts_;
};

}  // namespace bittern::runtime
