// SPDX-License-Identifier: Apache-2.0
// One text on its way through a grammar: which tokens may come next, and which must.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "grammar/automaton/state_id.hpp"
#include "grammar/distinct_texts.hpp"
#include "grammar/token_mask.hpp"

namespace bittern::tokenizer {
class Tokenizer;
}

namespace bittern::grammar {

class CompiledGrammar;

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
  /// True if some ending from `state` differs from every text in `rests`.
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
