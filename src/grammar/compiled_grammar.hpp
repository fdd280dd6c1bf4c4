// SPDX-License-Identifier: Apache-2.0
// A grammar with a vocabulary: the tokens that may come next. The answer for a state is found by
// one walk over the vocabulary and kept; states recur all the time (each token inside a string
// leads back to the same one).
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.hpp"
#include "grammar/automaton/automaton.hpp"
#include "grammar/token_mask.hpp"
#include "grammar/vocabulary_trie.hpp"

namespace bittern::grammar {

/// A grammar with a vocabulary, and all that was found out about both so far. Any number of
/// matchers may share one; calls wait for each other.
class CompiledGrammar {
 public:
  /// Errors kInvalidArgument: as Nfa::Build.
  [[nodiscard]] static Result<std::shared_ptr<CompiledGrammar>> Create(
      const Grammar& grammar, std::shared_ptr<const VocabularyTrie> vocabulary);

  [[nodiscard]] const VocabularyTrie& vocabulary() const noexcept { return *vocabulary_; }

 private:
  friend class Matcher;
  static constexpr std::size_t kMaxMaskBytes = 64u << 20;

  CompiledGrammar(Nfa nfa, std::shared_ptr<const VocabularyTrie> vocabulary)
      : automaton_(std::move(nfa)), vocabulary_(std::move(vocabulary)) {}
  [[nodiscard]] std::shared_ptr<const TokenMask> MaskOf(StateId state);
  [[nodiscard]] TokenMask Walk(StateId state);
  [[nodiscard]] std::size_t PlainRun(StateId state);
  [[nodiscard]] std::string ForcedBytes(StateId state, std::size_t most);
  [[nodiscard]] std::vector<TokenId> ForcedTokens(StateId state,
                                                  const tokenizer::Tokenizer& tokenizer);
  void Forget();
  /// The tokens with a quote, which may end a text.
  [[nodiscard]] const std::vector<TokenId>& QuoteTokens();
  /// Adds the tokens that are beginnings of a text, up to all of it.
  void TokensAlong(std::string_view text, std::vector<TokenId>* tokens) const;

  std::mutex mutex_;
  Automaton automaton_;
  std::uint64_t epoch_ = 0;  // how often the states were forgotten
  std::shared_ptr<const VocabularyTrie> vocabulary_;
  std::unordered_map<StateId, std::shared_ptr<const TokenMask>> masks_;
  std::size_t mask_bytes_ = 0;
  std::unordered_map<StateId, std::size_t> plain_runs_;
  std::vector<TokenId> quote_tokens_;
  std::unordered_map<StateId, std::vector<TokenId>> forced_;  // by state: see ForcedTokens
  bool beyond_limits_ = false;                                // in the last walk
};

}  // namespace bittern::grammar
