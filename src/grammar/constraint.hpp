// SPDX-License-Identifier: Apache-2.0
// The door to this folder: what a caller wants a text to be, and a grammar for a vocabulary made of
// it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.hpp"
#include "base/threads/process_fork.hpp"

namespace bittern::tokenizer {
class Tokenizer;
}

namespace bittern::grammar {

class Grammar;
class CompiledGrammar;
class VocabularyTrie;

enum class ConstraintKind : std::uint8_t {
  kGbnf,
  kJsonSchema,
  kRegex,
  kJsonObject,  ///< any JSON object; `text` is empty
  kToolCalls,   ///< calls of functions: ToolAnswerText
};

struct Constraint {
  ConstraintKind kind = ConstraintKind::kGbnf;
  std::string text = {};

  auto operator<=>(const Constraint&) const = default;
};

/// Makes grammars for one vocabulary and keeps the last ones, with all they have learned. Any
/// number of threads may share one.
class GrammarCache {
 public:
  /// `tokenizer` outlives the cache.
  explicit GrammarCache(const tokenizer::Tokenizer& tokenizer) : tokenizer_(&tokenizer) {}

  /// Errors kInvalidArgument: what is wrong with the text, or cannot be obeyed. A grammar that is
  /// kept is found at once, also while another one is made.
  [[nodiscard]] Result<std::shared_ptr<CompiledGrammar>> Get(const Constraint& constraint);

 private:
  static constexpr std::size_t kMostKept = 32;

  const tokenizer::Tokenizer* tokenizer_;
  struct Kept {
    std::mutex mutex;
    std::shared_ptr<const VocabularyTrie> trie;  // made with the first grammar
    std::map<Constraint, std::pair<std::uint64_t, std::shared_ptr<CompiledGrammar>>> grammars;
    std::uint64_t clock = 0;
  };
  OfProcess<Kept> kept_;  // grammars have locks, too
};

/// The grammar of a constraint. Errors kInvalidArgument.
[[nodiscard]] Result<Grammar> GrammarOf(const Constraint& constraint);

/// The constraint of OpenAI's `response_format`, given as JSON: {"type": "text"}: nothing; {"type":
/// "json_object"} (with llama.cpp's "schema", too); {"type": "json_schema", "json_schema":
/// {"schema": ...}}. Error kInvalidArgument: another type, or no schema.
[[nodiscard]] Result<std::optional<Constraint>> ConstraintOfResponseFormat(std::string_view json);

/// Whether a constraint could be obeyed with some vocabulary: for errors before a model is loaded.
[[nodiscard]] Result<void> CheckConstraint(const Constraint& constraint);

}  // namespace bittern::grammar
