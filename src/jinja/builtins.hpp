// SPDX-License-Identifier: Apache-2.0
// The library of templates: filters, tests, global functions and the methods of Python's strings
// and dictionaries; and how they take their arguments.
#pragma once

#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "jinja/interpreter.hpp"
#include "jinja/value.hpp"

namespace bittern::jinja {

using Filter = Result<Value> (*)(Interpreter& interpreter, const Value& input,
                                 const Arguments& arguments);
using Test = Result<bool> (*)(Interpreter& interpreter, const Value& input,
                              const Arguments& arguments);
using Method = Result<Value> (*)(Interpreter& interpreter, const Value& self,
                                 const Arguments& arguments);

template <class Function>
struct NamedFunction {
  std::string_view name;
  Function function;
};

/// Null where there is none of that name.
[[nodiscard]] Filter FindFilter(std::string_view name);
[[nodiscard]] Filter FindTextFilter(std::string_view name);
[[nodiscard]] Filter FindListFilter(std::string_view name);
[[nodiscard]] Test FindTest(std::string_view name);
[[nodiscard]] Method FindStringMethod(std::string_view name);
[[nodiscard]] Method FindDictMethod(std::string_view name);
[[nodiscard]] Method FindListMethod(std::string_view name);
/// A method of Python's type of that name which Bittern does not have, or which the sandbox of
/// transformers forbids: calling it is an error, not an undefined value.
[[nodiscard]] bool IsForeignMethod(const Value& value, std::string_view name);

/// range, namespace, raise_exception, ... by name.
[[nodiscard]] std::vector<std::pair<std::string, Value>> GlobalFunctions();

/// A function of C++ as a value.
class Builtin : public Object {
 public:
  using Function = std::function<Result<Value>(Interpreter&, const Arguments&)>;
  Builtin(std::string name, Function function, int nesting = 0)
      : name_(std::move(name)), function_(std::move(function)), nesting_(nesting) {}
  Result<Value> Call(Interpreter& interpreter, const Arguments& arguments) override {
    return function_(interpreter, arguments);
  }
  [[nodiscard]] std::string Name() const override { return "function " + name_; }
  [[nodiscard]] int Nesting() const override { return nesting_; }

 private:
  std::string name_;
  Function function_;
  int nesting_;
};
[[nodiscard]] Value MakeFunction(std::string name, Builtin::Function function, int nesting = 0);

/// Arguments by place or name, in the order of `names`; undefined where not given. Errors
/// kInvalidArgument: too many, an unknown name, or one of the first `required` missing.
[[nodiscard]] Result<std::vector<Value>> Bind(const Arguments& arguments,
                                              std::initializer_list<std::string_view> names,
                                              std::size_t required = 0);
/// A whole number; `otherwise` where undefined or none.
[[nodiscard]] Result<std::int64_t> ToInt(const Value& value, std::int64_t otherwise);
/// A string. Error kInvalidArgument for other values.
[[nodiscard]] Result<Text> ToText(const Value& value);

/// json.dumps(value, ...) with the arguments that transformers' tojson takes.
struct JsonStyle {
  bool ensure_ascii = false, sort_keys = false;
  std::optional<std::string> indent = {};
  std::string item_separator = ", ", key_separator = ": ";
};
[[nodiscard]] Result<Text> ToJson(const Value& value, const JsonStyle& style, Budget* budget);

/// strftime in the C locale.
[[nodiscard]] std::string FormatTime(std::string_view format, const std::tm& time);
/// str.format, and the % operator of strings.
[[nodiscard]] Result<Value> FormatMethod(Interpreter& interpreter, const Value& self,
                                         const Arguments& arguments);
[[nodiscard]] Result<Text> PercentFormat(const Text& format, const Value& arguments,
                                         Budget* budget);

}  // namespace bittern::jinja
