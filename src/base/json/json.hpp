// SPDX-License-Identifier: Apache-2.0
// JSON as a small tree, read from strangers and written for others (RFC 8259): headers of
// safetensors files, config.json, requests, answers, reports. Integers stay integers (offsets go
// beyond 2^53), keys keep their order and may not repeat in a text, and depth and number of values
// are bounded before memory is spent on them.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.hpp"

namespace bittern {

/// Limits of a text that is parsed. A value takes about 50 bytes of memory.
struct JsonLimits {
  std::size_t max_bytes = std::size_t{16} << 20;
  std::size_t max_depth = 32;
  std::size_t max_values = std::size_t{1} << 20;
};

/// One value: null, bool, unsigned (0 or more), signed (below 0), double, string, array, object.
/// Copies are deep. Thread rule of a standard container.
class Json {
 public:
  struct Member;
  class Part;
  using Array = std::vector<Json>;
  using Object = std::vector<Member>;  ///< in the text's order
  using Value = std::variant<std::monostate, bool, std::uint64_t, std::int64_t, double, std::string,
                             Array, Object>;

  // All in json.cpp, where Member is a complete type.
  Json() noexcept;
  explicit Json(Value value);
  Json(const Json& other);
  Json(Json&& other) noexcept;
  Json& operator=(const Json& other);
  Json& operator=(Json&& other) noexcept;
  ~Json();

  // NOLINTBEGIN(google-explicit-constructor): values are written where a Json is expected.
  Json(std::nullptr_t) noexcept;
  template <std::same_as<bool> T>
  Json(T value) : Json(Value(value)) {}
  template <std::integral T>
    requires(!std::same_as<T, bool> && !std::same_as<T, char>)
  Json(T value) : Json(OfInteger(value)) {}
  template <std::floating_point T>
  Json(T value) : Json(Value(static_cast<double>(value))) {}
  Json(std::string text);
  Json(std::string_view text);
  Json(const char* text);
  Json(Array array);
  Json(Object object);
  /// An array of what each element becomes.
  template <class T>
    requires(!std::same_as<T, Json> && !std::same_as<T, Member> &&
             std::constructible_from<Json, const T&>)
  Json(const std::vector<T>& values) : Json(std::span<const T>(values)) {}
  template <class T>
    requires std::constructible_from<Json, const T&>
  Json(std::span<T> values) : Json(Array(values.begin(), values.end())) {}
  /// {{"key", value}, ...} is an object, else an array; {} is null. Not for one Json: clang copies.
  Json(std::initializer_list<Part> parts);
  // NOLINTEND(google-explicit-constructor)
  [[nodiscard]] static Json MakeArray(Array values = {});
  [[nodiscard]] static Json MakeObject();

  /// Errors kCorruptFile: not JSON (with the byte where), a key twice in one object, or beyond
  /// the limits.
  [[nodiscard]] static Result<Json> Parse(std::string_view text, const JsonLimits& limits);

  [[nodiscard]] bool is_null() const noexcept {
    return std::holds_alternative<std::monostate>(value_);
  }
  [[nodiscard]] bool is_string() const noexcept { return AsString() != nullptr; }
  [[nodiscard]] bool is_array() const noexcept { return AsArray() != nullptr; }
  [[nodiscard]] bool is_object() const noexcept { return AsObject() != nullptr; }
  [[nodiscard]] bool is_number() const noexcept { return AsNumber().has_value(); }
  /// Null where the value is of another type.
  [[nodiscard]] const std::string* AsString() const noexcept {
    return std::get_if<std::string>(&value_);
  }
  [[nodiscard]] const Array* AsArray() const noexcept { return std::get_if<Array>(&value_); }
  [[nodiscard]] const Object* AsObject() const noexcept { return std::get_if<Object>(&value_); }
  [[nodiscard]] std::optional<bool> AsBool() const noexcept;
  [[nodiscard]] std::optional<std::uint64_t> AsUint() const noexcept;  ///< integers of 0 or more
  [[nodiscard]] std::optional<std::int64_t> AsInt() const noexcept;    ///< integers below 0
  [[nodiscard]] std::optional<double> AsNumber() const noexcept;       ///< any number

