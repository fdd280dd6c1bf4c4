// SPDX-License-Identifier: Apache-2.0
// Function calls as models write them, and the grammar of answers that hold some: the arguments
// of each call are valid under the schema of its function.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "grammar/automaton/grammar.hpp"

namespace bittern::grammar {

/// One written form. A call is {"name": "NAME", "<arguments_key>": ARGUMENTS}.
struct ToolForm {
  std::string_view name;
  std::string_view trigger;    ///< begins the first call; other text never holds it. Its first
                               ///< character occurs once. Empty: an answer that begins with "{"
  std::string_view open;       ///< between the trigger and the first call
  std::string_view separator;  ///< between two calls; empty: there is one call at most
  std::string_view close;      ///< after the last call
  std::string_view arguments_key;
};

/// "hermes": <tool_call>\n{...}\n</tool_call>, one after the other. "mistral":
/// [TOOL_CALLS][{...}, {...}]. "llama3": {...} with "parameters", alone.
[[nodiscard]] const ToolForm* FindToolForm(std::string_view name) noexcept;

/// A function that a program may call.
struct Tool {
  std::string name;        ///< letters, digits, "_", "-", "."
  std::string parameters;  ///< a JSON schema of an object
};

/// The form of an answer.
struct ToolAnswer {
  std::string form = "hermes";
  bool free = false;       ///< other text may come first, and calls may be missing
  bool triggered = false;  ///< the prompt ends with the trigger
  bool parallel = true;    ///< more than one call, where the form has a separator
  std::vector<Tool> tools = {};
  /// The schema of an answer without calls, if not empty. Calls stand alone then.
  std::string schema = {};
};

/// As the text of a constraint kToolCalls, one line of JSON, and back.
[[nodiscard]] std::string ToolAnswerText(const ToolAnswer& answer);
[[nodiscard]] Result<ToolAnswer> ParseToolAnswer(std::string_view text);

/// Errors kInvalidArgument: those of ParseJsonSchema with the name of the function, a form that is
/// not known, no function.
[[nodiscard]] Result<Grammar> ToolCallGrammar(const ToolAnswer& answer);

}  // namespace bittern::grammar
