// SPDX-License-Identifier: Apache-2.0
// Metadata in the making: entries of a file that is read, changed and added to, for a file that is
// written. Owns what it adds.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/metadata.hpp"

namespace bittern::formats {

/// An ordered list of keys and values. Set replaces a value in its place or adds it at the end.
class MetadataDraft {
 public:
  MetadataDraft() = default;
  /// Starts with the entries of `source`, whose values are viewed: it must outlive the draft.
  explicit MetadataDraft(const Metadata& source);
  MetadataDraft(MetadataDraft&&) noexcept = default;
  MetadataDraft& operator=(MetadataDraft&&) noexcept = default;

  [[nodiscard]] std::span<const Metadata::Entry> entries() const noexcept { return entries_; }
  /// nullptr if there is no such key.
  [[nodiscard]] const MetaValue* Find(std::string_view key) const noexcept;
  /// A number of 0 or more, of any integer type; nullopt if there is none.
  [[nodiscard]] std::optional<std::uint64_t> Uint(std::string_view key) const noexcept;
  /// A float of either type, or an integer.
  [[nodiscard]] std::optional<double> Number(std::string_view key) const noexcept;
  /// An array of i32 or u32; empty if there is none.
  [[nodiscard]] std::vector<std::int32_t> Ints(std::string_view key) const;
  /// The text of a string key; empty if there is none.
  [[nodiscard]] std::string_view Text(std::string_view key) const noexcept;

  /// `value` views bytes that must outlive the draft.
  void Add(std::string key, MetaValue value);  ///< a key that is not there yet
  void Set(std::string_view key, MetaValue value);
  void SetString(std::string_view key, std::string text);
  void SetUint32(std::string_view key, std::uint32_t number);
  void SetFloat(std::string_view key, float number);
  void SetBool(std::string_view key, bool flag);
  void SetUint32s(std::string_view key, std::span<const std::uint32_t> numbers);
  void SetStrings(std::string_view key, std::vector<std::string> texts);
  /// Puts `to` in place of `from` at the front of every key that begins with it.
  void RenamePrefix(std::string_view from, std::string_view to);
  /// False if there was no such key.
  bool Remove(std::string_view key);

  /// Keeps `text` for as long as the draft lives.
  [[nodiscard]] std::string_view Own(std::string text);

 private:
  std::vector<Metadata::Entry> entries_;
  std::deque<std::string> owned_;  // a deque: views into it stay good as it grows
};

}  // namespace bittern::formats
