// SPDX-License-Identifier: Apache-2.0
// Which tokens may come next. The answer for a state is found by one walk over the vocabulary and
// kept; states recur all the time (each token inside a string leads back to the same one).
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.hpp"
#include "grammar/automaton.hpp"
#include "grammar/distinct_texts.hpp"
#include "grammar/vocabulary_trie.hpp"

namespace bittern::grammar {

/// The tokens that may come next, those that end texts excluded.
struct TokenMask {
  std::size_t count = 0;
  /// By ascending id; only where there are at most kFew.
  std::vector<TokenId> few = {};
  static constexpr std::size_t kFew = 512;
  /// A bit for each id, the lowest first; only where there are more.
  std::vector<std::uint64_t> bits = {};
  bool may_end = false;  ///< a token that ends the text may come

  [[nodiscard]] bool Allows(TokenId id) const noexcept;
};

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

/// One text that obeys a grammar. One thread at a time.
class Matcher {
 public:
  explicit Matcher(std::shared_ptr<CompiledGrammar> grammar);

  /// The tokens that may come next. Error kInvalidArgument: no token of the vocabulary can go on,
  /// or the grammar is too ambiguous or too deep here.
  [[nodiscard]] Result<std::shared_ptr<const TokenMask>> Mask();
  /// Goes on by the bytes of a token. Error kInternal: the mask does not allow it.
  [[nodiscard]] Result<void> Accept(TokenId id);
  /// Goes on by bytes; false, and nothing changed, where the grammar does not allow them.
  [[nodiscard]] bool AcceptBytes(std::string_view bytes);
  /// The text so far is whole.
  [[nodiscard]] bool accepting();
  /// The text is whole and nothing may follow.
  [[nodiscard]] bool complete();
  /// The bytes that must come next whatever is picked, `most` at most; ends before a place where
  /// the text may end.
  [[nodiscard]] std::string Forced(std::size_t most);
  /// The tokens that come next whatever a model says, by this rule. The only token of the mask,
  /// where the text may not end. Else the bytes that must come next, up to kForcedBytes, as
  /// `tokenizer` cuts them, up to the first place from which the mask has a token that goes beyond
  /// these bytes; there the model chooses. Empty: the model chooses now. Error: as Mask.
  [[nodiscard]] Result<std::vector<TokenId>> ForcedTokens(const tokenizer::Tokenizer& tokenizer);
  static constexpr std::size_t kForcedBytes = 512;

 private:
  /// Finds its state again if the states were forgotten. Under the mutex.
  void Sync();
  [[nodiscard]] StateId StateAfter(StateId state, std::string_view bytes);
  /// The state after bytes; kDead where they repeat a text that must differ.
  [[nodiscard]] StateId Read(StateId state, std::string_view bytes, DistinctTexts* distinct);
  [[nodiscard]] bool Repeats(std::string_view token);
  /// Whether a text can be ended from here as none of those that are `rest` from here.
  [[nodiscard]] bool Goes(StateId state, std::vector<std::string_view> rests);
  [[nodiscard]] std::shared_ptr<const TokenMask> WithoutRepeats(
      std::shared_ptr<const TokenMask> mask);

  std::shared_ptr<CompiledGrammar> grammar_;
  std::string text_;  // so far
  DistinctTexts distinct_;
  StateId state_ = kDead;
  std::uint64_t epoch_ = 0;
};

}  // namespace bittern::grammar
