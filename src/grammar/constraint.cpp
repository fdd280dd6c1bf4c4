// SPDX-License-Identifier: Apache-2.0
#include "grammar/constraint.hpp"

#include <algorithm>

#include "grammar/compiled_grammar.hpp"
#include "grammar/notation/gbnf.hpp"
#include "grammar/notation/json_text.hpp"
#include "grammar/notation/regex.hpp"
#include "grammar/schema/json_schema.hpp"
#include "grammar/tool_calls.hpp"

namespace bittern::grammar {

Result<Grammar> GrammarOf(const Constraint& constraint) {
  switch (constraint.kind) {
    case ConstraintKind::kJsonSchema:
      return ParseJsonSchema(constraint.text);
    case ConstraintKind::kRegex:
      return ParseRegex(constraint.text);
    case ConstraintKind::kJsonObject:
      return JsonObjectGrammar();
    case ConstraintKind::kToolCalls:
      return ToolCallGrammar(BITTERN_TRY(ParseToolAnswer(constraint.text)));
    case ConstraintKind::kGbnf:
      break;
  }
  return ParseGbnf(constraint.text);
}

/// "json_object" with a schema beside it is llama-server's older form of "json_schema".
Result<std::optional<Constraint>> ConstraintOfResponseFormat(std::string_view json) {
  const auto format = BITTERN_TRY(Json::Parse(json, {.max_depth = 200}));
  const Json* type = format.Find("type");
  const std::string name = type == nullptr || type->AsString() == nullptr ? "" : *type->AsString();
  const Json* schema = format.Find("schema");
  if (const Json* wrapped = format.Find("json_schema")) schema = wrapped->Find("schema");
  if (name == "text") return std::nullopt;
  if (name == "json_object" && schema == nullptr) return Constraint{ConstraintKind::kJsonObject};
  if ((name != "json_object" && name != "json_schema") || schema == nullptr) {
    return Fail(ErrorCode::kInvalidArgument,
                "response_format: {\"type\": \"text\"}, {\"type\": \"json_object\"} or {\"type\": "
                "\"json_schema\", \"json_schema\": {\"schema\": ...}} expected");
  }
  return Constraint{ConstraintKind::kJsonSchema, JsonText(*schema)};
}

Result<void> CheckConstraint(const Constraint& constraint) {
  const Grammar grammar = BITTERN_TRY(GrammarOf(constraint));
  BITTERN_TRY(Nfa::Build(grammar));
  return {};
}

/// Two threads may compile the same constraint at once; the first to finish is kept. The one that
/// was used least recently goes when there are too many.
Result<std::shared_ptr<CompiledGrammar>> GrammarCache::Get(const Constraint& constraint) {
  Kept& kept = kept_.get();
  {
    const std::lock_guard lock(kept.mutex);
    const auto known = kept.grammars.find(constraint);
    if (known != kept.grammars.end()) {
      known->second.first = ++kept.clock;
      return known->second.second;
    }
    if (!kept.trie) {
      kept.trie = std::make_shared<const VocabularyTrie>(VocabularyTrie::Build(*tokenizer_));
    }
  }
  // A large grammar takes a while: nothing waits for it.
  const Grammar grammar = BITTERN_TRY(GrammarOf(constraint));
  auto compiled = BITTERN_TRY(CompiledGrammar::Create(grammar, kept.trie));
  const std::lock_guard lock(kept.mutex);
  auto& grammars = kept.grammars;
  if (grammars.size() >= kMostKept) {
    const auto oldest = std::ranges::min_element(
        grammars, {}, [](const auto& entry) { return entry.second.first; });
    grammars.erase(oldest);
  }
  return grammars.try_emplace(constraint, ++kept.clock, std::move(compiled)).first->second.second;
}

}  // namespace bittern::grammar
