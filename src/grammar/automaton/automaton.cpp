// SPDX-License-Identifier: Apache-2.0
// Compute is the step that is not in the table yet: it follows each node of the state by the
// byte, then closes the result over calls and returns.
#include "grammar/automaton/automaton.hpp"

#include <algorithm>
#include <set>

#include "base/sort_once.hpp"

namespace bittern::grammar {

Automaton::Automaton(Nfa nfa) : nfa_(std::move(nfa)), num_classes_(nfa_.num_classes()) { Clear(); }

void Automaton::Clear() {
  sets_.clear();
  set_ends_.clear();
  set_ids_.clear();
  start_sets_.clear();
  stacks_.assign(1, {0, 0, 0});
  stack_ids_.clear();
  states_.clear();
  state_ids_.clear();
  table_.clear();
  accepting_.clear();
  start_ = kUnknown;
  bytes_ = 0;
}

/// The set of the nodes that can be reached from `nodes` without reading; `end`: of their rule.
Automaton::SetId Automaton::SetOf(std::vector<NodeId> nodes, NodeId end) {
  std::vector<NodeId> work = nodes;
  SortOnce(&nodes);
  std::set<NodeId> closed(nodes.begin(), nodes.end());
  while (!work.empty()) {
    const NodeId node = work.back();
    work.pop_back();
    nfa_.ForEachEdge(node, [&](const Edge& edge) {
      if (edge.kind == Edge::Kind::kEmpty && closed.insert(edge.to).second) work.push_back(edge.to);
    });
  }
  Set set;
  std::map<RuleId, std::vector<NodeId>> calls;
  std::vector<NodeId> key;  // nodes that matter: others are only on the way
  for (const NodeId node : closed) {
    bool reads = false, matters = node == end;
    nfa_.ForEachEdge(node, [&](const Edge& edge) {
      reads = reads || edge.kind == Edge::Kind::kByte;
      matters = matters || edge.kind != Edge::Kind::kEmpty;
      if (edge.kind == Edge::Kind::kCall) calls[edge.rule].push_back(edge.to);
    });
    if (reads) set.nodes.push_back(node);
    if (matters) key.push_back(node);
    set.ends = set.ends || node == end;
  }
  key.push_back(end);
  const auto [known, is_new] = set_ids_.emplace(std::move(key), static_cast<SetId>(sets_.size()));
  if (!is_new) return known->second;
  set.calls.assign(calls.begin(), calls.end());
  bytes_ += 100 + 12 * closed.size();
  sets_.push_back(std::move(set));
  set_ends_.push_back(end);
  return known->second;
}

/// The set in which a rule begins; made once per rule.
Automaton::SetId Automaton::StartSet(RuleId rule) {
  const auto found = start_sets_.find(rule);
  if (found != start_sets_.end()) return found->second;
  const Nfa::RuleEnds& ends = nfa_.rule(rule);
  const SetId set = SetOf({ends.start}, ends.end);
  start_sets_.emplace(rule, set);
  return set;
}

/// The stack with `set` on top of `below`. Equal stacks have one number, so states can be compared.
Automaton::StackId Automaton::Push(SetId set, StackId below) {
  const std::uint64_t key = (std::uint64_t{set} << 32) | below;
  const auto [known, is_new] = stack_ids_.emplace(key, static_cast<StackId>(stacks_.size()));
  if (is_new) {
    stacks_.push_back({set, below, stacks_[below].depth + 1});
    bytes_ += 60;
  }
  return known->second;
}

/// Adds what calls and returns lead to.
StateId Automaton::Close(std::vector<Place> places) {
  std::set<Place> seen(places.begin(), places.end());
  std::vector<Place> reading;
  bool accepting = false;
  const auto add = [&](Place place) {
    if (seen.insert(place).second) places.push_back(place);
  };
  while (!places.empty()) {
    const auto [set_id, stack] = places.back();
    places.pop_back();
    if (seen.size() > kMaxPlaces) return kTooMuch;
    if (!sets_[set_id].nodes.empty()) reading.emplace_back(set_id, stack);
    if (sets_[set_id].ends) {
      accepting = accepting || stack == 0;
      if (stack != 0) add({stacks_[stack].set, stacks_[stack].below});
    }
    const auto calls = sets_[set_id].calls;  // a copy: more sets may be made
    for (const auto& [rule, returns] : calls) {
      const SetId after = SetOf(returns, set_ends_[set_id]);
      // If only the end follows, returning there is returning from there.
      const bool tail = sets_[after].only_ends();
      if (!tail && stacks_[stack].depth >= kMaxDepth) return kTooMuch;
      add({StartSet(rule), tail ? stack : Push(after, stack)});
    }
  }
  return StateOf(std::move(reading), accepting);
}

/// The number of a state with these places. Their order must not matter, so they are sorted first.
StateId Automaton::StateOf(std::vector<Place> places, bool accepting) {
  if (places.empty() && !accepting) return kDead;
  std::ranges::sort(places);
  const std::size_t size = places.size();
  const auto [known, is_new] = state_ids_.emplace(std::pair(accepting, std::move(places)),
                                                  static_cast<StateId>(states_.size()));
  if (!is_new) return known->second;
  states_.push_back(known->first.second);
  accepting_.push_back(accepting ? 1 : 0);
  table_.resize(table_.size() + num_classes_, kUnknown);
  bytes_ += 150 + 16 * size + 4 * num_classes_;
  return known->second;
}

bool Automaton::InMarked(StateId state, RuleMark mark) const {
  return nfa_.has_marks() && std::ranges::any_of(states_[state], [&](const Place& place) {
           return nfa_.mark_of_end(set_ends_[place.first]) == mark;
         });
}

StateId Automaton::start() {
  if (start_ == kUnknown) start_ = Close({{StartSet(0), 0}});
  return start_;
}

/// The step that the table does not have yet. kTooMuch from a full table is not written down, so
/// the step is tried again after Clear.
StateId Automaton::Compute(StateId state, std::uint8_t byte_class) {
  if (bytes_ > kMaxBytes) return kTooMuch;
  const std::uint8_t byte = nfa_.byte_of_class(byte_class);
  std::vector<Place> places;
  std::vector<NodeId> next;
  for (const auto& [set, stack] : states_[state]) {
    next.clear();
    for (const NodeId node : sets_[set].nodes) {
      nfa_.ForEachEdge(node, [&](const Edge& edge) {
        if (edge.kind == Edge::Kind::kByte && edge.low <= byte && byte <= edge.high) {
          next.push_back(edge.to);
        }
      });
    }
    if (next.empty()) continue;
    const Place place = {SetOf(next, set_ends_[set]), stack};
    if (std::ranges::find(places, place) == places.end()) places.push_back(place);
  }
  const StateId found = places.empty() ? kDead : Close(std::move(places));
  table_[std::size_t{state} * num_classes_ + byte_class] = found;
  return found;
}

}  // namespace bittern::grammar
