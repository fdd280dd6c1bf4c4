// SPDX-License-Identifier: Apache-2.0
// Expressions, one function a level, loosest first. Filters and tests bind tighter than any
// operator but the sign: `-1 | abs` is -(1) | abs, `a + b | c` is a + (b | c).
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "jinja/parser_state.hpp"

namespace bittern::jinja {

ExprPtr Parser::Make(ExprKind kind, int line) const {
  return std::make_unique<Expr>(Expr{.kind = kind, .line = line});
}

Result<ExprPtr> Parser::Finish(ExprPtr node) const {
  int below = 0;
  const auto look = [&](const ExprPtr& part) {
    if (part != nullptr) below = std::max(below, part->depth);
  };
  std::ranges::for_each(node->operands, look);
  std::ranges::for_each(node->arguments.positional, look);
  for (const auto& [name, value] : node->arguments.keywords) look(value);
  look(node->arguments.star);
  look(node->arguments.star_star);
  node->depth = below + 1;
  if (node->depth <= kMaxDepth) return node;
  return tl::unexpected(ErrorInLine(node->line, ErrorCode::kUnsupported,
                                    fmt::format("expression nested deeper than {}", kMaxDepth)));
}

Result<ExprPtr> Parser::ParseExpression() { return ParseConditional(); }

/// a if b else c. All brackets come back to this level, so the recursion is bounded here.
Result<ExprPtr> Parser::ParseConditional() {
  if (depth_ >= kMaxDepth) {
    return tl::unexpected(ErrorInLine(Peek().line, ErrorCode::kUnsupported,
                                      fmt::format("expression nested deeper than {}", kMaxDepth)));
  }
  ++depth_;
  const auto parse = [&]() -> Result<ExprPtr> {
    ExprPtr value = BITTERN_TRY(ParseOr());
    while (IsName("if")) {
      ExprPtr node = Make(ExprKind::kConditional, Next().line);
      node->operands.push_back(std::move(value));
      node->operands.push_back(BITTERN_TRY(ParseOr()));
      ExprPtr otherwise;
      if (SkipName("else")) {
        otherwise = BITTERN_TRY(ParseConditional());
      }
      node->operands.push_back(std::move(otherwise));
      value = BITTERN_TRY(Finish(std::move(node)));
    }
    return value;
  };
  Result<ExprPtr> result = parse();
  --depth_;
  return result;
}

/// a or b or c: one node with all operands.
Result<ExprPtr> Parser::ParseOr() {
  ExprPtr left = BITTERN_TRY(ParseAnd());
  if (!IsName("or")) return left;
  ExprPtr node = Make(ExprKind::kOr, Peek().line);
  node->operands.push_back(std::move(left));
  while (SkipName("or")) node->operands.push_back(BITTERN_TRY(ParseAnd()));
  return Finish(std::move(node));
}

/// a and b and c: one node with all operands.
Result<ExprPtr> Parser::ParseAnd() {
  ExprPtr left = BITTERN_TRY(ParseNot());
  if (!IsName("and")) return left;
  ExprPtr node = Make(ExprKind::kAnd, Peek().line);
  node->operands.push_back(std::move(left));
  while (SkipName("and")) node->operands.push_back(BITTERN_TRY(ParseNot()));
  return Finish(std::move(node));
}

/// not not a. The words are counted first, since a function that calls itself for each of them
/// could overflow the stack.
Result<ExprPtr> Parser::ParseNot() {
  std::vector<int> lines;
  while (IsName("not")) lines.push_back(Next().line);
  ExprPtr node = BITTERN_TRY(ParseCompare());
  for (; !lines.empty(); lines.pop_back()) {
    ExprPtr outer = Make(ExprKind::kNot, lines.back());
    outer->operands.push_back(std::move(node));
    node = BITTERN_TRY(Finish(std::move(outer)));
  }
  return node;
}

/// a < b == c not in d: one node with all operands and operators.
Result<ExprPtr> Parser::ParseCompare() {
  ExprPtr first = BITTERN_TRY(ParseSum());
  ExprPtr node = Make(ExprKind::kCompare, Peek().line);
  node->operands.push_back(std::move(first));
  constexpr std::string_view kOperators[] = {"==", "!=", "<", "<=", ">", ">="};
  for (;;) {
    std::string op;
    for (const std::string_view each : kOperators) {
      if (IsOperator(each)) op = each;
    }
    if (IsName("in")) op = "in";
    if (IsName("not") && IsName("in", 1)) {
      Next();
      op = "not in";
    }
    if (op.empty()) break;
    Next();
    node->operators.push_back(op);
    node->operands.push_back(BITTERN_TRY(ParseSum()));
  }
  if (node->operators.empty()) return std::move(node->operands[0]);
  return Finish(std::move(node));
}

Result<ExprPtr> Parser::ParseLeft(Level operand, std::span<const std::string_view> operators) {
  ExprPtr left = BITTERN_TRY((this->*operand)());
  for (;;) {
    const auto op = std::ranges::find_if(operators, [&](auto each) { return IsOperator(each); });
    if (op == operators.end()) return left;
    ExprPtr node = Make(ExprKind::kBinary, Next().line);
    node->operators.emplace_back(*op);
    node->operands.push_back(std::move(left));
    node->operands.push_back(BITTERN_TRY((this->*operand)()));
    left = BITTERN_TRY(Finish(std::move(node)));
  }
}

Result<ExprPtr> Parser::ParseSum() {
  constexpr std::string_view kOperators[] = {"+", "-"};
  return ParseLeft(&Parser::ParseConcat, kOperators);
}

/// a ~ b ~ c. Jinja lets `~` bind tighter than + and looser than *.
Result<ExprPtr> Parser::ParseConcat() {
  ExprPtr first = BITTERN_TRY(ParseProduct());
  if (!IsOperator("~")) return first;
  ExprPtr node = Make(ExprKind::kConcat, Peek().line);
  node->operands.push_back(std::move(first));
  while (SkipOperator("~")) node->operands.push_back(BITTERN_TRY(ParseProduct()));
  return Finish(std::move(node));
}

Result<ExprPtr> Parser::ParseProduct() {
  constexpr std::string_view kOperators[] = {"*", "/", "//", "%"};
  return ParseLeft(&Parser::ParsePower, kOperators);
}

/// a ** b ** c is (a ** b) ** c, as in Jinja; Python groups from the right.
Result<ExprPtr> Parser::ParsePower() {
  constexpr std::string_view kOperators[] = {"**"};
  const auto unary = [](Parser* parser) { return parser->ParseUnary(true); };
  ExprPtr left = BITTERN_TRY(unary(this));
  while (IsOperator(kOperators[0])) {
    ExprPtr node = Make(ExprKind::kBinary, Next().line);
    node->operators.emplace_back(kOperators[0]);
    node->operands.push_back(std::move(left));
    node->operands.push_back(BITTERN_TRY(unary(this)));
    left = BITTERN_TRY(Finish(std::move(node)));
  }
  return left;
}

/// -a.b[c](d) | filter. The signs are gathered first, for the reason of ParseNot.
Result<ExprPtr> Parser::ParseUnary(bool with_filters) {
  std::vector<Token> signs;
  while (IsOperator("-") || IsOperator("+")) signs.push_back(Next());
  ExprPtr node = BITTERN_TRY(ParsePrimary());
  node = BITTERN_TRY(ParsePostfix(std::move(node)));
  for (; !signs.empty(); signs.pop_back()) {
    const bool negative = signs.back().text == "-";
    ExprPtr outer = Make(negative ? ExprKind::kNegative : ExprKind::kPositive, signs.back().line);
    outer->operands.push_back(std::move(node));
    node = BITTERN_TRY(Finish(std::move(outer)));
  }
  return with_filters ? ParseFilters(std::move(node)) : Result<ExprPtr>(std::move(node));
}

/// A number beyond 64 bits is an error here, before the template runs.
Result<ExprPtr> Parser::ParseNumber() {
  const Token& token = Next();
  ExprPtr node = Make(ExprKind::kConstant, token.line);
  std::string_view digits = token.text;
  if (token.kind == TokenKind::kFloat) {
    double value = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), value);
    node->constant = Value::Float(value);
    return node;
  }
  int base = 10;
  if (digits.size() > 1 && digits[0] == '0' && (digits[1] | 0x20) > '9') {
    base = (digits[1] | 0x20) == 'x' ? 16 : (digits[1] | 0x20) == 'o' ? 8 : 2;
    digits.remove_prefix(2);
  }
  std::int64_t value = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  if (read.ec != std::errc() || read.ptr != digits.data() + digits.size()) {
    return tl::unexpected(ErrorInLine(token.line, ErrorCode::kCorruptFile,
                                      fmt::format("no number of 64 bits: {}", token.text)));
  }
  node->constant = Value::Int(value);
  return node;
}

