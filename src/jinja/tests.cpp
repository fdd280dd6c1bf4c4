// SPDX-License-Identifier: Apache-2.0
// `value is test`. What counts as a sequence or iterable follows Python, surprises included: an
// undefined value is both.
#include <fmt/format.h>

#include <algorithm>

#include "jinja/builtins.hpp"
#include "jinja/python.hpp"
#include "jinja/text/casing.hpp"

namespace bittern::jinja {
namespace {

/// A test without arguments, from a function of the value alone.
template <class Predicate>
constexpr Test Plain(Predicate) {
  return [](Interpreter&, const Value& value, const Arguments& arguments) -> Result<bool> {
    BITTERN_TRY(Bind(arguments, {}));
    return Predicate()(value);
  };
}

/// True if value % divisor is `wanted`. Floats are allowed, as in Python.
Result<bool> Remainder(const Value& value, std::int64_t divisor, std::int64_t wanted,
                       Budget* budget) {
  const Value rest = BITTERN_TRY(BinaryOperation("%", value, Value::Int(divisor), budget));
  return rest.AsNumber() && *rest.AsNumber() == static_cast<double>(wanted);
}

Result<bool> Even(Interpreter& interpreter, const Value& value, const Arguments&) {
  return Remainder(value, 2, 0, interpreter.budget());
}
Result<bool> Odd(Interpreter& interpreter, const Value& value, const Arguments&) {
  return Remainder(value, 2, 1, interpreter.budget());
}
/// divisibleby(num).
Result<bool> DivisibleBy(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  const auto given = BITTERN_TRY(Bind(arguments, {"num"}, 1));
  const std::int64_t divisor = BITTERN_TRY(ToInt(given[0], 0));
  return Remainder(value, divisor, 0, interpreter.budget());
}

enum class Order { kEqual, kLess, kGreater };

/// The six comparisons: `a <= b` (kGreater, false) is not b < a.
template <Order kOrder, bool kExpected>
Result<bool> Compare(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  const auto given = BITTERN_TRY(Bind(arguments, {"b"}, 1));
  Budget* budget = interpreter.budget();
  bool holds = false;
  if constexpr (kOrder == Order::kEqual) {
    holds = BITTERN_TRY(Equals(value, given[0], budget));
  } else if constexpr (kOrder == Order::kLess) {
    holds = BITTERN_TRY(Less(value, given[0], budget));
  } else {
    holds = BITTERN_TRY(Less(given[0], value, budget));
  }
  return holds == kExpected;
}

/// in(seq).
Result<bool> In(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  const auto given = BITTERN_TRY(Bind(arguments, {"seq"}, 1));
  return Contains(given[0], value, interpreter.budget());
}

/// sameas(other), Python's `is`: lists and dictionaries are compared by their place in memory.
/// Other values have none of their own, so type and value decide.
Result<bool> SameAs(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  const auto given = BITTERN_TRY(Bind(arguments, {"other"}, 1));
  if (value.TypeName() != given[0].TypeName()) return false;
  if (value.AsList() != nullptr) return value.AsList() == given[0].AsList();
  if (value.AsDict() != nullptr) return value.AsDict() == given[0].AsDict();
  return Equals(value, given[0], interpreter.budget());
}

/// sequence: what has a length and takes [...], as Jinja's test asks.
bool IsSequence(const Value& value) {
  const List* list = value.AsList();
  if (list != nullptr) {
    return list->kind == ListKind::kList || list->kind == ListKind::kTuple ||
           list->kind == ListKind::kRange;
  }
  return value.IsUndefined() || value.AsText() != nullptr || value.AsDict() != nullptr;
}

/// upper, lower: str(value).isupper() or islower().
template <bool kUpper>
Result<bool> HasCase(Interpreter& interpreter, const Value& value, const Arguments&) {
  const auto text = Str(value, interpreter.budget());
  return text.has_value() && IsAllOneCase(text->bytes(), kUpper);
}

/// filter, test: True if one of that name exists.
template <bool kFilters>
Result<bool> Exists(Interpreter&, const Value& value, const Arguments&) {
  const Text* name = value.AsText();
  if (name == nullptr) return false;
  return kFilters ? FindFilter(name->bytes()) != nullptr : FindTest(name->bytes()) != nullptr;
}

constexpr auto kIsTrue = [](const Value& v) { return v.As<bool>() && *v.As<bool>(); };
constexpr auto kIsFalse = [](const Value& v) { return v.As<bool>() && !*v.As<bool>(); };

/// Tests by name. The signs ("<=") are names as well, for select("<=", 3).
constexpr NamedFunction<Test> kTests[] = {
    {"!=", Compare<Order::kEqual, false>},
    {"<", Compare<Order::kLess, true>},
    {"<=", Compare<Order::kGreater, false>},
    {"==", Compare<Order::kEqual, true>},
    {">", Compare<Order::kGreater, true>},
    {">=", Compare<Order::kLess, false>},
    {"boolean", Plain([](const Value& v) { return v.As<bool>() != nullptr; })},
    {"callable", Plain([](const Value& v) {
       return v.IsUndefined() || (v.AsObject() != nullptr && v.AsObject()->IsCallable());
     })},
    {"defined", Plain([](const Value& v) { return !v.IsUndefined(); })},
    {"divisibleby", DivisibleBy},
    {"eq", Compare<Order::kEqual, true>},
    {"equalto", Compare<Order::kEqual, true>},
    {"escaped", Plain([](const Value&) { return false; })},
    {"even", Even},
    {"false", Plain(kIsFalse)},
    {"filter", Exists<true>},
    {"float", Plain([](const Value& v) { return v.As<double>() != nullptr; })},
    {"ge", Compare<Order::kLess, false>},
    {"greaterthan", Compare<Order::kGreater, true>},
    {"gt", Compare<Order::kGreater, true>},
    {"in", In},
    {"integer", Plain([](const Value& v) { return v.As<std::int64_t>() != nullptr; })},
    {"iterable", Plain([](const Value& v) {
       return v.IsUndefined() || v.AsText() != nullptr || v.AsList() != nullptr ||
              v.AsDict() != nullptr;
     })},
    {"le", Compare<Order::kGreater, false>},
    {"lessthan", Compare<Order::kLess, true>},
    {"lower", HasCase<false>},
    {"lt", Compare<Order::kLess, true>},
    {"mapping", Plain([](const Value& v) { return v.AsDict() != nullptr; })},
    {"ne", Compare<Order::kEqual, false>},
    {"none", Plain([](const Value& v) { return v.IsNone(); })},
    {"number", Plain([](const Value& v) { return v.AsNumber().has_value(); })},
    {"odd", Odd},
    {"sameas", SameAs},
    {"sequence", Plain([](const Value& v) { return IsSequence(v); })},
    {"string", Plain([](const Value& v) { return v.AsText() != nullptr; })},
    {"test", Exists<false>},
    {"true", Plain(kIsTrue)},
    {"undefined", Plain([](const Value& v) { return v.IsUndefined(); })},
    {"upper", HasCase<true>},
};

}  // namespace

Test FindTest(std::string_view name) {
  const auto found = std::ranges::find(kTests, name, &NamedFunction<Test>::name);
  return found == std::end(kTests) ? nullptr : found->function;
}

}  // namespace bittern::jinja
