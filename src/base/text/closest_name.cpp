// SPDX-License-Identifier: Apache-2.0
// Levenshtein distance with two rows.
#include "base/text/closest_name.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

namespace bittern {
namespace {

/// The fewest insertions, deletions and replacements of a byte that turn `a` into `b`.
std::size_t EditDistance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> previous(b.size() + 1), current(b.size() + 1);
  std::iota(previous.begin(), previous.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    current[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replace = previous[j] + (a[i] == b[j] ? 0 : 1);
      current[j + 1] = std::min({replace, previous[j + 1] + 1, current[j] + 1});
    }
    std::swap(previous, current);
  }
  return previous.back();
}

/// Without the dashes of a flag.
std::size_t LettersOf(const std::string& name) {
  return name.size() - std::min(name.find_first_not_of('-'), name.size());
}

}  // namespace

std::string ClosestName(const std::string& typed, std::span<const std::string> names) {
  std::string closest;
  std::size_t fewest = std::max<std::size_t>(typed.size() / 3, 2) + 1;
  for (const std::string& name : names) {
    const std::size_t edits = EditDistance(typed, name);
    // Names that share nothing but their dashes are no guess.
    const std::size_t letters = std::max(LettersOf(typed), LettersOf(name));
    if (edits >= fewest || edits >= letters) continue;
    fewest = edits;
    closest = name;
  }
  return closest;
}

}  // namespace bittern