/// A constant, name, or anything in brackets. Strings side by side are one, as in Python.
Result<ExprPtr> Parser::ParsePrimary() {
  const Token& token = Peek();
  if (token.kind == TokenKind::kInteger || token.kind == TokenKind::kFloat) return ParseNumber();
  if (token.kind == TokenKind::kString) {
    ExprPtr node = Make(ExprKind::kConstant, token.line);
    std::string text;
    while (Peek().kind == TokenKind::kString) text += Next().text;
    node->constant = Value::String(std::move(text));
    return node;
  }
  if (token.kind == TokenKind::kName) {
    Next();
    ExprPtr node = Make(ExprKind::kConstant, token.line);
    const std::string& name = token.text;
    if (name == "true" || name == "True" || name == "false" || name == "False") {
      node->constant = Value::Bool(name == "true" || name == "True");
      return node;
    }
    node->constant = Value::Null();
    if (name == "none" || name == "None") return node;
    node->kind = ExprKind::kName;
    node->name = name;
    // A name inside of several macros counts for all of them.
    for (MacroDefinition* macro : macros_) {
      macro->uses_varargs |= name == "varargs";
      macro->uses_kwargs |= name == "kwargs";
      macro->uses_caller |= name == "caller";
    }
    return node;
  }
  if (SkipOperator("(")) {
    ExprPtr node = BITTERN_TRY(ParseTuple(true, /*may_be_empty=*/true));
    BITTERN_TRY(ExpectOperator(")"));
    return node;
  }
  if (IsOperator("[")) return ParseListLiteral();
  if (IsOperator("{")) return ParseDictLiteral();
  return tl::unexpected(Expected("an expression"));
}

