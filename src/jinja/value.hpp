// SPDX-License-Identifier: Apache-2.0
// The values of a template: those of JSON, and what Jinja adds. Lists and dictionaries never change
// once made (transformers' sandbox forbids it as well), so values are shared, not copied.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.hpp"
#include "jinja/text/text.hpp"

namespace bittern::jinja {

class Value;
class Interpreter;
struct List;
struct Dict;
struct Namespace;
class Object;

/// A name or member that is not there; most uses of it are errors, which say `why`.
struct Undefined {
  std::shared_ptr<const std::string> why;
};
struct None {};

/// The arguments of a call, evaluated.
struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> keywords;
};

/// One value of a template. A copy costs no more than a shared pointer.
class Value {
 public:
  using TextPtr = std::shared_ptr<const Text>;
  using ListPtr = std::shared_ptr<const List>;
  using DictPtr = std::shared_ptr<const Dict>;
  using NamespacePtr = std::shared_ptr<Namespace>;
  using ObjectPtr = std::shared_ptr<Object>;
  using Storage = std::variant<Undefined, None, bool, std::int64_t, double, TextPtr, ListPtr,
                               DictPtr, NamespacePtr, ObjectPtr>;

  Value() = default;  ///< undefined, without a reason
  explicit Value(Storage storage) : storage_(std::move(storage)) {}
  [[nodiscard]] static Value Missing(std::string why);
  [[nodiscard]] static Value Null() { return Value(Storage(None{})); }
  [[nodiscard]] static Value Bool(bool value) { return Value(Storage(value)); }
  [[nodiscard]] static Value Int(std::int64_t value) { return Value(Storage(value)); }
  [[nodiscard]] static Value Float(double value) { return Value(Storage(value)); }
  [[nodiscard]] static Value String(Text text);
  [[nodiscard]] static Value String(std::string bytes, Origin origin = {});

  template <class T>
  [[nodiscard]] const T* As() const noexcept {
    return std::get_if<T>(&storage_);
  }
  [[nodiscard]] bool IsUndefined() const noexcept { return As<Undefined>() != nullptr; }
  [[nodiscard]] bool IsNone() const noexcept { return As<None>() != nullptr; }
  /// Null where the value is of another kind.
  [[nodiscard]] const Text* AsText() const noexcept;
  [[nodiscard]] const List* AsList() const noexcept;
  [[nodiscard]] const Dict* AsDict() const noexcept;
  [[nodiscard]] Namespace* AsNamespace() const noexcept;
  [[nodiscard]] Object* AsObject() const noexcept;
  /// Integers and booleans, which are 0 and 1 as in Python.
  [[nodiscard]] std::optional<std::int64_t> AsInt() const noexcept;
  /// Any number.
  [[nodiscard]] std::optional<double> AsNumber() const noexcept;

  /// How deep lists and dictionaries nest in it; 0 for plain values.
  [[nodiscard]] int Nesting() const noexcept;
  /// Python's name of the type, "str", "dict", ...: for messages.
  [[nodiscard]] std::string TypeName() const;

 private:
  Storage storage_;
};

/// A value that iterates like a list, and its name in Python.
enum class ListKind : std::uint8_t { kList, kTuple, kRange, kGenerator, kItems, kKeys, kValues };

struct List {
  ListKind kind = ListKind::kList;
  std::vector<Value> items;
  int nesting = 1;
  std::vector<std::string_view> names = {};  ///< of a named tuple's items
  mutable bool consumed = false;             ///< of a generator: it gives its items once
};

/// Keys in the order in which they were added.
struct Dict {
  using Entry = std::pair<Value, Value>;
  std::vector<Entry> entries;
  std::unordered_map<std::string, std::size_t> by_name;  ///< string keys
  int nesting = 1;

  [[nodiscard]] const Value* Find(std::string_view key) const;
  /// Replaces the value of an equal key, else adds one.
  void Set(Value key, Value value);
};

/// The object of `namespace(...)`: the only thing a template can change.
struct Namespace {
  std::vector<std::pair<std::string, Value>> members;
};

/// Functions, macros, bound methods, `loop`.
class Object {
 public:
  virtual ~Object() = default;
  /// Nothing where there is no such attribute.
  [[nodiscard]] virtual std::optional<Value> Attribute(std::string_view name) const;
  [[nodiscard]] virtual bool IsCallable() const { return true; }
  [[nodiscard]] virtual Result<Value> Call(Interpreter& interpreter, const Arguments& arguments);
  [[nodiscard]] virtual std::string Name() const = 0;
  [[nodiscard]] virtual int Nesting() const { return 0; }
};

/// Error kUnsupported where lists would nest deeper than kMaxNesting.
[[nodiscard]] Result<Value> MakeList(std::vector<Value> items, ListKind kind = ListKind::kList);
[[nodiscard]] Result<Value> MakeDict(Dict dict);

}  // namespace bittern::jinja
