// SPDX-License-Identifier: Apache-2.0
// The key-value part of a checkpoint. Types are GGUF's, since every other source is mapped to
// its keys; strings and arrays are views into the mapped file, or into texts owned here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "base/result.hpp"

namespace bittern::formats {

/// GGUF value types with their ids (GGUF spec v3, "gguf_metadata_value_type").
enum class MetaType : std::uint32_t {
  kU8 = 0,
  kI8,
  kU16,
  kI16,
  kU32,
  kI32,
  kF32,
  kBool,
  kString,
  kArray,
  kU64,
  kI64,
  kF64,
};

/// "u32", "str", ... as `inspect` prints them.
[[nodiscard]] std::string_view MetaTypeName(MetaType type) noexcept;

/// An array of numbers (raw little-endian bytes) or of strings. Views, as is MetaValue.
struct MetaArray {
  MetaType element_type = MetaType::kU8;
  std::uint64_t count = 0;
  std::span<const std::byte> raw;         ///< count elements, unaligned; empty for strings
  std::vector<std::string_view> strings;  ///< for kString
};

/// One value: unsigned and signed integers, floats, bool, string or array.
struct MetaValue {
  MetaType type = MetaType::kU8;
  std::variant<std::uint64_t, std::int64_t, double, bool, std::string_view, MetaArray> value;
};

/// Keys in file order, with typed look-up. A getter returns nullopt for an absent key and
/// kCorruptFile, naming key, expected and found, for a value of another type or out of range.
class Metadata {
 public:
  struct Entry {
    std::string key;
    MetaValue value;
    bool overridden = false;        ///< Set by the user, not by the file.
    mutable bool was_read = false;  ///< Find() has met it. Written by std::atomic_ref only.
  };

  /// Error kCorruptFile: the key is there already.
  [[nodiscard]] Result<void> Add(std::string key, MetaValue value);

  /// For sources that are no GGUF files: as Add, but this object owns the value. Types are those
  /// that GGUF files use for such keys: u32, f32, bool, str, arrays of str, i32, f32
  /// and bool.
  [[nodiscard]] Result<void> AddUint(std::string key, std::uint32_t value);
  [[nodiscard]] Result<void> AddFloat(std::string key, float value);
  [[nodiscard]] Result<void> AddBool(std::string key, bool value);
  [[nodiscard]] Result<void> AddString(std::string key, std::string value);
  [[nodiscard]] Result<void> AddStrings(std::string key, std::span<const std::string> values);
  [[nodiscard]] Result<void> AddInts(std::string key, std::span<const std::int32_t> values);
  [[nodiscard]] Result<void> AddBools(std::string key, const std::vector<bool>& values);
  [[nodiscard]] Result<void> AddFloats(std::string key, std::span<const float> values);

  /// Takes a key away, so that it can be added anew. False if it was not there.
  bool Remove(std::string_view key);

  /// Applies llama.cpp's `--override-kv` text: KEY=TYPE:VALUE, TYPE one of int, float, bool,
  /// str. Replaces or adds; a new general.architecture takes the keys of the old one with it.
  /// Error kInvalidArgument names what is wrong with the text.
  [[nodiscard]] Result<void> Override(std::string_view text);

  [[nodiscard]] std::span<const Entry> entries() const noexcept { return entries_; }
  [[nodiscard]] const MetaValue* Find(std::string_view key) const;
  /// True if the key is there and has been looked up since it was added or overridden. Any number
  /// of threads may look things up.
  [[nodiscard]] bool WasRead(std::string_view key) const;

  /// Any integer type whose value is not negative.
  [[nodiscard]] Result<std::optional<std::uint64_t>> GetUint(std::string_view key) const;
  /// f32, f64 or any integer type.
  [[nodiscard]] Result<std::optional<double>> GetFloat(std::string_view key) const;
  [[nodiscard]] Result<std::optional<bool>> GetBool(std::string_view key) const;
  [[nodiscard]] Result<std::optional<std::string_view>> GetString(std::string_view key) const;
  /// The span lives as long as this object is neither moved nor overridden.
  [[nodiscard]] Result<std::optional<std::span<const std::string_view>>> GetStrings(
      std::string_view key) const;
  /// Arrays of u32, i32 or i8 (others are refused).
  [[nodiscard]] Result<std::optional<std::vector<std::int32_t>>> GetInts(
      std::string_view key) const;
  /// Arrays of bool.
  [[nodiscard]] Result<std::optional<std::vector<bool>>> GetBools(std::string_view key) const;
  /// Arrays of f32.
  [[nodiscard]] Result<std::optional<std::vector<float>>> GetFloats(std::string_view key) const;

 private:
  void RenameArchitecture(std::string_view to);

  std::vector<Entry> entries_;
  std::unordered_map<std::string, std::size_t> index_;
  [[nodiscard]] Result<void> AddNumbers(std::string key, MetaType type, std::uint64_t count,
                                        std::span<const std::byte> raw);
  /// Owns what --override-kv and the Add... functions brought; values view into it.
  std::vector<std::unique_ptr<std::string>> owned_;
};

}  // namespace bittern::formats