/// "a" alone is itself, "a," a tuple of one, "" in parentheses a tuple of none.
Result<ExprPtr> Parser::ParseTuple(bool may_be_conditional, bool may_be_empty) {
  const int line = Peek().line;
  const auto at_end = [&] {
    const TokenKind kind = Peek().kind;
    return kind == TokenKind::kPrintEnd || kind == TokenKind::kBlockEnd || IsOperator(")");
  };
  ExprPtr node = Make(ExprKind::kTuple, line);
  bool is_tuple = false;
  while (!at_end()) {
    node->operands.push_back(BITTERN_TRY(may_be_conditional ? ParseExpression() : ParseOr()));
    if (!SkipOperator(",")) break;
    is_tuple = true;
  }
  if (!is_tuple && node->operands.size() == 1) return std::move(node->operands[0]);
  if (!is_tuple && !may_be_empty) return tl::unexpected(Expected("an expression"));
  return Finish(std::move(node));
}

/// [a, b]: a comma may come last.
Result<ExprPtr> Parser::ParseListLiteral() {
  ExprPtr node = Make(ExprKind::kList, Next().line);
  while (!IsOperator("]")) {
    if (!node->operands.empty()) BITTERN_TRY(ExpectOperator(","));
    if (IsOperator("]")) break;
    node->operands.push_back(BITTERN_TRY(ParseExpression()));
  }
  Next();
  return Finish(std::move(node));
}

/// {a: b, c: d}: a comma may come last.
Result<ExprPtr> Parser::ParseDictLiteral() {
  ExprPtr node = Make(ExprKind::kDict, Next().line);
  while (!IsOperator("}")) {
    if (!node->operands.empty()) BITTERN_TRY(ExpectOperator(","));
    if (IsOperator("}")) break;
    node->operands.push_back(BITTERN_TRY(ParseExpression()));
    BITTERN_TRY(ExpectOperator(":"));
    node->operands.push_back(BITTERN_TRY(ParseExpression()));
  }
  Next();
  return Finish(std::move(node));
}

/// node.name, node[key], node(arguments), any number of them.
Result<ExprPtr> Parser::ParsePostfix(ExprPtr node) {
  for (;;) {
    if (IsOperator(".") || IsOperator("[")) {
      node = BITTERN_TRY(ParseSubscript(std::move(node)));
    } else if (IsOperator("(")) {
      node = BITTERN_TRY(ParseCall(std::move(node)));
    } else {
      return node;
    }
  }
}

/// node | filter, node is test, and calls of what those give.
Result<ExprPtr> Parser::ParseFilters(ExprPtr node) {
  for (;;) {
    if (SkipOperator("|")) {
      node = BITTERN_TRY(ParseOneFilter(std::move(node)));
    } else if (IsName("is")) {
      node = BITTERN_TRY(ParseTest(std::move(node)));
    } else if (IsOperator("(")) {
      node = BITTERN_TRY(ParseCall(std::move(node)));
    } else {
      return node;
    }
  }
}

/// name or name(arguments), behind the bar. `node` is its input; null at the head of a block.
Result<ExprPtr> Parser::ParseOneFilter(ExprPtr node) {
  ExprPtr filter = Make(ExprKind::kFilter, Peek().line);
  filter->name = BITTERN_TRY(ExpectName());
  filter->operands.push_back(std::move(node));
  if (IsOperator("(")) {
    filter->arguments = BITTERN_TRY(ParseArguments());
  }
  return Finish(std::move(filter));
}

