// SPDX-License-Identifier: Apache-2.0
// Entries are views. Owned texts lie in a deque, whose elements never move, so views stay valid as
// the draft grows.
#include "formats/metadata_draft.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace bittern::formats {
namespace {

std::span<const std::byte> AsRaw(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

}  // namespace

MetadataDraft::MetadataDraft(const Metadata& source)
    : entries_(source.entries().begin(), source.entries().end()) {}

const MetaValue* MetadataDraft::Find(std::string_view key) const noexcept {
  const auto found = std::ranges::find(entries_, key, &Metadata::Entry::key);
  return found == entries_.end() ? nullptr : &found->value;
}

std::string_view MetadataDraft::Text(std::string_view key) const noexcept {
  const MetaValue* value = Find(key);
  const auto* text = value == nullptr ? nullptr : std::get_if<std::string_view>(&value->value);
  return text == nullptr ? std::string_view() : *text;
}

void MetadataDraft::Add(std::string key, MetaValue value) {
  entries_.push_back({std::move(key), std::move(value)});
}

void MetadataDraft::Set(std::string_view key, MetaValue value) {
  const auto found = std::ranges::find(entries_, key, &Metadata::Entry::key);
  if (found != entries_.end()) {
    found->value = std::move(value);
  } else {
    entries_.push_back({std::string(key), std::move(value)});
  }
}

std::string_view MetadataDraft::Own(std::string text) {
  return owned_.emplace_back(std::move(text));
}

void MetadataDraft::SetString(std::string_view key, std::string text) {
  Set(key, {MetaType::kString, Own(std::move(text))});
}

void MetadataDraft::SetUint32(std::string_view key, std::uint32_t number) {
  Set(key, {MetaType::kU32, std::uint64_t{number}});
}

void MetadataDraft::SetFloat(std::string_view key, float number) {
  Set(key, {MetaType::kF32, double{number}});
}

void MetadataDraft::SetBool(std::string_view key, bool flag) { Set(key, {MetaType::kBool, flag}); }

void MetadataDraft::SetUint32s(std::string_view key, std::span<const std::uint32_t> numbers) {
  const auto bytes = std::as_bytes(numbers);
  const std::string_view raw =
      Own(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  Set(key, {MetaType::kArray, MetaArray{MetaType::kU32, numbers.size(), AsRaw(raw), {}}});
}

void MetadataDraft::SetStrings(std::string_view key, std::vector<std::string> texts) {
  MetaArray array{MetaType::kString, texts.size(), {}, {}};
  array.strings.reserve(texts.size());
  for (std::string& text : texts) array.strings.push_back(Own(std::move(text)));
  Set(key, {MetaType::kArray, std::move(array)});
}

void MetadataDraft::RenamePrefix(std::string_view from, std::string_view to) {
  for (auto& entry : entries_) {
    if (entry.key.starts_with(from)) entry.key.replace(0, from.size(), to);
  }
}

std::optional<std::uint64_t> MetadataDraft::Uint(std::string_view key) const noexcept {
  const MetaValue* value = Find(key);
  if (value == nullptr) return std::nullopt;
  if (const auto* number = std::get_if<std::uint64_t>(&value->value)) return *number;
  const auto* number = std::get_if<std::int64_t>(&value->value);
  if (number == nullptr || *number < 0) return std::nullopt;
  return static_cast<std::uint64_t>(*number);
}

std::optional<double> MetadataDraft::Number(std::string_view key) const noexcept {
  const MetaValue* value = Find(key);
  if (value == nullptr) return std::nullopt;
  if (const auto* number = std::get_if<double>(&value->value)) return *number;
  if (const auto integer = Uint(key)) return static_cast<double>(*integer);
  return std::nullopt;
}

std::vector<std::int32_t> MetadataDraft::Ints(std::string_view key) const {
  const MetaValue* value = Find(key);
  const auto* array = value == nullptr ? nullptr : std::get_if<MetaArray>(&value->value);
  const bool ints = array != nullptr && (array->element_type == MetaType::kI32 ||
                                         array->element_type == MetaType::kU32);
  std::vector<std::int32_t> numbers(ints ? array->count : 0);
  if (!numbers.empty()) std::memcpy(numbers.data(), array->raw.data(), array->raw.size());
  return numbers;
}

bool MetadataDraft::Remove(std::string_view key) {
  return std::erase_if(entries_, [&](const auto& entry) { return entry.key == key; }) != 0;
}

}  // namespace bittern::formats
