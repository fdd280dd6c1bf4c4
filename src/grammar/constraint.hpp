// SPDX-License-Identifier: Apache-2.0
// The door to this folder: what a caller wants a text to be, and a grammar for a vocabulary made of
// it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace bittern {
template <class T>
class OfProcess;
}
namespace bittern::tokenizer {
class Tokenizer;
}

namespace bittern::grammar {

class Grammar;
class CompiledGrammar;

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
  explicit GrammarCache(const tokenizer::Tokenizer& tokenizer);
  ~GrammarCache();

  /// Errors kInvalidArgument: what is wrong with the text, or cannot be obeyed. A grammar that is
  /// kept is found at once, also while another one is made.
  [[nodiscard]] Result<std::shared_ptr<CompiledGrammar>> Get(const Constraint& constraint);

 private:
  static constexpr std::size_t kMostKept = 32;

  const tokenizer::Tokenizer* tokenizer_;
  struct Kept;
  std::unique_ptr<OfProcess<Kept>> kept_;  // of the process, since grammars have locks
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
