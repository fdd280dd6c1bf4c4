// SPDX-License-Identifier: Apache-2.0
// One element at a time, so that an array of a million costs no more than its first few.
#include "report/inspect/values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/json/json.hpp"
#include "base/text/display.hpp"

namespace bittern::report {
namespace {

using formats::MetaArray;
using formats::MetaType;
using formats::MetaValue;

constexpr std::size_t kTextElements = 4, kJsonElements = 8;
constexpr std::size_t kTextBytes = 72, kElementBytes = 24;

template <class T>
T Load(std::span<const std::byte> raw, std::size_t index) {
  T number;
  std::memcpy(&number, raw.data() + index * sizeof(T), sizeof(T));
  return number;
}

/// Element `index` of an array as a value of its own.
MetaValue ElementAt(const MetaArray& array, std::size_t index) {
  const auto unsigned_value = [&](std::uint64_t n) { return MetaValue{array.element_type, n}; };
  const auto signed_value = [&](std::int64_t n) { return MetaValue{array.element_type, n}; };
  switch (array.element_type) {
    case MetaType::kU8:
      return unsigned_value(Load<std::uint8_t>(array.raw, index));
    case MetaType::kU16:
      return unsigned_value(Load<std::uint16_t>(array.raw, index));
    case MetaType::kU32:
      return unsigned_value(Load<std::uint32_t>(array.raw, index));
    case MetaType::kU64:
      return unsigned_value(Load<std::uint64_t>(array.raw, index));
    case MetaType::kI8:
      return signed_value(Load<std::int8_t>(array.raw, index));
    case MetaType::kI16:
      return signed_value(Load<std::int16_t>(array.raw, index));
    case MetaType::kI32:
      return signed_value(Load<std::int32_t>(array.raw, index));
    case MetaType::kI64:
      return signed_value(Load<std::int64_t>(array.raw, index));
    case MetaType::kF32:
      return {MetaType::kF32, double{Load<float>(array.raw, index)}};
    case MetaType::kF64:
      return {MetaType::kF64, Load<double>(array.raw, index)};
    case MetaType::kBool:
      return {MetaType::kBool, Load<std::uint8_t>(array.raw, index) != 0};
    case MetaType::kString:
      return {MetaType::kString, array.strings[index]};
    case MetaType::kArray:
      break;  // the reader refuses arrays of arrays
  }
  return {};
}

/// The digits an f32 needs, not those of the double it was widened to.
std::string FloatText(const MetaValue& value, double number) {
  return value.type == MetaType::kF32 ? fmt::format("{}", static_cast<float>(number))
                                      : fmt::format("{}", number);
}

std::string ScalarText(const MetaValue& value, std::size_t max_bytes) {
  if (const auto* text = std::get_if<std::string_view>(&value.value)) {
    return Quoted(*text, max_bytes);
  }
  if (const auto* number = std::get_if<double>(&value.value)) return FloatText(value, *number);
  if (const auto* number = std::get_if<std::int64_t>(&value.value)) return fmt::to_string(*number);
  if (const auto* flag = std::get_if<bool>(&value.value)) return *flag ? "true" : "false";
  return fmt::to_string(std::get<std::uint64_t>(value.value));
}

Json ScalarJson(const MetaValue& value) {
  if (const auto* text = std::get_if<std::string_view>(&value.value)) return std::string(*text);
  if (const auto* number = std::get_if<double>(&value.value)) {
    return std::strtod(FloatText(value, *number).c_str(), nullptr);
  }
  if (const auto* number = std::get_if<std::int64_t>(&value.value)) return *number;
  if (const auto* flag = std::get_if<bool>(&value.value)) return *flag;
  return std::get<std::uint64_t>(value.value);
}

}  // namespace

std::string ValueTypeText(const MetaValue& value) {
  if (const auto* array = std::get_if<MetaArray>(&value.value)) {
    return fmt::format("{}[{}]", formats::MetaTypeName(array->element_type), array->count);
  }
  return std::string(formats::MetaTypeName(value.type));
}

std::string ValueText(const MetaValue& value) {
  const auto* array = std::get_if<MetaArray>(&value.value);
  if (array == nullptr) return ScalarText(value, kTextBytes);
  std::string text = "[";
  const std::size_t shown = std::min<std::size_t>(array->count, kTextElements);
  for (std::size_t i = 0; i < shown; ++i) {
    if (i != 0) text += ", ";
    text += ScalarText(ElementAt(*array, i), kElementBytes);
  }
  return text + (array->count > shown ? ", ...]" : "]");
}

Json ValueJson(const MetaValue& value) {
  const auto* array = std::get_if<MetaArray>(&value.value);
  if (array == nullptr) return ScalarJson(value);
  Json first = Json::MakeArray();
  const std::size_t shown = std::min<std::size_t>(array->count, kJsonElements);
  for (std::size_t i = 0; i < shown; ++i) first.push_back(ScalarJson(ElementAt(*array, i)));
  return {{"count", array->count}, {"first", std::move(first)}};
}

}  // namespace bittern::report
