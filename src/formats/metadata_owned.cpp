// SPDX-License-Identifier: Apache-2.0
// Values that come from no mapped file: they are kept here, and entries view into them. Each text
// or array is one allocation, so that a vocabulary does not become 128,256 of them.
#include <utility>

#include "formats/metadata.hpp"

namespace bittern::formats {

Result<void> Metadata::AddUint(std::string key, std::uint32_t value) {
  return Add(std::move(key), {MetaType::kU32, std::uint64_t{value}});
}

Result<void> Metadata::AddFloat(std::string key, float value) {
  return Add(std::move(key), {MetaType::kF32, static_cast<double>(value)});
}

Result<void> Metadata::AddBool(std::string key, bool value) {
  return Add(std::move(key), {MetaType::kBool, value});
}

Result<void> Metadata::AddString(std::string key, std::string value) {
  owned_.push_back(std::make_unique<std::string>(std::move(value)));
  return Add(std::move(key), {MetaType::kString, std::string_view(*owned_.back())});
}

Result<void> Metadata::AddStrings(std::string key, std::span<const std::string> values) {
  auto texts = std::make_unique<std::string>();
  for (const std::string& value : values) *texts += value;
  MetaArray array{MetaType::kString, values.size(), {}, {}};
  array.strings.reserve(values.size());
  std::string_view rest = *texts;
  for (const std::string& value : values) {
    array.strings.push_back(rest.substr(0, value.size()));
    rest.remove_prefix(value.size());
  }
  owned_.push_back(std::move(texts));
  return Add(std::move(key), {MetaType::kArray, std::move(array)});
}

Result<void> Metadata::AddNumbers(std::string key, MetaType type, std::uint64_t count,
                                  std::span<const std::byte> raw) {
  owned_.push_back(
      std::make_unique<std::string>(reinterpret_cast<const char*>(raw.data()), raw.size()));
  const auto* bytes = reinterpret_cast<const std::byte*>(owned_.back()->data());
  return Add(std::move(key), {MetaType::kArray, MetaArray{type, count, {bytes, raw.size()}, {}}});
}

Result<void> Metadata::AddInts(std::string key, std::span<const std::int32_t> values) {
  return AddNumbers(std::move(key), MetaType::kI32, values.size(), std::as_bytes(values));
}

Result<void> Metadata::AddFloats(std::string key, std::span<const float> values) {
  return AddNumbers(std::move(key), MetaType::kF32, values.size(), std::as_bytes(values));
}

Result<void> Metadata::AddBools(std::string key, const std::vector<bool>& values) {
  std::vector<std::byte> bytes;
  for (const bool value : values) bytes.push_back(std::byte{value});
  return AddNumbers(std::move(key), MetaType::kBool, values.size(), bytes);
}

bool Metadata::Remove(std::string_view key) {
  const auto found = index_.find(std::string(key));
  if (found == index_.end()) return false;
  entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(found->second));
  index_.clear();
  for (std::size_t i = 0; i < entries_.size(); ++i) index_.emplace(entries_[i].key, i);
  return true;
}

}  // namespace bittern::formats
