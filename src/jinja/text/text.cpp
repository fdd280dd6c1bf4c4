// SPDX-License-Identifier: Apache-2.0
// Runs are kept merged, so that a text costs memory for its bytes and its changes of origin only.
#include "jinja/text/text.hpp"

#include <algorithm>
#include <utility>

namespace bittern::jinja {

Text::Text(std::string bytes, Origin origin) : bytes_(std::move(bytes)) {
  if (!bytes_.empty()) runs_.push_back({bytes_.size(), origin});
}

bool Text::AnyFromInput() const noexcept {
  return std::ranges::any_of(runs_, [](const Run& run) { return run.from_input(); });
}

/// Makes the last run longer where the origin is the same.
void Text::Append(std::string_view bytes, Origin origin) {
  if (bytes.empty()) return;
  bytes_ += bytes;
  if (!runs_.empty() && runs_.back().origin == origin) {
    runs_.back().end = bytes_.size();
  } else {
    runs_.push_back({bytes_.size(), origin});
  }
}

void Text::Append(const Text& other) { Append(other, 0, other.size()); }

/// The first run that reaches beyond `begin` is found by bisection.
void Text::Append(const Text& other, std::size_t begin, std::size_t size) {
  begin = std::min(begin, other.size());
  const std::size_t end = begin + std::min(size, other.size() - begin);
  const auto first =
      std::ranges::upper_bound(other.runs_, begin, {}, [](const Run& run) { return run.end; });
  for (auto run = first; run != other.runs_.end() && begin < end; ++run) {
    const std::size_t stop = std::min(run->end, end);
    Append(std::string_view(other.bytes_).substr(begin, stop - begin), run->origin);
    begin = stop;
  }
}

Text Text::Substr(std::size_t begin, std::size_t size) const {
  Text part;
  part.Append(*this, begin, size);
  return part;
}

}  // namespace bittern::jinja
