// SPDX-License-Identifier: Apache-2.0
// Typed getters. An error names the key, the type expected and the type found.
#include "formats/metadata.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "base/text/display.hpp"

namespace bittern::formats {
namespace {

/// "u32", or "array of str" for arrays.
std::string Describe(const MetaValue& value) {
  if (const auto* array = std::get_if<MetaArray>(&value.value)) {
    return fmt::format("array of {}", MetaTypeName(array->element_type));
  }
  return std::string(MetaTypeName(value.type));
}

tl::unexpected<Error> WrongType(std::string_view key, std::string_view expected,
                                const MetaValue& found) {
  return Fail(ErrorCode::kCorruptFile,
              fmt::format("key {}: {} expected, {} found", Quoted(key), expected, Describe(found)));
}

/// The array behind `key` if it has one of some element types, null for an absent key.
Result<const MetaArray*> FindArray(const Metadata& metadata, std::string_view key,
                                   std::initializer_list<MetaType> types,
                                   std::string_view expected) {
  const MetaValue* value = metadata.Find(key);
  if (value == nullptr) return nullptr;
  const auto* array = std::get_if<MetaArray>(&value->value);
  if (array == nullptr || std::ranges::find(types, array->element_type) == types.end()) {
    return WrongType(key, expected, *value);
  }
  return array;
}

}  // namespace

std::string_view MetaTypeName(MetaType type) noexcept {
  static constexpr std::string_view kNames[] = {"u8",   "i8",  "u16",   "i16", "u32", "i32", "f32",
                                                "bool", "str", "array", "u64", "i64", "f64"};
  const auto index = static_cast<std::size_t>(type);
  return index < std::size(kNames) ? kNames[index] : "unknown type";
}

Result<void> Metadata::Add(std::string key, MetaValue value) {
  if (!index_.try_emplace(key, entries_.size()).second) {
    return Fail(ErrorCode::kCorruptFile, fmt::format("key {} appears twice", Quoted(key)));
  }
  entries_.push_back({std::move(key), std::move(value)});
  return {};
}

/// Notes that the key was read, for the list of keys that nothing asked for. Several threads may
/// read, so the note is atomic.
const MetaValue* Metadata::Find(std::string_view key) const {
  const auto found = index_.find(std::string(key));
  if (found == index_.end()) return nullptr;
  const Entry& entry = entries_[found->second];
  std::atomic_ref(entry.was_read).store(true, std::memory_order_relaxed);
  return &entry.value;
}

bool Metadata::WasRead(std::string_view key) const {
  const auto found = index_.find(std::string(key));
  if (found == index_.end()) return false;
  return std::atomic_ref(entries_[found->second].was_read).load(std::memory_order_relaxed);
}

/// Writers differ in whether a count is signed, so both are taken; a negative one is refused, not
/// wrapped.
Result<std::optional<std::uint64_t>> Metadata::GetUint(std::string_view key) const {
  const MetaValue* value = Find(key);
  if (value == nullptr) return std::nullopt;
  if (const auto* number = std::get_if<std::uint64_t>(&value->value)) return *number;
  const auto* number = std::get_if<std::int64_t>(&value->value);
  if (number == nullptr) return WrongType(key, "an integer", *value);
  if (*number < 0) {
    return Fail(
        ErrorCode::kCorruptFile,
        fmt::format("key {}: an integer of 0 or more expected, {} found", Quoted(key), *number));
  }
  return static_cast<std::uint64_t>(*number);
}

/// A whole number is a number: some writers drop the point of 10000.0.
Result<std::optional<double>> Metadata::GetFloat(std::string_view key) const {
  const MetaValue* value = Find(key);
  if (value == nullptr) return std::nullopt;
  if (const auto* real = std::get_if<double>(&value->value)) return *real;
  if (const auto* number = std::get_if<std::uint64_t>(&value->value)) {
    return static_cast<double>(*number);
  }
  if (const auto* number = std::get_if<std::int64_t>(&value->value)) {
    return static_cast<double>(*number);
  }
  return WrongType(key, "a number", *value);
}

Result<std::optional<bool>> Metadata::GetBool(std::string_view key) const {
  const MetaValue* value = Find(key);
  if (value == nullptr) return std::nullopt;
  if (const auto* flag = std::get_if<bool>(&value->value)) return *flag;
  return WrongType(key, "a bool", *value);
}

Result<std::optional<std::string_view>> Metadata::GetString(std::string_view key) const {
  const MetaValue* value = Find(key);
  if (value == nullptr) return std::nullopt;
  if (const auto* text = std::get_if<std::string_view>(&value->value)) return *text;
  return WrongType(key, "a string", *value);
}

Result<std::optional<std::span<const std::string_view>>> Metadata::GetStrings(
    std::string_view key) const {
  const MetaArray* array =
      BITTERN_TRY(FindArray(*this, key, {MetaType::kString}, "an array of str"));
  if (array == nullptr) return std::nullopt;
  return std::span<const std::string_view>(array->strings);
}

Result<std::optional<std::vector<std::int32_t>>> Metadata::GetInts(std::string_view key) const {
  const MetaArray* array = BITTERN_TRY(FindArray(
      *this, key, {MetaType::kI32, MetaType::kU32, MetaType::kI8}, "an array of i32, u32 or i8"));
  if (array == nullptr) return std::nullopt;
  std::vector<std::int32_t> values(array->count);
  if (array->element_type == MetaType::kI8) {
    std::ranges::transform(array->raw, values.begin(),
                           [](std::byte value) { return static_cast<std::int8_t>(value); });
    return values;
  }
  if (!values.empty()) std::memcpy(values.data(), array->raw.data(), array->raw.size());
  if (array->element_type == MetaType::kI32) return values;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] >= 0) continue;
    return Fail(ErrorCode::kCorruptFile,
                fmt::format("key {}: element {} is {}, more than the {} expected at most",
                            Quoted(key), i, static_cast<std::uint32_t>(values[i]),
                            std::numeric_limits<std::int32_t>::max()));
  }
  return values;
}

Result<std::optional<std::vector<bool>>> Metadata::GetBools(std::string_view key) const {
  const MetaArray* array =
      BITTERN_TRY(FindArray(*this, key, {MetaType::kBool}, "an array of bool"));
  if (array == nullptr) return std::nullopt;
  std::vector<bool> values;
  for (const std::byte value : array->raw) values.push_back(value != std::byte{0});
  return values;
}

Result<std::optional<std::vector<float>>> Metadata::GetFloats(std::string_view key) const {
  const MetaArray* array = BITTERN_TRY(FindArray(*this, key, {MetaType::kF32}, "an array of f32"));
  if (array == nullptr) return std::nullopt;
  std::vector<float> values(array->count);
  if (!values.empty()) std::memcpy(values.data(), array->raw.data(), array->raw.size());
  return values;
}

}  // namespace bittern::formats
