// SPDX-License-Identifier: Apache-2.0
// A grammar being read, byte by byte. A state is all the places where a text may stand: pairs of a
// set of nodes in one rule and a stack of what follows the rule. Sets, stacks and states have
// numbers and are built when they are first met; the step from a state by a byte is kept in a
// table. Stacks are shared lists, so a state is small whatever the depth.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "grammar/automaton/nfa.hpp"
#include "grammar/automaton/state_id.hpp"

namespace bittern::grammar {

/// Not thread-safe: reading builds states.
class Automaton {
 public:
  static constexpr std::size_t kMaxPlaces = 2000;       ///< of one state
  static constexpr std::size_t kMaxDepth = 10'000;      ///< of a stack
  static constexpr std::size_t kMaxBytes = 200u << 20;  ///< of all tables together

  explicit Automaton(Nfa nfa);

  [[nodiscard]] StateId start();
  /// The state after a byte: kDead, or kTooMuch.
  [[nodiscard]] StateId Next(StateId state, std::uint8_t byte) {
    const std::uint8_t c = nfa_.byte_class(byte);
    const StateId known = table_[state * num_classes_ + c];
    return known != kUnknown ? known : Compute(state, c);
  }
  /// A whole text ends here.
  [[nodiscard]] bool accepting(StateId state) const noexcept { return accepting_[state] != 0; }
  /// Some reading of the text stands in a rule with this mark.
  [[nodiscard]] bool InMarked(StateId state, RuleMark mark) const;
  [[nodiscard]] const Nfa& nfa() const noexcept { return nfa_; }
  [[nodiscard]] std::size_t num_states() const noexcept { return accepting_.size(); }
  /// Memory of the tables, roughly.
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  /// Forgets all states. Numbers of states from before mean nothing afterwards.
  void Clear();

 private:
  static constexpr StateId kUnknown = 0xfffffffdu;
  using SetId = std::uint32_t;
  using StackId = std::uint32_t;  // 0: nothing is left to come

  /// A set of nodes of one rule, with what can be done from it.
  struct Set {
    std::vector<NodeId> nodes;                                  // that have an edge by a byte
    std::vector<std::pair<RuleId, std::vector<NodeId>>> calls;  // rule, where it returns to
    bool ends = false;                                          // the rule's end is in it
    [[nodiscard]] bool only_ends() const noexcept { return nodes.empty() && calls.empty(); }
  };
  struct Stack {
    SetId set;  // to go on with
    StackId below;
    std::uint32_t depth;
  };
  using Place = std::pair<SetId, StackId>;

  [[nodiscard]] StateId Compute(StateId state, std::uint8_t byte_class);
  [[nodiscard]] SetId SetOf(std::vector<NodeId> nodes, NodeId end);
  [[nodiscard]] SetId StartSet(RuleId rule);
  [[nodiscard]] StackId Push(SetId set, StackId below);
  [[nodiscard]] StateId Close(std::vector<Place> places);
  [[nodiscard]] StateId StateOf(std::vector<Place> places, bool accepting);

  Nfa nfa_;
  std::size_t num_classes_;
  std::vector<Set> sets_;
  std::vector<NodeId> set_ends_;                  // of each set: the end of its rule
  std::map<std::vector<NodeId>, SetId> set_ids_;  // by all nodes of the closure
  std::unordered_map<RuleId, SetId> start_sets_;
  std::vector<Stack> stacks_;
  std::unordered_map<std::uint64_t, StackId> stack_ids_;
  std::vector<std::vector<Place>> states_;
  std::map<std::pair<bool, std::vector<Place>>, StateId> state_ids_;
  std::vector<StateId> table_;  // (states, classes)
  std::vector<std::uint8_t> accepting_;
  StateId start_ = kUnknown;
  std::size_t bytes_ = 0;
};

}  // namespace bittern::grammar
