// SPDX-License-Identifier: Apache-2.0
#include "formats/hf/hf_config_values.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <utility>

namespace bittern::formats::config_json {
namespace {

constexpr std::uint64_t kMaxSize = std::uint64_t{1} << 24;  // of any number below

}  // namespace

tl::unexpected<Error> CorruptConfig(std::string message) {
  return Fail(ErrorCode::kCorruptFile, std::move(message));
}

tl::unexpected<Error> Unsupported(std::string message) {
  return Fail(ErrorCode::kUnsupported, std::move(message));
}

/// The value under `key`; null where it is absent or null.
const Json* Present(const Json& object, std::string_view key) {
  const Json* value = object.Find(key);
  return value == nullptr || value->is_null() ? nullptr : value;
}

tl::unexpected<Error> WrongType(std::string_view key, std::string_view expected,
                                const Json& found) {
  return CorruptConfig(fmt::format("{}: {} expected, {} found", key, expected, found.Shown()));
}

/// A size from 1 to 2^24; nullopt where the key is absent or null. The limit keeps products of two
/// sizes far from overflow.
Result<std::optional<std::uint64_t>> OptionalSize(const Json& json, std::string_view key) {
  const Json* value = Present(json, key);
  if (value == nullptr) return std::nullopt;
  const auto number = value->AsUint();
  if (!number) return WrongType(key, "an integer of 1 or more", *value);
  if (*number < 1 || *number > kMaxSize) {
    return CorruptConfig(fmt::format("{}: 1 to {} expected, {} found", key, kMaxSize, *number));
  }
  return *number;
}

/// A size that must be there.
Result<std::uint64_t> Size(const Json& json, std::string_view key) {
  const auto value = BITTERN_TRY(OptionalSize(json, key));
  if (!value)
    return CorruptConfig(fmt::format("{} is missing; an integer of 1 or more expected", key));
  return *value;
}

/// A number that a float can hold; nullopt where the key is absent or null. NaN is refused too.
Result<std::optional<float>> OptionalFloat(const Json& json, std::string_view key) {
  const Json* value = Present(json, key);
  if (value == nullptr) return std::nullopt;
  const auto number = value->AsNumber();
  if (!number) return WrongType(key, "a number", *value);
  const bool fits = std::fabs(*number) <= std::numeric_limits<float>::max();
  if (!fits) return CorruptConfig(fmt::format("{}: {} is not a float", key, *number));
  return static_cast<float>(*number);
}

Result<std::optional<bool>> OptionalBool(const Json& json, std::string_view key) {
  const Json* value = Present(json, key);
  if (value == nullptr) return std::nullopt;
  const auto flag = value->AsBool();
  if (!flag) return WrongType(key, "a bool", *value);
  return *flag;
}

Result<std::optional<std::string>> OptionalString(const Json& json, std::string_view key) {
  const Json* value = Present(json, key);
  if (value == nullptr) return std::nullopt;
  if (value->AsString() == nullptr) return WrongType(key, "a string", *value);
  return *value->AsString();
}

Result<float> Float(const Json& json, std::string_view key) {
  const auto value = BITTERN_TRY(OptionalFloat(json, key));
  if (!value) return CorruptConfig(fmt::format("{} is missing; a number expected", key));
  return *value;
}

}  // namespace bittern::formats::config_json
