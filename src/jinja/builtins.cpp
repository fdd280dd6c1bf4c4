// SPDX-License-Identifier: Apache-2.0
// Taking arguments, and the global functions.
#include "jinja/builtins.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "jinja/loop.hpp"
#include "jinja/python.hpp"

namespace bittern::jinja {
namespace {

/// range(stop) or range(start, stop, step=1), all in memory at once. More than kMaxRange numbers
/// are an error.
Result<Value> Range(Interpreter& interpreter, const Arguments& arguments) {
  const auto given = BITTERN_TRY(Bind(arguments, {"start", "stop", "step"}, 1));
  for (const Value& value : given) {
    if (!value.IsUndefined() && !value.AsInt()) {
      return Refuse(fmt::format("range() needs whole numbers, '{}' found", value.TypeName()));
    }
  }
  const bool one = given[1].IsUndefined();
  const std::int64_t begin = one ? 0 : *given[0].AsInt();
  const std::int64_t end = one ? *given[0].AsInt() : *given[1].AsInt();
  const std::int64_t step = given[2].AsInt().value_or(1);
  if (step == 0) return Refuse("range() with a step of zero");
  std::vector<Value> items;
  for (std::int64_t i = begin; step > 0 ? i < end : i > end;) {
    if (items.size() == kMaxRange) {
      return Refuse(fmt::format("range() of more than {} numbers", kMaxRange));
    }
    items.push_back(Value::Int(i));
    if (__builtin_add_overflow(i, step, &i)) break;
  }
  BITTERN_TRY(interpreter.budget()->Make(items.size() * sizeof(Value)));
  return MakeList(std::move(items), ListKind::kRange);
}

/// raise_exception(message), of transformers: ends the rendering with that message.
Result<Value> RaiseException(Interpreter& interpreter, const Arguments& arguments) {
  const auto given = BITTERN_TRY(Bind(arguments, {"message"}, 1));
  const Text message = BITTERN_TRY(Str(given[0], interpreter.budget()));
  return Refuse(message.bytes());
}

/// strftime_now(format), of transformers. No byte of the format gives more than 32 of the result.
Result<Value> StrftimeNow(Interpreter& interpreter, const Arguments& arguments) {
  const auto given = BITTERN_TRY(Bind(arguments, {"format"}, 1));
  const Text format = BITTERN_TRY(ToText(given[0]));
  BITTERN_TRY(interpreter.budget()->Make(format.size() * 32));
  return Value::String(FormatTime(format.bytes(), interpreter.now()));
}

/// Members of a dictionary, or pairs of a list, into *dict.
Result<void> AddMembers(const Value& from, Budget* budget, Dict* dict) {
  if (const Dict* source = from.AsDict()) {
    for (const auto& [key, value] : source->entries) {
      BITTERN_TRY(budget->Step(key.AsText() != nullptr ? 1 : dict->entries.size()));
      dict->Set(key, value);
    }
    return budget->Make(source->entries.size() * sizeof(Value));
  }
  const auto pairs = BITTERN_TRY(Items(from, budget));
  for (const Value& pair : pairs) {
    const auto parts = BITTERN_TRY(Items(pair, budget));
    if (parts.size() != 2) return Refuse("pairs of key and value expected");
    if (parts[0].AsList() != nullptr || parts[0].AsDict() != nullptr) {
      return Refuse(fmt::format("a '{}' cannot be a key", parts[0].TypeName()));
    }
    BITTERN_TRY(budget->Step(parts[0].AsText() != nullptr ? 1 : dict->entries.size()));
    dict->Set(parts[0], parts[1]);
  }
  return {};
}

/// The arguments of dict(): members of one positional argument, then the keywords, which win.
Result<Dict> DictOf(Interpreter& interpreter, const Arguments& arguments) {
  Dict dict;
  if (arguments.positional.size() > 1) return Refuse("one argument without a name at most");
  for (const Value& from : arguments.positional) {
    BITTERN_TRY(AddMembers(from, interpreter.budget(), &dict));
  }
  for (const auto& [name, value] : arguments.keywords) dict.Set(Value::String(name), value);
  return dict;
}

/// dict(mapping_or_pairs, **kwargs).
Result<Value> NewDict(Interpreter& interpreter, const Arguments& arguments) {
  Dict dict = BITTERN_TRY(DictOf(interpreter, arguments));
  return MakeDict(std::move(dict));
}

/// namespace(...), with the arguments of dict(). Its keys are names, so they must be strings.
Result<Value> NewNamespace(Interpreter& interpreter, const Arguments& arguments) {
  const Dict dict = BITTERN_TRY(DictOf(interpreter, arguments));
  std::vector<std::pair<std::string, Value>> members;
  for (const auto& [key, value] : dict.entries) {
    const Text name = BITTERN_TRY(ToText(key));
    members.emplace_back(name.bytes(), value);
  }
  return interpreter.NewNamespace(std::move(members));
}

/// cycler(*items). Without items there would be nothing to give.
Result<Value> NewCycler(Interpreter&, const Arguments& arguments) {
  if (arguments.positional.empty()) return Refuse("at least one item has to be provided");
  return MakeCycler(arguments.positional);
}

/// joiner(sep=", ").
Result<Value> NewJoiner(Interpreter&, const Arguments& arguments) {
  const auto given = BITTERN_TRY(Bind(arguments, {"sep"}));
  return MakeJoiner(given[0].IsUndefined() ? Value::String(", ") : given[0]);
}

}  // namespace

Value MakeFunction(std::string name, Builtin::Function function, int nesting) {
  return Value(Value::Storage(std::static_pointer_cast<Object>(
      std::make_shared<Builtin>(std::move(name), std::move(function), nesting))));
}

/// The first five are Jinja's, the last two are added by transformers.
std::vector<std::pair<std::string, Value>> GlobalFunctions() {
  std::vector<std::pair<std::string, Value>> functions;
  const auto add = [&](const char* name, Builtin::Function function) {
    functions.emplace_back(name, MakeFunction(name, std::move(function)));
  };
  add("range", Range);
  add("dict", NewDict);
  add("namespace", NewNamespace);
  add("cycler", NewCycler);
  add("joiner", NewJoiner);
  add("raise_exception", RaiseException);
  add("strftime_now", StrftimeNow);
  return functions;
}

Result<std::vector<Value>> Bind(const Arguments& arguments,
                                std::initializer_list<std::string_view> names,
                                std::size_t required) {
  if (arguments.positional.size() > names.size()) {
    return Refuse(
        fmt::format("{} arguments at most, {} given", names.size(), arguments.positional.size()));
  }
  std::vector<Value> bound(names.size());
  std::vector<bool> given(names.size());
  std::ranges::copy(arguments.positional, bound.begin());
  std::fill_n(given.begin(), arguments.positional.size(), true);
  for (const auto& [name, value] : arguments.keywords) {
    const auto found = std::ranges::find(names, name);
    if (found == names.end()) return Refuse(fmt::format("no argument is named \"{}\"", name));
    const auto index = static_cast<std::size_t>(found - names.begin());
    if (given[index]) return Refuse(fmt::format("argument \"{}\" is given twice", name));
    bound[index] = value;
    given[index] = true;
  }
  for (std::size_t i = 0; i < required; ++i) {
    if (!given[i]) return Refuse(fmt::format("argument \"{}\" is missing", *(names.begin() + i)));
  }
  return bound;
}

Result<std::int64_t> ToInt(const Value& value, std::int64_t otherwise) {
  if (value.IsUndefined() || value.IsNone()) return otherwise;
  if (const auto number = value.AsInt()) return *number;
  return Refuse(fmt::format("a whole number expected, '{}' found", value.TypeName()));
}

Result<Text> ToText(const Value& value) {
  if (const Text* text = value.AsText()) return *text;
  if (value.IsUndefined()) return tl::unexpected(UndefinedError(value));
  return Refuse(fmt::format("a string expected, '{}' found", value.TypeName()));
}

}  // namespace bittern::jinja
