// SPDX-License-Identifier: Apache-2.0
// Arithmetic and slices as Python does them, in 64 bits: an integer that would need more is an
// error, where Python would go on.
#include <algorithm>
#include <cmath>

#include "jinja/builtins.hpp"
#include "jinja/interpreter.hpp"
#include "jinja/python.hpp"

namespace bittern::jinja {
namespace {

tl::unexpected<Error> TooLarge() { return Refuse("an integer of more than 64 bits"); }

/// A negative exponent gives a float, as in Python. Bases that cannot overflow are answered first;
/// all others overflow within 64 steps, so the loop is short.
Result<Value> Power(std::int64_t base, std::int64_t exponent) {
  if (exponent < 0) {
    if (base == 0) return Refuse("zero to a negative power");
    return Value::Float(std::pow(static_cast<double>(base), static_cast<double>(exponent)));
  }
  std::int64_t result = 1;
  if (base == 0 || base == 1) return Value::Int(exponent == 0 ? 1 : base);
  if (base == -1) return Value::Int(exponent % 2 == 0 ? 1 : -1);
  for (; exponent > 0; --exponent) {
    if (__builtin_mul_overflow(result, base, &result)) return TooLarge();
  }
  return Value::Int(result);
}

/// `/` always gives a float. -1 as a divisor is apart, since the smallest integer has no opposite.
Result<Value> IntegerOperation(std::string_view op, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (op == "+")
    return __builtin_add_overflow(a, b, &result) ? Result<Value>(TooLarge()) : Value::Int(result);
  if (op == "-")
    return __builtin_sub_overflow(a, b, &result) ? Result<Value>(TooLarge()) : Value::Int(result);
  if (op == "*")
    return __builtin_mul_overflow(a, b, &result) ? Result<Value>(TooLarge()) : Value::Int(result);
  if (op == "**") return Power(a, b);
  if (b == 0) return Refuse("division by zero");
  if (op == "/") return Value::Float(static_cast<double>(a) / static_cast<double>(b));
  if (b == -1) return op == "%" ? Result<Value>(Value::Int(0)) : IntegerOperation("-", 0, a);
  const std::int64_t rest = a % b;
  const bool rounds_up = rest != 0 && (rest < 0) != (b < 0);  // C rounds to zero, Python down
  if (op == "//") return Value::Int(a / b - (rounds_up ? 1 : 0));
  return Value::Int(rest + (rounds_up ? b : 0));
}

/// `%` has the sign of the divisor.
Result<Value> FloatOperation(std::string_view op, double a, double b) {
  if (op == "+") return Value::Float(a + b);
  if (op == "-") return Value::Float(a - b);
  if (op == "*") return Value::Float(a * b);
  if (op == "**") {
    const double power = std::pow(a, b);
    if (std::isfinite(a) && std::isfinite(b) && !std::isfinite(power)) {
      return Refuse("a power that is no number");
    }
    return Value::Float(power);
  }
  if (b == 0) return Refuse("division by zero");
  if (op == "/") return Value::Float(a / b);
  double rest = std::fmod(a, b);
  const bool adjusts = rest != 0 && (rest < 0) != (b < 0);
  if (op == "%") return Value::Float(adjusts ? rest + b : rest);
  return Value::Float(std::floor(a / b));
}

/// text * n, list * n: empty for n < 1. Charged before anything is made.
Result<Value> Repeat(const Value& value, std::int64_t count, Budget* budget) {
  const std::size_t times = static_cast<std::size_t>(std::max<std::int64_t>(count, 0));
  const Text* text = value.AsText();
  const std::size_t size =
      text != nullptr ? text->size() : value.AsList()->items.size() * sizeof(Value);
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(size, times, &bytes)) bytes = SIZE_MAX;
  BITTERN_TRY(budget->Make(bytes));
  if (text != nullptr) {
    Text out;
    for (std::size_t i = 0; i < times && !text->empty(); ++i) out.Append(*text);
    return Value::String(std::move(out));
  }
  std::vector<Value> items;
  const std::vector<Value>& one = value.AsList()->items;
  for (std::size_t i = 0; i < times && !one.empty(); ++i) {
    items.insert(items.end(), one.begin(), one.end());
  }
  return MakeList(std::move(items), value.AsList()->kind);
}

/// True for the kinds of values that * can repeat and + can join.
bool Repeats(const Value& value) {
  const List* list = value.AsList();
  return value.AsText() != nullptr ||
         (list != nullptr && (list->kind == ListKind::kList || list->kind == ListKind::kTuple));
}

/// a + b of two strings, lists or tuples.
Result<Value> Join(const Value& a, const Value& b, Budget* budget) {
  if (a.AsText() != nullptr) {
    BITTERN_TRY(budget->Make(a.AsText()->size() + b.AsText()->size()));
    Text text = *a.AsText();
    text.Append(*b.AsText());
    return Value::String(std::move(text));
  }
  std::vector<Value> items = a.AsList()->items;
  const std::vector<Value>& more = b.AsList()->items;
  BITTERN_TRY(budget->Make((items.size() + more.size()) * sizeof(Value)));
  items.insert(items.end(), more.begin(), more.end());
  return MakeList(std::move(items), a.AsList()->kind);
}

/// One end of a slice, as Python cuts it to the length.
std::int64_t Bound(std::int64_t at, std::int64_t size, bool backwards) {
  if (at < 0) at = std::max<std::int64_t>(at + size, backwards ? -1 : 0);
  return std::min(at, backwards ? size - 1 : size);
}

}  // namespace

