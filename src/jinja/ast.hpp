// SPDX-License-Identifier: Apache-2.0
// A parsed template. One struct for all expressions and one for all statements, with the parts
// each kind uses: the evaluator is a switch, and that is easier to read than twenty classes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "jinja/value.hpp"

namespace bittern::jinja {

struct Expr;
using ExprPtr = std::unique_ptr<Expr>;

/// The arguments of a call, a filter or a test, as they are written.
struct CallArguments {
  std::vector<ExprPtr> positional;
  std::vector<std::pair<std::string, ExprPtr>> keywords;
  ExprPtr star, star_star;  ///< *list and **dictionary; null if not given
};

enum class ExprKind : std::uint8_t {
  kConstant,
  kName,
  kList,
  kTuple,
  kDict,       ///< operands: key, value, key, value, ...
  kAttribute,  ///< operands[0].name
  kItem,       ///< operands[0][operands[1]]
  kSlice,      ///< operands[0][operands[1] : operands[2] : operands[3]], each may be null
  kCall,       ///< operands[0](arguments)
  kFilter,     ///< operands[0] | name(arguments); in a filter block operands[0] may be null
  kTest,       ///< operands[0] is name(arguments)
  kNot,
  kNegative,
  kPositive,
  kBinary,   ///< operators[0] of + - * / // % **
  kCompare,  ///< operands joined by operators
  kAnd,
  kOr,
  kConcat,       ///< a ~ b ~ c
  kConditional,  ///< operands[0] if operands[1] else operands[2], which may be null
};

/// One node. Which parts it uses: see ExprKind.
struct Expr {
  ExprKind kind;
  int line;
  int depth = 1;  ///< of the tree below; the parser bounds it
  std::string name = {};
  Value constant = {};
  std::vector<ExprPtr> operands = {};
  std::vector<std::string> operators = {};
  CallArguments arguments = {};
};

struct Stmt;
using Block = std::vector<Stmt>;

/// The target of `set`, `for` and `with`.
struct Target {
  std::string name;    ///< empty: a tuple
  std::string member;  ///< of the namespace `name`; empty: the name itself
  std::vector<Target> parts = {};
};

/// A parameter of a macro.
struct Parameter {
  std::string name;
  ExprPtr default_value;  ///< null: none
};

/// A macro, or the body of a call block, which is one without a name.
struct MacroDefinition {
  std::string name;
  std::vector<Parameter> parameters;
  Block body;
  // Its body names these variables. Only then may a call have arguments for them.
  bool uses_varargs = false, uses_kwargs = false, uses_caller = false;
};

enum class StmtKind : std::uint8_t {
  kData,
  kPrint,        ///< each of expressions
  kIf,           ///< branches; else_body
  kFor,          ///< target in expressions[0], if expressions[1] (may be null); body; else_body
  kSet,          ///< target = expressions[0]
  kSetBlock,     ///< target = body, through the filters expressions[0] (may be null)
  kMacro,        ///< macro
  kCallBlock,    ///< expressions[0], a call, with `macro` as its caller
  kFilterBlock,  ///< body through expressions[0]
  kWith,         ///< targets = expressions; body
  kScope,        ///< body with names of its own ({% generation %}, {% block %})
  kBreak,
  kContinue,
};

/// `if` or `elif` with its body.
struct Branch {
  ExprPtr test;
  Block body;
};

/// One statement. Which parts it uses: see StmtKind.
struct Stmt {
  StmtKind kind;
  int line;
  Value data = {};
  std::vector<ExprPtr> expressions = {};
  std::vector<Branch> branches = {};
  std::vector<Target> targets = {};
  Block body = {}, else_body = {};
  std::unique_ptr<MacroDefinition> macro = {};
};

}  // namespace bittern::jinja
