// SPDX-License-Identifier: Apache-2.0
// Held text is always a proper prefix of some stop string, so it stays shorter than the longest
// one and a push costs little however long the generation is.
#include "runtime/sampling/stop.hpp"

#include <algorithm>
#include <utility>

namespace bittern::runtime {
namespace {

/// Returns the offset of the first complete stop in `text`, or npos. First is the one that ends
/// first, as if the text came byte by byte: so the result does not depend on how it was cut. Of two
/// that end together the longer one counts.
std::size_t FindStop(std::string_view text, const std::vector<std::string>& stops,
                     std::string* word) {
  std::size_t begin = std::string_view::npos, end = std::string_view::npos;
  for (const std::string& stop : stops) {
    const std::size_t found = text.find(stop);
    if (found == std::string_view::npos) continue;
    if (std::pair(found + stop.size(), found) < std::pair(end, begin)) {
      begin = found;
      end = found + stop.size();
      *word = stop;
    }
  }
  return begin;
}

/// The first place from which `text` to its end is a proper prefix of some stop; its size if
/// there is none.
std::size_t FindPossibleStart(std::string_view text, const std::vector<std::string>& stops) {
  std::size_t longest = 0;
  for (const std::string& stop : stops) longest = std::max(longest, stop.size());
  std::size_t start =
      text.size() - std::min(text.size(), longest - std::min<std::size_t>(longest, 1));
  for (; start < text.size(); ++start) {
    const std::string_view tail = text.substr(start);
    const auto begins_with_tail = [&](std::string_view stop) { return stop.starts_with(tail); };
    if (std::any_of(stops.begin(), stops.end(), begins_with_tail)) break;
  }
  return start;
}

}  // namespace

StopMatcher::StopMatcher(std::vector<std::string> stops) : stops_(std::move(stops)) {
  std::erase(stops_, std::string());
}

std::string StopMatcher::Push(std::string_view text) {
  if (stopped_) return {};
  held_ += text;
  const std::size_t stop = FindStop(held_, stops_, &word_);
  stopped_ = stop != std::string::npos;
  const std::size_t shown = stopped_ ? stop : FindPossibleStart(held_, stops_);
  std::string result = held_.substr(0, shown);
  held_ = stopped_ ? std::string() : held_.substr(shown);
  return result;
}

std::string StopMatcher::Finish() { return std::exchange(held_, {}); }

}  // namespace bittern::runtime
