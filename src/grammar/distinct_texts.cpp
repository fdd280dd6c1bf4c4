// SPDX-License-Identifier: Apache-2.0
#include "grammar/distinct_texts.hpp"

#include <algorithm>

namespace bittern::grammar {

bool DistinctTexts::Push(char byte, bool opens, bool differs) {
  if (lists_.empty() && !(opens && byte == '[')) return true;
  if (in_string_) {
    const bool ends = byte == '"' && !escaped_;
    if (ends && differs) {
      if (Has({})) return false;
      lists_.back().push_back(text_);
    }
    escaped_ = byte == '\\' && !escaped_;
    in_string_ = !ends;
    text_ += byte;
    return true;
  }
  if (byte == '"') {
    in_string_ = true;
    text_.clear();
  } else if (byte == '[') {
    lists_.emplace_back();
  } else if (byte == ']') {
    lists_.pop_back();
  }
  return true;
}

bool DistinctTexts::Has(std::string_view rest) const {
  return in_string_ && std::ranges::any_of(lists_.back(), [&](const std::string& other) {
           return other.size() == text_.size() + rest.size() && other.starts_with(text_) &&
                  other.ends_with(rest);
         });
}

std::vector<std::string> DistinctTexts::Repetitions() const {
  std::vector<std::string> rests;
  if (!in_string_) return rests;
  for (const std::string& other : lists_.back()) {
    if (other.starts_with(text_)) rests.push_back(other.substr(text_.size()) + '"');
  }
  return rests;
}

}  // namespace bittern::grammar