  /// The elements of an array, the members of an object; of any other value none.
  [[nodiscard]] const Array& elements() const noexcept;
  [[nodiscard]] const Object& members() const noexcept;
  /// The text of a string; of any other value an empty one.
  [[nodiscard]] const std::string& text() const noexcept;
  /// Elements or members; 0 for other values.
  [[nodiscard]] std::size_t size() const noexcept;
  [[nodiscard]] bool empty() const noexcept { return size() == 0; }

  /// The member of that name; null if there is none, or if this is no object. Linear.
  [[nodiscard]] const Json* Find(std::string_view key) const noexcept;
  [[nodiscard]] Json* Find(std::string_view key) noexcept;
  [[nodiscard]] bool contains(std::string_view key) const noexcept { return Find(key) != nullptr; }
  /// The member of that name or the element at that place; a null value where there is none.
  [[nodiscard]] const Json& operator[](std::string_view key) const noexcept;
  template <std::integral T>
  [[nodiscard]] const Json& operator[](T place) const noexcept {
    return ElementAt(static_cast<std::size_t>(place));
  }
  /// The member of that name, made if there is none. A value of another type becomes an object.
  Json& operator[](std::string_view key);
  /// The element at that place, which an array must have.
  template <std::integral T>
  Json& operator[](T place) {
    return std::get<Array>(value_)[static_cast<std::size_t>(place)];
  }
  /// Appends to an array; a value of another type becomes one. The element.
  Json& push_back(Json value);
  /// Appends a member without a look for its key, which must be new.
  Json& Append(std::string key, Json value);
  /// Sets or replaces each member of `object`.
  void Update(Json object);
  /// Takes a member out; nothing happens where there is none.
  void Erase(std::string_view key) noexcept;

  /// As text: one line, or lines indented by `indent` blanks a level. Always UTF-8 (bad bytes
  /// become U+FFFD), doubles in the fewest digits that read back the same, those that are not
  /// finite as null. Calls itself once a level.
  [[nodiscard]] std::string Dump(int indent = -1) const;
  /// As Dump, in one line of ASCII.
  [[nodiscard]] std::string DumpAscii() const;
  /// Equal types, values and order; 1 and 1.0 differ.
  [[nodiscard]] bool operator==(const Json& other) const noexcept;

  /// "a string", "an object", ...: for messages.
  [[nodiscard]] std::string_view TypeName() const noexcept;
  /// The value of a number, a bool or a string, else TypeName: for messages.
  [[nodiscard]] std::string Shown() const;

 private:
  [[nodiscard]] const Json& ElementAt(std::size_t place) const noexcept;
  template <std::integral T>
  [[nodiscard]] static Value OfInteger(T value) {
    if (std::cmp_less(value, 0)) return Value(static_cast<std::int64_t>(value));
    return Value(static_cast<std::uint64_t>(value));
  }

  Value value_;
};

struct Json::Member {
  std::string key;
  Json value;

  [[nodiscard]] bool operator==(const Member& other) const noexcept = default;
};

/// An element of an initializer list. Lists give only constant elements; this one can be moved out.
class Json::Part {
 public:
  // NOLINTBEGIN(google-explicit-constructor)
  template <class T>
    requires std::constructible_from<Json, T&&>
  Part(T&& value) : value_(std::forward<T>(value)) {}
  Part(std::initializer_list<Part> parts) : value_(parts) {}
  // NOLINTEND(google-explicit-constructor)

  [[nodiscard]] const Json& value() const noexcept { return value_; }
  [[nodiscard]] Json Take() const { return std::move(value_); }

 private:
  mutable Json value_;
};

}  // namespace bittern