/// node is not name argument. One argument may stand without parentheses: `x is divisibleby 3`.
Result<ExprPtr> Parser::ParseTest(ExprPtr node) {
  const int line = Next().line;
  const bool negated = SkipName("not");
  ExprPtr test = Make(ExprKind::kTest, line);
  test->name = BITTERN_TRY(ExpectName());
  test->operands.push_back(std::move(node));
  const TokenKind kind = Peek().kind;
  const bool is_word = kind == TokenKind::kName;
  if (IsOperator("(")) {
    test->arguments = BITTERN_TRY(ParseArguments());
    // These words go on with the expression around, so they are no argument.
  } else if ((is_word && !IsName("else") && !IsName("or") && !IsName("and")) ||
             kind == TokenKind::kString || kind == TokenKind::kInteger ||
             kind == TokenKind::kFloat || IsOperator("[") || IsOperator("{")) {
    if (IsName("is")) return tl::unexpected(ErrorHere("tests cannot be chained with \"is\""));
    ExprPtr argument = BITTERN_TRY(ParsePrimary());
    test->arguments.positional.push_back(BITTERN_TRY(ParsePostfix(std::move(argument))));
  }
  ExprPtr result = BITTERN_TRY(Finish(std::move(test)));
  if (!negated) return result;
  ExprPtr outer = Make(ExprKind::kNot, line);
  outer->operands.push_back(std::move(result));
  return Finish(std::move(outer));
}

/// node.name, node.0 (an item), node[key], node[begin:end:step].
Result<ExprPtr> Parser::ParseSubscript(ExprPtr node) {
  const int line = Peek().line;
  if (SkipOperator(".")) {
    ExprPtr member = Make(ExprKind::kAttribute, line);
    member->operands.push_back(std::move(node));
    if (Peek().kind == TokenKind::kInteger) {
      member->kind = ExprKind::kItem;
      member->operands.push_back(BITTERN_TRY(ParseNumber()));
    } else {
      member->name = BITTERN_TRY(ExpectName());
    }
    return Finish(std::move(member));
  }
  Next();
  ExprPtr item = Make(ExprKind::kItem, line);
  item->operands.push_back(std::move(node));
  if (!IsOperator(":")) item->operands.push_back(BITTERN_TRY(ParseTuple(true)));
  if (IsOperator(":")) {
    item->kind = ExprKind::kSlice;
    item->operands.resize(4);
    // begin is operands[1]; end and step may be left out.
    for (std::size_t part = 2; part < 4 && SkipOperator(":"); ++part) {
      if (IsOperator(":") || IsOperator("]")) continue;
      item->operands[part] = BITTERN_TRY(ParseExpression());
    }
  }
  BITTERN_TRY(ExpectOperator("]"));
  return Finish(std::move(item));
}

Result<ExprPtr> Parser::ParseCall(ExprPtr node) {
  ExprPtr call = Make(ExprKind::kCall, Peek().line);
  call->operands.push_back(std::move(node));
  call->arguments = BITTERN_TRY(ParseArguments());
  return Finish(std::move(call));
}

/// (a, b=1, *list, **dict), in the order that Jinja asks for.
Result<CallArguments> Parser::ParseArguments() {
  CallArguments arguments;
  BITTERN_TRY(ExpectOperator("("));
  bool first = true;
  while (!IsOperator(")")) {
    if (!first) BITTERN_TRY(ExpectOperator(","));
    if (IsOperator(")")) break;
    first = false;
    const bool only_keywords = arguments.star != nullptr || !arguments.keywords.empty();
    if (arguments.star_star != nullptr) {
      return tl::unexpected(ErrorHere("nothing may follow ** in a call"));
    }
    if (SkipOperator("**")) {
      arguments.star_star = BITTERN_TRY(ParseExpression());
    } else if (IsOperator("*") && arguments.star == nullptr) {
      Next();
      arguments.star = BITTERN_TRY(ParseExpression());
    } else if (Peek().kind == TokenKind::kName && IsOperator("=", 1)) {
      std::string name = BITTERN_TRY(ExpectName());
      Next();
      auto value = BITTERN_TRY(ParseExpression());
      arguments.keywords.emplace_back(std::move(name), std::move(value));
    } else if (only_keywords) {
      return tl::unexpected(ErrorHere("an argument without a name follows one with a name"));
    } else {
      arguments.positional.push_back(BITTERN_TRY(ParseExpression()));
    }
  }
  Next();
  return arguments;
}

}  // namespace bittern::jinja
