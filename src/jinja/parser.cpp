// SPDX-License-Identifier: Apache-2.0
// Statements. Depth is bounded here, so that neither the evaluator's recursion nor the tree's
// destruction can overflow the stack.
#include "jinja/parser.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "jinja/parser_state.hpp"

namespace bittern::jinja {

bool Parser::SkipName(std::string_view name) {
  if (!IsName(name)) return false;
  Next();
  return true;
}

bool Parser::SkipOperator(std::string_view op) {
  if (!IsOperator(op)) return false;
  Next();
  return true;
}

Error Parser::ErrorHere(std::string_view message) const {
  return ErrorInLine(Peek().line, ErrorCode::kCorruptFile, message);
}

/// "X expected, Y found" in the line of the next token.
Error Parser::Expected(std::string_view what) const {
  const Token& token = Peek();
  const bool at_end = token.kind == TokenKind::kEnd;
  return ErrorHere(fmt::format("{} expected, {} found", what,
                               at_end ? "the end of the template" : "\"" + token.text + "\""));
}

Result<void> Parser::ExpectOperator(std::string_view op) {
  if (SkipOperator(op)) return {};
  return tl::unexpected(Expected(fmt::format("\"{}\"", op)));
}

Result<void> Parser::Expect(TokenKind kind, std::string_view what) {
  if (Peek().kind != kind) return tl::unexpected(Expected(fmt::format("\"{}\"", what)));
  Next();
  return {};
}

Result<std::string> Parser::ExpectName() {
  if (Peek().kind != TokenKind::kName) return tl::unexpected(Expected("a name"));
  return Next().text;
}

Result<void> Parser::ExpectWord(std::string_view word) {
  if (SkipName(word)) return {};
  return tl::unexpected(Expected(fmt::format("\"{}\"", word)));
}

Result<Block> Parser::ParseBody(std::initializer_list<std::string_view> ends) {
  Block body;
  for (;;) {
    const int line = Peek().line;
    switch (Peek().kind) {
      case TokenKind::kData:
        body.push_back({.kind = StmtKind::kData, .line = line, .data = Value::String(Next().text)});
        break;
      case TokenKind::kPrintBegin: {
        Next();
        Stmt print{.kind = StmtKind::kPrint, .line = line};
        print.expressions.push_back(BITTERN_TRY(ParseTuple(true)));
        BITTERN_TRY(Expect(TokenKind::kPrintEnd, "}}"));
        body.push_back(std::move(print));
        break;
      }
      case TokenKind::kBlockBegin: {
        Next();
        if (std::ranges::any_of(ends, [&](std::string_view end) { return IsName(end); }))
          return body;
        auto statement = BITTERN_TRY(ParseStatement());
        body.push_back(std::move(statement));
        BITTERN_TRY(Expect(TokenKind::kBlockEnd, "%}"));
        break;
      }
      default:
        if (ends.size() == 0) return body;
        return tl::unexpected(Expected(fmt::format("\"{{% {} %}}\"", *(ends.end() - 1))));
    }
  }
}

/// Begins before the "%}" of the opening tag. Jinja lets a colon stand there.
Result<Block> Parser::ParseBodyUntil(std::string_view end) {
  SkipOperator(":");
  BITTERN_TRY(Expect(TokenKind::kBlockEnd, "%}"));
  Block body = BITTERN_TRY(ParseBody({end}));
  Next();
  return body;
}

/// Reads a tag from its first word on, without its "%}".
Result<Stmt> Parser::ParseStatement() {
  const int line = Peek().line;
  if (depth_ >= kMaxDepth) {
    return tl::unexpected(
        ErrorInLine(line, ErrorCode::kUnsupported, "blocks are nested too deeply"));
  }
  const std::string word = BITTERN_TRY(ExpectName());
  using Parse = Result<Stmt> (Parser::*)(int);
  struct Row {
    std::string_view word;
    Parse parse;
  };
  constexpr Row kRows[] = {{"if", &Parser::ParseIf},          {"for", &Parser::ParseFor},
                           {"set", &Parser::ParseSet},        {"macro", &Parser::ParseMacro},
                           {"call", &Parser::ParseCallBlock}, {"filter", &Parser::ParseFilterBlock},
                           {"with", &Parser::ParseWith},      {"print", &Parser::ParsePrint}};
  ++depth_;
  const auto leave = [&](Result<Stmt> result) {
    --depth_;
    return result;
  };
  for (const Row& row : kRows) {
    if (row.word == word) return leave((this->*row.parse)(line));
  }
  if (word == "generation" || word == "block") return leave(ParseScope(line, word));
  if (word == "break" || word == "continue") return leave(ParseLoopControl(line, word));
  constexpr std::string_view kRefused[] = {"include", "import", "from", "extends", "autoescape"};
  if (std::ranges::find(kRefused, word) != std::end(kRefused)) {
    return tl::unexpected(ErrorInLine(line, ErrorCode::kUnsupported,
                                      fmt::format("{{% {} %}} is not supported", word)));
  }
  return tl::unexpected(
      ErrorInLine(line, ErrorCode::kCorruptFile, fmt::format("unknown tag {{% {} %}}", word)));
}

/// {% if a %}..{% elif b %}..{% else %}..{% endif %}
Result<Stmt> Parser::ParseIf(int line) {
  Stmt result{.kind = StmtKind::kIf, .line = line};
  for (;;) {
    Branch branch;
    branch.test = BITTERN_TRY(ParseTuple(false));
    SkipOperator(":");
    BITTERN_TRY(Expect(TokenKind::kBlockEnd, "%}"));
    branch.body = BITTERN_TRY(ParseBody({"elif", "else", "endif"}));
    result.branches.push_back(std::move(branch));
    const std::string word = Next().text;
    if (word == "elif") continue;
    if (word == "else") {
      result.else_body = BITTERN_TRY(ParseBodyUntil("endif"));
    }
    return result;
  }
}

/// {% for x in list if test %}..{% else %}..{% endfor %}. `else` is outside of the loop: a break in
/// it belongs to the loop around.
Result<Stmt> Parser::ParseFor(int line) {
  Stmt result{.kind = StmtKind::kFor, .line = line};
  result.targets.push_back(BITTERN_TRY(ParseTarget(false)));
  BITTERN_TRY(ExpectWord("in"));
  result.expressions.push_back(BITTERN_TRY(ParseTuple(false)));
  result.expressions.push_back(nullptr);
  if (SkipName("if")) {
    result.expressions[1] = BITTERN_TRY(ParseExpression());
  }
  if (IsName("recursive")) {
    return tl::unexpected(
        ErrorInLine(line, ErrorCode::kUnsupported, "recursive loops are not supported"));
  }
  SkipOperator(":");
  BITTERN_TRY(Expect(TokenKind::kBlockEnd, "%}"));
  ++loops_;
  auto body = ParseBody({"endfor", "else"});
  --loops_;
  if (!body.has_value()) return tl::unexpected(std::move(body).error());
  result.body = *std::move(body);
  if (Next().text == "else") {
    result.else_body = BITTERN_TRY(ParseBodyUntil("endfor"));
  }
  return result;
}

/// {% set a, b = 1, 2 %}, {% set ns.x = 1 %}, or a block: {% set x | filter %}..{% endset %}
Result<Stmt> Parser::ParseSet(int line) {
  Stmt result{.kind = StmtKind::kSet, .line = line};
  result.targets.push_back(BITTERN_TRY(ParseTarget(true)));
  if (SkipOperator("=")) {
    result.expressions.push_back(BITTERN_TRY(ParseTuple(true)));
    return result;
  }
  result.kind = StmtKind::kSetBlock;
  ExprPtr filters;
  while (SkipOperator("|")) {
    filters = BITTERN_TRY(ParseOneFilter(std::move(filters)));
  }
  result.expressions.push_back(std::move(filters));
  result.body = BITTERN_TRY(ParseBodyUntil("endset"));
  return result;
}

/// (a, b=1): as in Python, no parameter without a default follows one with a default.
Result<std::vector<Parameter>> Parser::ParseParameters() {
  std::vector<Parameter> parameters;
  BITTERN_TRY(ExpectOperator("("));
  while (!IsOperator(")")) {
    if (!parameters.empty()) BITTERN_TRY(ExpectOperator(","));
    Parameter parameter;
    parameter.name = BITTERN_TRY(ExpectName());
    if (std::ranges::find(parameters, parameter.name, &Parameter::name) != parameters.end()) {
      return tl::unexpected(ErrorHere("two parameters have the same name"));
    }
    if (SkipOperator("=")) {
      parameter.default_value = BITTERN_TRY(ParseExpression());
    } else if (!parameters.empty() && parameters.back().default_value != nullptr) {
      return tl::unexpected(ErrorHere("a parameter without default follows one with a default"));
    }
    parameters.push_back(std::move(parameter));
  }
  Next();
  return parameters;
}

/// Expressions in the body note in `macro` whether they name varargs, kwargs or caller. A break in
/// the body does not reach a loop around the macro.
Result<Block> Parser::ParseMacroBody(MacroDefinition* macro, std::string_view end) {
  macros_.push_back(macro);
  const int loops = std::exchange(loops_, 0);
  auto body = ParseBodyUntil(end);
  loops_ = loops;
  macros_.pop_back();
  return body;
}

/// {% macro name(a, b=1) %}..{% endmacro %}
Result<Stmt> Parser::ParseMacro(int line) {
  Stmt result{.kind = StmtKind::kMacro, .line = line};
  result.macro = std::make_unique<MacroDefinition>();
  result.macro->name = BITTERN_TRY(ExpectName());
  result.macro->parameters = BITTERN_TRY(ParseParameters());
  result.macro->body = BITTERN_TRY(ParseMacroBody(result.macro.get(), "endmacro"));
  return result;
}

/// {% call(item) macro(args) %}..{% endcall %}: the parameters in front are those of caller().
Result<Stmt> Parser::ParseCallBlock(int line) {
  Stmt result{.kind = StmtKind::kCallBlock, .line = line};
  result.macro = std::make_unique<MacroDefinition>();
  result.macro->name = "caller";
  if (IsOperator("(")) {
    result.macro->parameters = BITTERN_TRY(ParseParameters());
  }
  result.expressions.push_back(BITTERN_TRY(ParseExpression()));
  if (result.expressions[0]->kind != ExprKind::kCall) {
    return tl::unexpected(ErrorInLine(line, ErrorCode::kCorruptFile, "{% call %} needs a call"));
  }
  result.macro->body = BITTERN_TRY(ParseMacroBody(result.macro.get(), "endcall"));
  return result;
}

/// {% filter upper | trim %}..{% endfilter %}
Result<Stmt> Parser::ParseFilterBlock(int line) {
  Stmt result{.kind = StmtKind::kFilterBlock, .line = line};
  ExprPtr filters = BITTERN_TRY(ParseOneFilter(nullptr));
  while (SkipOperator("|")) {
    filters = BITTERN_TRY(ParseOneFilter(std::move(filters)));
  }
  result.expressions.push_back(std::move(filters));
  result.body = BITTERN_TRY(ParseBodyUntil("endfilter"));
  return result;
}

/// {% with a = 1, b = 2 %}..{% endwith %}
Result<Stmt> Parser::ParseWith(int line) {
  Stmt result{.kind = StmtKind::kWith, .line = line};
  while (Peek().kind != TokenKind::kBlockEnd) {
    if (!result.targets.empty()) BITTERN_TRY(ExpectOperator(","));
    result.targets.push_back(BITTERN_TRY(ParseTargetPart()));
    BITTERN_TRY(ExpectOperator("="));
    result.expressions.push_back(BITTERN_TRY(ParseExpression()));
  }
  result.body = BITTERN_TRY(ParseBodyUntil("endwith"));
  return result;
}

/// {% generation %} marks a model's answer for transformers' training masks; {% block name %} names
/// a part for child templates. Here both only print their body.
Result<Stmt> Parser::ParseScope(int line, std::string_view word) {
  Stmt result{.kind = StmtKind::kScope, .line = line};
  std::string name;
  if (word == "block") {
    name = BITTERN_TRY(ExpectName());
    SkipName("scoped");
    SkipName("required");
  }
  const int loops = std::exchange(loops_, 0);
  auto body = ParseBodyUntil(word == "block" ? "endblock" : "endgeneration");
  loops_ = loops;
  if (!body.has_value()) return tl::unexpected(std::move(body).error());
  if (!name.empty()) SkipName(name);
  result.body = *std::move(body);
  return result;
}

/// {% print a, b %}
Result<Stmt> Parser::ParsePrint(int line) {
  Stmt result{.kind = StmtKind::kPrint, .line = line};
  while (Peek().kind != TokenKind::kBlockEnd) {
    if (!result.expressions.empty()) BITTERN_TRY(ExpectOperator(","));
    result.expressions.push_back(BITTERN_TRY(ParseExpression()));
  }
  return result;
}

/// {% break %}, {% continue %}, of Jinja's loopcontrols, which transformers turns on.
Result<Stmt> Parser::ParseLoopControl(int line, std::string_view word) {
  if (loops_ == 0) {
    return tl::unexpected(ErrorInLine(line, ErrorCode::kCorruptFile,
                                      fmt::format("{{% {} %}} outside of a loop", word)));
  }
  return Stmt{.kind = word == "break" ? StmtKind::kBreak : StmtKind::kContinue, .line = line};
}

/// A name, or a tuple in parentheses.
Result<Target> Parser::ParseTargetPart() {
  if (SkipOperator("(")) {
    if (depth_ >= kMaxDepth) return tl::unexpected(ErrorHere("parentheses nested too deeply"));
    ++depth_;
    auto inner = ParseTarget(false);
    --depth_;
    if (!inner.has_value()) return inner;
    BITTERN_TRY(ExpectOperator(")"));
    return inner;
  }
  constexpr std::string_view kConstants[] = {"true", "false", "none", "True", "False", "None"};
  if (std::ranges::any_of(kConstants, [&](std::string_view name) { return IsName(name); })) {
    return tl::unexpected(ErrorHere(fmt::format("cannot assign to \"{}\"", Peek().text)));
  }
  Target target;
  target.name = BITTERN_TRY(ExpectName());
  return target;
}

/// a; a, b; (a, b), c; and with `may_be_member` ns.x. A comma may come last.
Result<Target> Parser::ParseTarget(bool may_be_member) {
  if (may_be_member && IsOperator(".", 1)) {
    Target target;
    target.name = BITTERN_TRY(ExpectName());
    Next();
    target.member = BITTERN_TRY(ExpectName());
    return target;
  }
  Target first = BITTERN_TRY(ParseTargetPart());
  if (!IsOperator(",")) return first;
  Target tuple;
  tuple.parts.push_back(std::move(first));
  while (SkipOperator(",")) {
    if (Peek().kind != TokenKind::kName && !IsOperator("(")) break;
    if (IsName("in")) break;
    tuple.parts.push_back(BITTERN_TRY(ParseTargetPart()));
  }
  return tuple;
}

Result<Block> Parse(std::string_view source) {
  std::vector<Token> tokens = BITTERN_TRY(Tokenize(source));
  Parser parser(std::move(tokens));
  return parser.ParseBody({});
}

}  // namespace bittern::jinja
