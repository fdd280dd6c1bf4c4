// SPDX-License-Identifier: Apache-2.0
#include "runtime/chat/thought_fold.hpp"

#include <algorithm>
#include <utility>

namespace bittern::runtime {
namespace {

constexpr std::string_view kThinkTag = "<think>", kThinkEnd = "</think>", kBlank = " \t\n";

/// The length of the longest end of `text` that `tag` begins with.
std::size_t TagBegun(std::string_view text, std::string_view tag) {
  for (std::size_t size = std::min(text.size(), tag.size() - 1); size > 0; --size) {
    if (tag.starts_with(text.substr(text.size() - size))) return size;
  }
  return 0;
}

}  // namespace

/// Gives the part of `text` that belongs to the answer. waiting_ holds bytes that may turn out to
/// begin a tag; in kAnswer a "\n" there means that blanks before the answer are still to be
/// dropped.
std::string ThoughtFold::Add(std::string_view text) {
  if (state_ == State::kAnswer) {
    // Blank lines between the thoughts and the answer belong to neither.
    if (!thoughts_.empty() && waiting_ == "\n") {
      const std::size_t begin = text.find_first_not_of(kBlank);
      if (begin == std::string_view::npos) return {};
      waiting_.clear();
      text.remove_prefix(begin);
    }
    return std::string(text);
  }
  waiting_ += text;
  if (state_ == State::kStart) {
    const std::size_t begin = std::min(waiting_.find_first_not_of(kBlank), waiting_.size());
    const std::string_view rest = std::string_view(waiting_).substr(begin);
    if (rest.starts_with(kThinkTag)) {
      state_ = State::kThinking;
      waiting_.erase(0, begin + kThinkTag.size());
    } else if (kThinkTag.starts_with(rest)) {
      return {};
    } else {
      state_ = State::kAnswer;
      return std::exchange(waiting_, {});
    }
  }
  const std::size_t end = waiting_.find(kThinkEnd);
  if (end == std::string::npos) {
    const std::size_t safe = waiting_.size() - TagBegun(waiting_, kThinkEnd);
    thoughts_ += waiting_.substr(0, safe);
    waiting_.erase(0, safe);
    return {};
  }
  thoughts_ += waiting_.substr(0, end);
  const std::string rest = waiting_.substr(end + kThinkEnd.size());
  state_ = State::kAnswer;
  waiting_.assign(thoughts_.empty() ? 0 : 1, '\n');
  return Add(rest);
}

std::string ThoughtFold::Finish() {
  if (state_ == State::kThinking) thoughts_ += std::exchange(waiting_, {});
  return state_ == State::kStart ? std::exchange(waiting_, {}) : std::string();
}

}  // namespace bittern::runtime
