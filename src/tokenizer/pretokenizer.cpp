// SPDX-License-Identifier: Apache-2.0
// The rare behaviours: matches and gaps are listed first, then joined or dropped.
#include "tokenizer/pretokenizer.hpp"

#include <algorithm>

namespace bittern::tokenizer {

std::vector<PieceCutter::Part> PieceCutter::PartsOf(std::string_view text, std::size_t depth) {
  const Pass& pass = passes_[depth];
  std::vector<Part> parts;
  std::size_t done = 0;
  pass.regex.ForEachMatch(text, &scratch_[depth], [&](std::size_t begin, std::size_t end) {
    if (done != begin) parts.push_back({done, begin, pass.inverted});
    parts.push_back({begin, end, !pass.inverted});
    done = end;
  });
  if (done != text.size()) parts.push_back({done, text.size(), pass.inverted});
  if (pass.behavior == SplitBehavior::kIsolated) return parts;
  if (pass.behavior == SplitBehavior::kRemoved) {
    std::erase_if(parts, [](const Part& part) { return part.is_match; });
    return parts;
  }
  const bool backwards = pass.behavior == SplitBehavior::kMergedWithNext;
  if (backwards) std::ranges::reverse(parts);
  std::vector<Part> joined;
  bool after_match = false;
  for (const Part& part : parts) {
    const bool joins = pass.behavior == SplitBehavior::kContiguous ? part.is_match == after_match
                                                                   : part.is_match && !after_match;
    after_match = part.is_match;
    if (!joins || joined.empty()) {
      joined.push_back(part);
    } else if (backwards) {
      joined.back().begin = part.begin;
    } else {
      joined.back().end = part.end;
    }
  }
  if (backwards) std::ranges::reverse(joined);
  return joined;
}

}  // namespace bittern::tokenizer
