// SPDX-License-Identifier: Apache-2.0
// One grammar for all forms of calls: the form gives the words around a call, the schemas give
// its arguments.
#include "grammar/tool_calls.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/json/json.hpp"
#include "grammar/notation/json_text.hpp"
#include "grammar/schema/json_schema.hpp"

namespace bittern::grammar {
namespace {

/// Name, trigger, what opens, separates and closes calls, key of the arguments (ToolForm).
constexpr ToolForm kForms[] = {
    {"hermes", "<tool_call>", "\n", "\n</tool_call>\n<tool_call>\n", "\n</tool_call>", "arguments"},
    {"mistral", "[TOOL_CALLS]", "[", ", ", "]", "arguments"},
    {"llama3", "", "", "", "", "parameters"},
};

ExprId AnyText(Grammar* grammar) {
  return grammar->Repeat(grammar->Class({{0, kLastChar}}), 0, kUnbounded);
}

/// All characters but some.
ExprId NoneOf(std::string_view ascii, Grammar* grammar) {
  CharClass ranges;
  for (const char c : ascii) {
    const auto point = static_cast<char32_t>(static_cast<unsigned char>(c));
    ranges.push_back({point, point});
  }
  return grammar->Class(Complement(Normalised(std::move(ranges))));
}

/// Texts that do not hold `trigger`. Its first character occurs once, so a beginning of it that
/// breaks off is followed by its first character again, or by one that does not go on.
ExprId TextWithout(std::string_view trigger, Grammar* grammar) {
  std::vector<ExprId> partial, block;
  const std::string_view first = trigger.substr(0, 1);
  for (std::size_t size = 1; size < trigger.size(); ++size) {
    const ExprId front = grammar->Bytes(trigger.substr(0, size));
    partial.push_back(front);
    const std::string next = {first[0], trigger[size]};
    block.push_back(grammar->Sequence({front, NoneOf(next, grammar)}));
  }
  const ExprId fronts = grammar->Repeat(grammar->Choice(std::move(partial)), 0, kUnbounded);
  const ExprId broken = grammar->Sequence({fronts, grammar->Choice(std::move(block))});
  const ExprId piece = grammar->Choice({NoneOf(first, grammar), broken});
  return grammar->Sequence({grammar->Repeat(piece, 0, kUnbounded), fronts});
}

/// {"name": NAME, "arguments": ...} with arguments that obey the tool's schema.
Result<ExprId> OneCall(const Tool& tool, const ToolForm& form, Grammar* grammar) {
  const auto arguments = ParseJsonSchema(tool.parameters);
  if (!arguments.has_value()) return tl::unexpected(Within(tool.name, arguments.error()));
  const ExprId head =
      grammar->Bytes(fmt::format(R"({{"name": "{}", "{}": )", tool.name, form.arguments_key));
  return grammar->Sequence({head, grammar->Embed(*arguments), grammar->Bytes("}")});
}

bool IsTrue(const Json& json, std::string_view key) {
  const Json* value = json.Find(key);
  return value != nullptr && value->AsBool() == true;
}

std::string TextOf(const Json& json, std::string_view key) {
  const Json* value = json.Find(key);
  return value == nullptr || value->AsString() == nullptr ? std::string() : *value->AsString();
}

/// Names stand in the grammar as they are, so no character may need an escape in JSON.
bool IsName(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  });
}

}  // namespace

const ToolForm* FindToolForm(std::string_view name) noexcept {
  const auto* const found = std::ranges::find(kForms, name, &ToolForm::name);
  return found == std::end(kForms) ? nullptr : found;
}

std::string ToolAnswerText(const ToolAnswer& answer) {
  std::string tools;
  for (const Tool& tool : answer.tools) {
    tools += fmt::format(R"({}{{"name": {}, "parameters": {}}})", tools.empty() ? "" : ", ",
                         QuotedJson(tool.name), tool.parameters);
  }
  const std::string schema =
      answer.schema.empty() ? "" : fmt::format(R"(, "schema": {})", answer.schema);
  return fmt::format(
      R"({{"form": {}, "free": {}, "triggered": {}, "parallel": {}, "tools": [{}]{}}})",
      QuotedJson(answer.form), answer.free, answer.triggered, answer.parallel, tools, schema);
}

Result<ToolAnswer> ParseToolAnswer(std::string_view text) {
  const Json json = BITTERN_TRY(Json::Parse(text, {.max_depth = 200}));
  ToolAnswer answer{.form = TextOf(json, "form"),
                    .free = IsTrue(json, "free"),
                    .triggered = IsTrue(json, "triggered"),
                    .parallel = IsTrue(json, "parallel")};
  const Json* tools = json.Find("tools");
  if (tools != nullptr && tools->AsArray() != nullptr) {
    for (const Json& tool : *tools->AsArray()) {
      const Json* parameters = tool.Find("parameters");
      answer.tools.push_back({TextOf(tool, "name"), parameters ? JsonText(*parameters) : "{}"});
    }
  }
  if (const Json* schema = json.Find("schema")) answer.schema = JsonText(*schema);
  return answer;
}

/// A form without a trigger is told by its first character: text beside calls does not begin
/// with "{".
Result<Grammar> ToolCallGrammar(const ToolAnswer& answer) {
  const ToolForm* form = FindToolForm(answer.form);
  if (form == nullptr) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("\"{}\" is no form of calls that is known", answer.form));
  }
  Grammar grammar;
  const RuleId root = grammar.AddRule("root"), call = grammar.AddRule("call");
  std::vector<ExprId> calls;
  for (const Tool& tool : answer.tools) {
    if (!IsName(tool.name)) {
      return Fail(ErrorCode::kInvalidArgument,
                  "the name of a function may have letters, digits, \"_\", \"-\" and \".\"");
    }
    calls.push_back(BITTERN_TRY(OneCall(tool, *form, &grammar)));
  }
  if (calls.empty()) return Fail(ErrorCode::kInvalidArgument, "no function may be called");
  grammar.Define(call, grammar.Choice(std::move(calls)));
  ExprId more = grammar.Empty();
  if (answer.parallel && !form->separator.empty()) {
    more = grammar.Repeat(grammar.Sequence({grammar.Bytes(form->separator), grammar.Call(call)}), 0,
                          kUnbounded);
  }
  const ExprId trigger = answer.triggered ? grammar.Empty() : grammar.Bytes(form->trigger);
  const ExprId answer_calls = grammar.Sequence(
      {trigger, grammar.Bytes(form->open), grammar.Call(call), more, grammar.Bytes(form->close)});
  if (!answer.schema.empty()) {
    const Grammar text = BITTERN_TRY(ParseJsonSchema(answer.schema));
    grammar.Define(root, grammar.Choice({grammar.Embed(text), answer_calls}));
  } else if (!answer.free) {
    grammar.Define(root, answer_calls);
  } else if (form->trigger.empty()) {
    const ExprId text = grammar.Sequence({NoneOf("{", &grammar), AnyText(&grammar)});
    grammar.Define(root, grammar.Choice({grammar.Empty(), text, answer_calls}));
  } else {
    const ExprId text = TextWithout(form->trigger, &grammar);
    grammar.Define(root, grammar.Sequence({text, grammar.Optional(answer_calls)}));
  }
  return grammar;
}

}  // namespace bittern::grammar