/// Booleans are the integers 0 and 1. `%` after a string fills its format.
Result<Value> BinaryOperation(std::string_view op, const Value& a, const Value& b, Budget* budget) {
  if (a.IsUndefined() || b.IsUndefined()) {
    return tl::unexpected(UndefinedError(a.IsUndefined() ? a : b));
  }
  if (a.AsInt() && b.AsInt()) return IntegerOperation(op, *a.AsInt(), *b.AsInt());
  if (a.AsNumber() && b.AsNumber()) return FloatOperation(op, *a.AsNumber(), *b.AsNumber());
  if (op == "%" && a.AsText() != nullptr) {
    Text text = BITTERN_TRY(PercentFormat(*a.AsText(), b, budget));
    return Value::String(std::move(text));
  }
  if (op == "*" && Repeats(a) && b.AsInt()) return Repeat(a, *b.AsInt(), budget);
  if (op == "*" && Repeats(b) && a.AsInt()) return Repeat(b, *a.AsInt(), budget);
  const bool same = (a.AsText() != nullptr && b.AsText() != nullptr) ||
                    (Repeats(a) && Repeats(b) && a.AsList() != nullptr && b.AsList() != nullptr &&
                     a.AsList()->kind == b.AsList()->kind);
  if (op == "+" && same) return Join(a, b, budget);
  return Refuse(fmt::format("unsupported operand types for {}: '{}' and '{}'", op, a.TypeName(),
                            b.TypeName()));
}

/// A piece of text without stride is cut out at once, all others item by item.
Result<Value> Slice(const Value& value, const Value& begin, const Value& end, const Value& step,
                    Budget* budget) {
  if (value.IsUndefined()) return tl::unexpected(UndefinedError(value));
  const Text* text = value.AsText();
  const List* list = value.AsList();
  if (text == nullptr && (list == nullptr || !(Repeats(value) || list->kind == ListKind::kRange))) {
    // Jinja turns the failure into an undefined value.
    return Value::Missing(fmt::format("'{} object' cannot be sliced", value.TypeName()));
  }
  for (const Value* part : {&begin, &end, &step}) {
    if (!part->IsNone() && !part->AsInt()) {
      return Value::Missing("a slice needs whole numbers");
    }
  }
  const std::int64_t stride = step.AsInt().value_or(1);
  if (stride == 0) return Refuse("slice step cannot be zero");
  const auto size = static_cast<std::int64_t>(BITTERN_TRY(Length(value)));
  BITTERN_TRY(budget->Step(1 + (text == nullptr ? 0 : text->size() / 64)));
  const bool backwards = stride < 0;
  const std::int64_t from =
      begin.IsNone() ? (backwards ? size - 1 : 0) : Bound(*begin.AsInt(), size, backwards);
  const std::int64_t to =
      end.IsNone() ? (backwards ? -1 : size) : Bound(*end.AsInt(), size, backwards);
  // The usual slice of a text needs no value for each character.
  if (text != nullptr && stride == 1) {
    if (to <= from) return Value::String(Text());
    const std::size_t first = ByteOfCharacter(text->bytes(), static_cast<std::size_t>(from));
    const std::size_t last = ByteOfCharacter(text->bytes(), static_cast<std::size_t>(to));
    BITTERN_TRY(budget->Make(last - first));
    return Value::String(text->Substr(first, last - first));
  }
  const std::vector<Value> items = BITTERN_TRY(Items(value, budget));
  std::vector<Value> chosen;
  Text joined;
  for (std::int64_t i = from; backwards ? i > to : i < to;) {
    const Value& item = items[static_cast<std::size_t>(i)];
    if (text != nullptr) {
      joined.Append(*item.AsText());
    } else {
      chosen.push_back(item);
    }
    if (__builtin_add_overflow(i, stride, &i)) break;
  }
  if (text != nullptr) return Value::String(std::move(joined));
  return MakeList(std::move(chosen), list->kind);
}

}  // namespace bittern::jinja
