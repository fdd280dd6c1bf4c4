// SPDX-License-Identifier: Apache-2.0
// JSON from strangers as a small tree: the headers of safetensors files, config.json,
// tokenizer.json. Integers stay integers (offsets go beyond 2^53), keys keep their order and may
// not repeat, and depth and number of values are bounded before memory is spent on them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.hpp"

namespace bittern::formats {

/// What a text may cost. A value takes about 50 bytes of memory.
struct JsonLimits {
  std::size_t max_bytes = std::size_t{16} << 20;
  std::size_t max_depth = 32;
  std::size_t max_values = std::size_t{1} << 20;
};

/// One value: null, bool, unsigned (0 or more), signed (below 0), double, string, array, object.
class Json {
 public:
  struct Member;
  using Array = std::vector<Json>;
  using Object = std::vector<Member>;  ///< in the text's order
  using Value = std::variant<std::monostate, bool, std::uint64_t, std::int64_t, double, std::string,
                             Array, Object>;

  // All in json.cpp, where Member is a complete type.
  Json();
  explicit Json(Value value);
  Json(const Json& other);
  Json(Json&& other) noexcept;
  Json& operator=(const Json& other);
  Json& operator=(Json&& other) noexcept;
  ~Json();

  /// Errors kCorruptFile: not JSON (with the byte where), a key twice in one object, or beyond
  /// the limits.
  [[nodiscard]] static Result<Json> Parse(std::string_view text, const JsonLimits& limits);

  [[nodiscard]] bool is_null() const noexcept {
    return std::holds_alternative<std::monostate>(value_);
  }
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

  /// The member of that name; null if there is none, or if this is no object. Linear.
  [[nodiscard]] const Json* Find(std::string_view key) const noexcept;
  /// "a string", "an object", ...: for messages.
  [[nodiscard]] std::string_view TypeName() const noexcept;
  /// The value of a number, a bool or a string, else TypeName: for messages.
  [[nodiscard]] std::string Shown() const;

 private:
  Value value_;
};

struct Json::Member {
  std::string key;
  Json value;
};

}  // namespace bittern::formats
