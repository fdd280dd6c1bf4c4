// SPDX-License-Identifier: Apache-2.0
// The patterns' automata side by side, a character at a time. Characters that no pattern tells
// apart are one. Each set of states and a length that is met becomes a rule.
#include "grammar/schema/string_product.hpp"

#include <algorithm>
#include <map>

#include "base/sort_once.hpp"
#include "base/utf8.hpp"
#include "grammar/automaton/automaton.hpp"
#include "grammar/notation/json_text.hpp"
#include "grammar/notation/regex.hpp"
#include "grammar/schema/view.hpp"

namespace bittern::grammar {
namespace {

// Limits of one product: its states can be as many as the product of the automata's states.
constexpr std::size_t kMostStates = 4000;
constexpr std::size_t kMostSteps = 3'000'000;

/// The product under construction: Add each rule, then Build once.
class Product {
 public:
  Product(std::uint32_t least, std::uint32_t most, Grammar* grammar)
      : least_(least), most_(most), grammar_(grammar) {}

  /// Builds the automaton of one rule and notes where its characters must be told apart.
  Result<void> Add(const StringRule& rule) {
    Grammar texts;
    const RuleId root = texts.AddRule("root");
    const auto body = AddRegex(rule.pattern, {.search = rule.search}, &texts);
    if (!body) return Refuse(rule.pointer, body.error().message);
    texts.Define(root, *body);
    auto nfa = Nfa::Build(texts);
    if (!nfa) return Refuse(rule.pointer, nfa.error().message);
    automata_.emplace_back(std::move(*nfa));
    contrary_.push_back(rule.contrary);
    for (ExprId id = 0; id < texts.num_exprs(); ++id) Cut(texts.expr(id));
    return {};
  }

  /// Goes through the states in the order they are met; Emit adds new ones at the end of states_.
  std::optional<ExprId> Build() {
    MakeClasses();
    std::vector<StateId> start;
    for (Automaton& automaton : automata_) start.push_back(automaton.start());
    start.push_back(0);
    const RuleId first = RuleOf(std::move(start));
    for (std::size_t i = 0; i < states_.size(); ++i) {
      if (states_.size() > kMostStates || steps_ > kMostSteps || too_much_) return std::nullopt;
      Emit(i);
    }
    return grammar_->Call(first);
  }

  /// Bytes that one automaton has read.
  [[nodiscard]] std::uint64_t steps() const noexcept { return steps_; }

 private:
  /// A new class begins at the first character of a range and behind its last one.
  void Cut(const Expr& expr) {
    for (const CharRange& range : expr.ranges) {
      cuts_.push_back(range.first);
      cuts_.push_back(range.last + 1);
    }
    for (std::string_view rest = expr.bytes; !rest.empty();) {
      const Utf8Step step = DecodeUtf8(rest);
      cuts_.push_back(step.code_point);
      cuts_.push_back(step.code_point + 1);
      rest.remove_prefix(step.size);
    }
  }

  /// Turns the cuts into ranges. All characters of a range act alike, so Emit tries one of each.
  void MakeClasses() {
    cuts_.insert(cuts_.end(), {0, 0xd800, 0xe000, kLastChar + 1});
    SortOnce(&cuts_);
    for (std::size_t i = 0; i + 1 < cuts_.size() && cuts_[i] <= kLastChar; ++i) {
      if (cuts_[i] >= 0xd800 && cuts_[i] < 0xe000) continue;  // halves of characters
      classes_.push_back({cuts_[i], cuts_[i + 1] - 1});
    }
  }

  /// The state of each automaton, then the length, as far as it matters.
  RuleId RuleOf(std::vector<StateId> state) {
    const auto [known, is_new] = rules_.emplace(std::move(state), 0);
    if (is_new) {
      known->second = grammar_->AddRule("texts");
      states_.push_back(known);
    }
    return known->second;
  }

  /// True if a text may end in this state: all patterns match, no contrary one does, and it is long
  /// enough. A dead automaton of a contrary pattern is fine: that pattern can never match.
  bool Accepts(const std::vector<StateId>& state) const {
    for (std::size_t i = 0; i < automata_.size(); ++i) {
      const bool matches = state[i] != kDead && automata_[i].accepting(state[i]);
      if (matches == contrary_[i]) return false;
    }
    return state.back() >= least_;
  }

  /// The state after a character; nothing where no text goes on so.
  std::optional<std::vector<StateId>> After(const std::vector<StateId>& state, char32_t c) {
    std::string bytes;
    AppendUtf8(c, &bytes);
    std::vector<StateId> after = state;
    for (std::size_t i = 0; i < automata_.size(); ++i) {
      for (const char byte : bytes) {
        ++steps_;
        if (after[i] < kTooMuch) {
          after[i] = automata_[i].Next(after[i], static_cast<std::uint8_t>(byte));
        }
      }
      too_much_ = too_much_ || after[i] == kTooMuch;
      if (after[i] == kDead && !contrary_[i]) return std::nullopt;
    }
    const std::uint32_t length = state.back() + 1;
    if (length > most_) return std::nullopt;
    after.back() = most_ == kUnbounded ? std::min(length, least_) : length;
    return after;
  }

  /// Defines the rule of a state: one choice for each state that follows it, with all the
  /// characters that lead there, and the empty text if the state accepts.
  void Emit(std::size_t index) {
    const std::vector<StateId> state = states_[index]->first;
    std::map<RuleId, CharClass> next;
    for (const CharRange& range : classes_) {
      auto after = After(state, range.first);
      if (too_much_ || states_.size() > kMostStates) return;
      if (after) next[RuleOf(*std::move(after))].push_back(range);
    }
    std::vector<ExprId> choices;
    for (auto& [rule, chars] : next) {
      const ExprId one = JsonChars(Normalised(std::move(chars)), grammar_);
      choices.push_back(grammar_->Sequence({one, grammar_->Call(rule)}));
    }
    if (Accepts(state)) choices.push_back(grammar_->Empty());
    grammar_->Define(states_[index]->second, grammar_->Choice(std::move(choices)));
  }

  std::uint32_t least_, most_;
  Grammar* grammar_;
  std::vector<Automaton> automata_;
  std::vector<bool> contrary_;
  std::vector<char32_t> cuts_;
  CharClass classes_;
  std::map<std::vector<StateId>, RuleId> rules_;
  std::vector<std::map<std::vector<StateId>, RuleId>::iterator> states_;
  std::uint64_t steps_ = 0;
  bool too_much_ = false;
};

}  // namespace

Result<std::optional<ExprId>> StringProduct(const std::vector<StringRule>& rules,
                                            std::uint32_t least, std::uint32_t most,
                                            Grammar* grammar, std::uint64_t* steps) {
  Product product(least, most, grammar);
  for (const StringRule& rule : rules) BITTERN_TRY(product.Add(rule));
  const auto built = product.Build();
  *steps = product.steps();
  return built;
}

}  // namespace bittern::grammar
