// SPDX-License-Identifier: Apache-2.0
// A regular expression as a graph of nodes, each of which says what must come next.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.hpp"
#include "tokenizer/regex/regex_syntax.hpp"

namespace bittern::tokenizer {

using NodeId = std::uint32_t;

struct RegexNode {
  enum class Kind : std::uint8_t {
    kMatch,         ///< nothing: all is matched
    kSet,           ///< a character of sets[set], then `next`
    kFork,          ///< `next`, or if that cannot be matched `other`
    kLook,          ///< `other` can (negated: cannot) be matched here, and then `next`
    kEnd,           ///< the end of the text, then `next`
    kWordBoundary,  ///< a boundary, then `next`
  };
  Kind kind = Kind::kMatch;
  bool negated = false;
  std::uint32_t set = 0;
  NodeId next = 0, other = 0;
};

struct RegexGraph {
  std::vector<RegexNode> nodes;
  std::vector<CodePointSet> sets;  ///< each once
  NodeId start = 0;
  /// All nodes; each comes after those that it can reach without taking a character.
  std::vector<NodeId> order;
};

/// Error kUnsupported: more than 4,096 nodes, or a repeat of what may be empty.
[[nodiscard]] Result<RegexGraph> BuildGraph(const RegexTree& tree);

}  // namespace bittern::tokenizer
