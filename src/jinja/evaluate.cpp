// SPDX-License-Identifier: Apache-2.0
// Expressions. Each function evaluates one kind of node; Evaluate() counts steps and depth and says
// where an error happened.
#include <algorithm>

#include "jinja/builtins.hpp"
#include "jinja/interpreter.hpp"
#include "jinja/lexer.hpp"
#include "jinja/python.hpp"

namespace bittern::jinja {
namespace {

/// How a node is called in messages: `filter "trim"`, `call of f`.
std::string Construct(const Expr& expr) {
  switch (expr.kind) {
    case ExprKind::kName:
      return expr.name;
    case ExprKind::kAttribute:
      return "." + expr.name;
    case ExprKind::kItem:
    case ExprKind::kSlice:
      return "[]";
    case ExprKind::kCall: {
      const Expr& callee = *expr.operands[0];
      return callee.name.empty() ? "call" : fmt::format("call of {}", callee.name);
    }
    case ExprKind::kFilter:
      return fmt::format("filter \"{}\"", expr.name);
    case ExprKind::kTest:
      return fmt::format("test \"{}\"", expr.name);
    case ExprKind::kBinary:
    case ExprKind::kCompare:
      return expr.operators[0];
    case ExprKind::kConcat:
      return "~";
    default:
      return "";
  }
}

/// True for values that Python can hash: a list or a dictionary cannot be a key.
bool IsKey(const Value& value) {
  return value.AsDict() == nullptr &&
         (value.AsList() == nullptr || value.AsList()->kind == ListKind::kTuple);
}

}  // namespace

Error UndefinedError(const Value& value) {
  const auto* undefined = value.As<Undefined>();
  const bool told = undefined != nullptr && undefined->why != nullptr;
  return {ErrorCode::kInvalidArgument, told ? *undefined->why : "the value is undefined"};
}

/// Constants cost nothing. All others are charged a step and a level of depth, and an error that
/// they meet is told with their line.
Result<Value> Interpreter::Evaluate(const Expr& expr) {
  if (expr.kind == ExprKind::kConstant) return expr.constant;
  const Deeper deeper(&depth_);
  Result<Value> value;
  if (depth_ > budget_.limits().max_depth) {
    value = Fail(ErrorCode::kUnsupported,
                 fmt::format("calls nested deeper than {}", budget_.limits().max_depth));
  } else if (auto step = budget_.Step(); !step.has_value()) {
    value = tl::unexpected(std::move(step).error());
  } else {
    value = EvaluateHere(expr);
  }
  if (value.has_value()) return value;
  return tl::unexpected(Locate(expr.line, Construct(expr), std::move(value).error()));
}

/// Picks the function for the kind of node. Kinds with a few lines are evaluated here.
Result<Value> Interpreter::EvaluateHere(const Expr& expr) {
  switch (expr.kind) {
    case ExprKind::kConstant:
      return expr.constant;
    case ExprKind::kName:
      return EvaluateName(expr);
    case ExprKind::kList:
    case ExprKind::kTuple: {
      auto items = BITTERN_TRY(EvaluateAll(expr.operands));
      BITTERN_TRY(budget_.Make(items.size() * sizeof(Value)));
      return MakeList(std::move(items),
                      expr.kind == ExprKind::kList ? ListKind::kList : ListKind::kTuple);
    }
    case ExprKind::kDict:
      return EvaluateDict(expr);
    case ExprKind::kAttribute: {
      const Value value = BITTERN_TRY(Evaluate(*expr.operands[0]));
      return Attribute(value, expr.name);
    }
    case ExprKind::kItem: {
      const Value value = BITTERN_TRY(Evaluate(*expr.operands[0]));
      const Value key = BITTERN_TRY(Evaluate(*expr.operands[1]));
      return Item(value, key);
    }
    case ExprKind::kSlice:
      return EvaluateSlice(expr);
    case ExprKind::kCall:
      return EvaluateCall(expr, nullptr);
    case ExprKind::kFilter:
      return EvaluateFilter(expr, nullptr);
    case ExprKind::kTest:
      return EvaluateTest(expr);
    case ExprKind::kCompare:
      return EvaluateCompare(expr);
    case ExprKind::kConcat:
      return EvaluateConcat(expr);
    case ExprKind::kBinary: {
      const Value left = BITTERN_TRY(Evaluate(*expr.operands[0]));
      const Value right = BITTERN_TRY(Evaluate(*expr.operands[1]));
      return BinaryOperation(expr.operators[0], left, right, &budget_);
    }
    case ExprKind::kNot:
    case ExprKind::kNegative:
    case ExprKind::kPositive:
    case ExprKind::kAnd:
    case ExprKind::kOr:
    case ExprKind::kConditional:
      break;
  }
  return EvaluateLogic(expr);
}

/// An unknown name is an undefined value and no error: templates ask `is defined`.
Result<Value> Interpreter::EvaluateName(const Expr& expr) {
  const Value* value = scope_->Find(expr.name);
  return value != nullptr ? *value : Value::Missing(fmt::format("'{}' is undefined", expr.name));
}

/// From left to right, as Python does.
Result<std::vector<Value>> Interpreter::EvaluateAll(const std::vector<ExprPtr>& exprs) {
  std::vector<Value> values;
  for (const ExprPtr& expr : exprs) {
    auto value = BITTERN_TRY(Evaluate(*expr));
    values.push_back(std::move(value));
  }
  return values;
}

/// A key that is no string is looked for among all entries, so it costs as many steps.
Result<Value> Interpreter::EvaluateDict(const Expr& expr) {
  const auto parts = BITTERN_TRY(EvaluateAll(expr.operands));
  Dict dict;
  for (std::size_t i = 0; i < parts.size(); i += 2) {
    if (!IsKey(parts[i])) {
      return Refuse(fmt::format("a '{}' cannot be a key", parts[i].TypeName()));
    }
    BITTERN_TRY(budget_.Step(parts[i].AsText() != nullptr ? 1 : i / 2));
    dict.Set(parts[i], parts[i + 1]);
  }
  BITTERN_TRY(budget_.Make(parts.size() * sizeof(Value)));
  return MakeDict(std::move(dict));
}

/// A part that is left out is None for Slice.
Result<Value> Interpreter::EvaluateSlice(const Expr& expr) {
  std::vector<Value> parts;
  for (const ExprPtr& operand : expr.operands) {
    Value part = Value::Null();
    if (operand != nullptr) {
      part = BITTERN_TRY(Evaluate(*operand));
    }
    parts.push_back(std::move(part));
  }
  return Slice(parts[0], parts[1], parts[2], parts[3], &budget_);
}

/// f(a, b=1, *list, **dict): the list is added to the positional ones, the dictionary to the
/// keywords.
Result<Arguments> Interpreter::EvaluateArguments(const CallArguments& given) {
  Arguments arguments;
  arguments.positional = BITTERN_TRY(EvaluateAll(given.positional));
  for (const auto& [name, expr] : given.keywords) {
    auto value = BITTERN_TRY(Evaluate(*expr));
    arguments.keywords.emplace_back(name, std::move(value));
  }
  if (given.star != nullptr) {
    const Value list = BITTERN_TRY(Evaluate(*given.star));
    const auto items = BITTERN_TRY(Items(list, &budget_));
    arguments.positional.insert(arguments.positional.end(), items.begin(), items.end());
  }
  if (given.star_star != nullptr) {
    const Value value = BITTERN_TRY(Evaluate(*given.star_star));
    const Dict* dict = value.AsDict();
    if (dict == nullptr) return Refuse("a dictionary expected after **");
    BITTERN_TRY(budget_.Make(dict->entries.size() * sizeof(Value)));
    for (const auto& [key, member] : dict->entries) {
      if (key.AsText() == nullptr) return Refuse("names expected as keys after **");
      arguments.keywords.emplace_back(key.AsText()->bytes(), member);
    }
  }
  return arguments;
}

Result<Value> Interpreter::Call(const Value& callee, const Arguments& arguments) {
  if (callee.IsUndefined()) return tl::unexpected(UndefinedError(callee));
  Object* object = callee.AsObject();
  if (object == nullptr || !object->IsCallable()) {
    return Refuse(fmt::format("'{}' object is not callable", callee.TypeName()));
  }
  return object->Call(*this, arguments);
}

/// `caller`: the body of a call block, which the macro gets as a keyword; null in expressions.
Result<Value> Interpreter::EvaluateCall(const Expr& expr, const Value* caller) {
  const Value callee = BITTERN_TRY(Evaluate(*expr.operands[0]));
  Arguments arguments = BITTERN_TRY(EvaluateArguments(expr.arguments));
  if (caller != nullptr) arguments.keywords.emplace_back("caller", *caller);
  return Call(callee, arguments);
}

/// `input`: the text of a block, which the innermost filter takes; null in expressions.
Result<Value> Interpreter::EvaluateFilter(const Expr& expr, const Value* input) {
  Value value;
  if (expr.operands[0] == nullptr) {
    value = *input;
  } else if (input != nullptr) {  // a chain of a block: its innermost filter takes the text
    value = BITTERN_TRY(EvaluateFilter(*expr.operands[0], input));
  } else {
    value = BITTERN_TRY(Evaluate(*expr.operands[0]));
  }
  const Arguments arguments = BITTERN_TRY(EvaluateArguments(expr.arguments));
  return ApplyFilter(expr.name, value, arguments);
}

Result<Value> Interpreter::EvaluateTest(const Expr& expr) {
  const Value value = BITTERN_TRY(Evaluate(*expr.operands[0]));
  const Arguments arguments = BITTERN_TRY(EvaluateArguments(expr.arguments));
  const bool result = BITTERN_TRY(ApplyTest(expr.name, value, arguments));
  return Value::Bool(result);
}

Result<Value> Interpreter::ApplyFilter(std::string_view name, const Value& input,
                                       const Arguments& arguments) {
  const Filter filter = FindFilter(name);
  if (filter == nullptr) return Refuse(fmt::format("no filter named \"{}\"", name));
  BITTERN_TRY(budget_.Step());
  return filter(*this, input, arguments);
}

Result<bool> Interpreter::ApplyTest(std::string_view name, const Value& input,
                                    const Arguments& arguments) {
  const Test test = FindTest(name);
  if (test == nullptr) return Refuse(fmt::format("no test named \"{}\"", name));
  BITTERN_TRY(budget_.Step());
  return test(*this, input, arguments);
}

/// `a < b < c` means a < b and b < c, with each operand evaluated at most once. `a <= b` is taken
/// as not b < a.
Result<Value> Interpreter::EvaluateCompare(const Expr& expr) {
  Value left = BITTERN_TRY(Evaluate(*expr.operands[0]));
  for (std::size_t i = 0; i < expr.operators.size(); ++i) {
    Value right = BITTERN_TRY(Evaluate(*expr.operands[i + 1]));
    const std::string& op = expr.operators[i];
    bool holds = false;
    if (op == "==" || op == "!=") {
      const bool equal = BITTERN_TRY(Equals(left, right, &budget_));
      holds = equal == (op == "==");
    } else if (op == "in" || op == "not in") {
      const bool contains = BITTERN_TRY(Contains(right, left, &budget_));
      holds = contains == (op == "in");
    } else {
      if (left.IsUndefined() || right.IsUndefined()) {
        return tl::unexpected(UndefinedError(left.IsUndefined() ? left : right));
      }
      const bool swapped = op == ">" || op == "<=";
      const bool less =
          BITTERN_TRY(swapped ? Less(right, left, &budget_) : Less(left, right, &budget_));
      holds = less == (op == "<" || op == ">");
    }
    if (!holds) return Value::Bool(false);
    left = std::move(right);
  }
  return Value::Bool(true);
}

/// `~` turns its operands into strings. Undefined ones are empty.
Result<Value> Interpreter::EvaluateConcat(const Expr& expr) {
  Text text;
  for (const ExprPtr& operand : expr.operands) {
    const Value value = BITTERN_TRY(Evaluate(*operand));
    const Text part = BITTERN_TRY(Str(value, &budget_));
    text.Append(part);
    BITTERN_TRY(budget_.Make(text.size()));
  }
  return Value::String(std::move(text));
}

/// Conditionals, `and`, `or`, `not` and signs. As in Python, `and` and `or` give one of their
/// operands, and evaluate no more of them than needed.
Result<Value> Interpreter::EvaluateLogic(const Expr& expr) {
  if (expr.kind == ExprKind::kConditional) {
    const Value test = BITTERN_TRY(Evaluate(*expr.operands[1]));
    if (Truth(test)) return Evaluate(*expr.operands[0]);
    if (expr.operands[2] != nullptr) return Evaluate(*expr.operands[2]);
    return Value::Missing(
        "the inline if-expression evaluated to false and no else section was "
        "defined.");
  }
  Value value = BITTERN_TRY(Evaluate(*expr.operands[0]));
  if (expr.kind == ExprKind::kAnd || expr.kind == ExprKind::kOr) {
    for (std::size_t i = 1; i < expr.operands.size(); ++i) {
      if (Truth(value) == (expr.kind == ExprKind::kOr)) return value;
      value = BITTERN_TRY(Evaluate(*expr.operands[i]));
    }
    return value;
  }
  if (expr.kind == ExprKind::kNot) return Value::Bool(!Truth(value));
  if (value.IsUndefined()) return tl::unexpected(UndefinedError(value));
  if (!value.AsNumber()) {
    return Refuse(fmt::format("a sign before '{}', which is no number", value.TypeName()));
  }
  const bool negative = expr.kind == ExprKind::kNegative;
  // 0 - x is checked for overflow: the smallest integer has no opposite.
  if (const auto whole = value.AsInt()) {
    return BinaryOperation(negative ? "-" : "+", Value::Int(0), Value::Int(*whole), &budget_);
  }
  return Value::Float(negative ? -*value.AsNumber() : *value.AsNumber());
}

/// A method bound to its value; undefined where there is none. A method that is refused is a
/// function that fails when it is called.
Result<Value> Interpreter::Method(const Value& value, std::string_view name) {
  jinja::Method method = nullptr;
  if (value.AsText() != nullptr) method = FindStringMethod(name);
  if (value.AsDict() != nullptr) method = FindDictMethod(name);
  if (value.AsList() != nullptr) method = FindListMethod(name);
  if (method != nullptr) {
    return MakeFunction(
        std::string(name),
        [method, value](Interpreter& interpreter, const Arguments& arguments) {
          return method(interpreter, value, arguments);
        },
        value.Nesting() + 1);
  }
  if (IsForeignMethod(value, name)) {
    return MakeFunction(std::string(name),
                        [type = value.TypeName(), label = std::string(name)](
                            Interpreter&, const Arguments&) -> Result<Value> {
                          return Refuse(fmt::format(
                              "method '{}' of '{}' is not allowed or not supported", label, type));
                        });
  }
  return Value();
}

Result<Value> Interpreter::Attribute(const Value& value, std::string_view name) {
  if (value.IsUndefined()) return tl::unexpected(UndefinedError(value));
  if (Object* object = value.AsObject()) {
    if (auto attribute = object->Attribute(name)) return *std::move(attribute);
  }
  if (const Namespace* space = value.AsNamespace()) {
    for (const auto& [known, member] : space->members) {
      if (known == name) return member;
    }
  }
  const Value method = BITTERN_TRY(Method(value, name));
  if (!method.IsUndefined()) return method;
  if (const Dict* dict = value.AsDict()) {
    if (const Value* member = dict->Find(name)) return *member;
  }
  if (const List* list = value.AsList()) {
    const auto named = std::ranges::find(list->names, name);
    if (named != list->names.end()) {
      return list->items[static_cast<std::size_t>(named - list->names.begin())];
    }
  }
  if (value.IsNone()) return Value::Missing(fmt::format("'None' has no attribute '{}'", name));
  return Value::Missing(fmt::format("'{} object' has no attribute '{}'", value.TypeName(), name));
}

/// An index out of range or a missing key is an undefined value, as in Jinja. Views and generators
/// have no index.
Result<Value> Interpreter::Item(const Value& value, const Value& key) {
  if (value.IsUndefined()) return tl::unexpected(UndefinedError(value));
  const Text* name = key.AsText();
  if (const Dict* dict = value.AsDict()) {
    if (name != nullptr) {
      if (const Value* member = dict->Find(name->bytes())) return *member;
    } else {
      for (const auto& [known, member] : dict->entries) {
        if (BITTERN_TRY(Equals(known, key, &budget_))) return member;
      }
    }
  }
  if (name != nullptr && value.AsNamespace() == nullptr) return Attribute(value, name->bytes());
  if (name != nullptr) {
    // In Jinja a namespace has attributes, but no items of its own.
    return Attribute(value, name->bytes());
  }
  const auto index = key.AsInt();
  if (index && (value.AsList() != nullptr || value.AsText() != nullptr)) {
    const List* list = value.AsList();
    const bool indexable = list == nullptr || list->kind == ListKind::kList ||
                           list->kind == ListKind::kTuple || list->kind == ListKind::kRange;
    const auto size = static_cast<std::int64_t>(
        BITTERN_TRY(indexable ? Length(value) : Result<std::size_t>(std::size_t{0})));
    // The place of a character is found by walking over the text.
    BITTERN_TRY(budget_.Step(1 + (list == nullptr ? value.AsText()->size() / 64 : 0)));
    const std::int64_t at = *index < 0 ? *index + size : *index;
    if (at >= 0 && at < size) {
      if (list != nullptr) return list->items[static_cast<std::size_t>(at)];
      const Text& text = *value.AsText();
      const std::size_t begin = ByteOfCharacter(text.bytes(), static_cast<std::size_t>(at));
      const std::size_t width = ByteOfCharacter(std::string_view(text.bytes()).substr(begin), 1);
      return Value::String(text.Substr(begin, width));
    }
  }
  // Reached with an index out of range, a key that is missing, or a value without items.
  const Text shown = BITTERN_TRY(Repr(key, &budget_));
  return Value::Missing(
      fmt::format("'{} object' has no element {}", value.TypeName(), shown.bytes()));
}

}  // namespace bittern::jinja
