// SPDX-License-Identifier: Apache-2.0
// The parser's state, shared by the two files that make expressions and statements.
#pragma once

#include <array>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "jinja/ast.hpp"
#include "jinja/lexer.hpp"
#include "jinja/parser.hpp"

namespace bittern::jinja {

class Parser {
 public:
  explicit Parser(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  /// Statements up to a block whose first word is one of `ends`, which is left to read; with no
  /// `ends` up to the end of the template.
  [[nodiscard]] Result<Block> ParseBody(std::initializer_list<std::string_view> ends);

 private:
  static constexpr int kMaxDepth = 200;  // of expressions and of statements in each other

  // parser.cpp
  [[nodiscard]] const Token& Peek(std::size_t ahead = 0) const {
    return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
  }
  const Token& Next() { return tokens_[at_ + 1 < tokens_.size() ? at_++ : at_]; }
  [[nodiscard]] bool IsName(std::string_view name, std::size_t ahead = 0) const {
    return Peek(ahead).kind == TokenKind::kName && Peek(ahead).text == name;
  }
  [[nodiscard]] bool IsOperator(std::string_view op, std::size_t ahead = 0) const {
    return Peek(ahead).kind == TokenKind::kOperator && Peek(ahead).text == op;
  }
  bool SkipName(std::string_view name);
  bool SkipOperator(std::string_view op);
  [[nodiscard]] Error ErrorHere(std::string_view message) const;
  [[nodiscard]] Error Expected(std::string_view what) const;
  Result<void> ExpectOperator(std::string_view op);
  Result<void> Expect(TokenKind kind, std::string_view what);
  Result<std::string> ExpectName();
  Result<void> ExpectWord(std::string_view word);

  // Statements: parser.cpp
  Result<Stmt> ParseStatement();
  Result<Stmt> ParseIf(int line);
  Result<Stmt> ParseFor(int line);
  Result<Stmt> ParseSet(int line);
  Result<Stmt> ParseMacro(int line);
  Result<Stmt> ParseCallBlock(int line);
  Result<Stmt> ParseFilterBlock(int line);
  Result<Stmt> ParseWith(int line);
  Result<Stmt> ParseScope(int line, std::string_view word);
  Result<Stmt> ParsePrint(int line);
  Result<Stmt> ParseLoopControl(int line, std::string_view word);
  /// The body of a block and its end, `{% end %}`.
  Result<Block> ParseBodyUntil(std::string_view end);
  Result<std::vector<Parameter>> ParseParameters();
  Result<Block> ParseMacroBody(MacroDefinition* macro, std::string_view end);
  Result<Target> ParseTarget(bool may_be_member);
  Result<Target> ParseTargetPart();

  // Expressions: parser_expressions.cpp
  Result<ExprPtr> ParseExpression();
  Result<ExprPtr> ParseConditional();
  Result<ExprPtr> ParseOr();
  Result<ExprPtr> ParseAnd();
  Result<ExprPtr> ParseNot();
  Result<ExprPtr> ParseCompare();
  Result<ExprPtr> ParseSum();
  Result<ExprPtr> ParseConcat();
  Result<ExprPtr> ParseProduct();
  Result<ExprPtr> ParsePower();
  Result<ExprPtr> ParseUnary(bool with_filters);
  Result<ExprPtr> ParsePrimary();
  Result<ExprPtr> ParseNumber();
  Result<ExprPtr> ParseListLiteral();
  Result<ExprPtr> ParseDictLiteral();
  Result<ExprPtr> ParsePostfix(ExprPtr node);
  Result<ExprPtr> ParseFilters(ExprPtr node);
  Result<ExprPtr> ParseOneFilter(ExprPtr node);
  Result<ExprPtr> ParseTest(ExprPtr node);
  Result<ExprPtr> ParseSubscript(ExprPtr node);
  Result<ExprPtr> ParseCall(ExprPtr node);
  Result<CallArguments> ParseArguments();
  /// An expression, or several with commas, which are a tuple.
  Result<ExprPtr> ParseTuple(bool may_be_conditional, bool may_be_empty = false);
  /// Operands joined by any of `operators`, grouped from the left.
  using Level = Result<ExprPtr> (Parser::*)();
  Result<ExprPtr> ParseLeft(Level operand, std::span<const std::string_view> operators);

  [[nodiscard]] ExprPtr Make(ExprKind kind, int line) const;
  /// Sets the node's depth. Error kUnsupported where it is too deep.
  Result<ExprPtr> Finish(ExprPtr node) const;

  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  int depth_ = 0;
  int loops_ = 0;                         // around the current place, in this macro
  std::vector<MacroDefinition*> macros_;  // around the current place
};

}  // namespace bittern::jinja
