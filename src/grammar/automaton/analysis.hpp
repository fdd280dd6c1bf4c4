// SPDX-License-Identifier: Apache-2.0
// Facts about a grammar's rules that are needed before automata are made of them.
#pragma once

#include <vector>

#include "base/result.hpp"
#include "grammar/automaton/grammar.hpp"

namespace bittern::grammar {

struct Analysis {
  std::vector<bool> productive;   ///< of each rule: some finite text is in it
  std::vector<bool> nullable;     ///< the empty text is in it
  std::vector<bool> recursive;    ///< it can contain itself
  std::vector<std::size_t> size;  ///< automaton nodes with everything written out; huge: kHuge
  static constexpr std::size_t kHuge = std::size_t{1} << 40;
};

/// Errors kInvalidArgument, by the rule's name: it is used and not defined; it may begin with
/// itself; the root allows no text.
[[nodiscard]] Result<Analysis> Analyse(const Grammar& grammar);

/// Whether an expression has a finite text, given what is known of the rules.
[[nodiscard]] bool IsProductive(const Grammar& grammar, ExprId id,
                                const std::vector<bool>& productive);

}  // namespace bittern::grammar
