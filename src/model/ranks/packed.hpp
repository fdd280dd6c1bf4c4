// SPDX-License-Identifier: Apache-2.0
// Values one after the other, as ranks of one program send them. Both sides know the order, so
// nothing is checked.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

namespace bittern::model {

class PackedWriter {
 public:
  template <class T>
  void Values(std::span<const T> values) {
    static_assert(std::is_trivially_copyable_v<T>);
    const auto bytes = std::as_bytes(values);
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  template <class T>
  void Value(const T& value) {
    Values(std::span<const T>(&value, 1));
  }
  /// Their number, then they.
  template <class T>
  void List(std::span<const T> values) {
    Value(values.size());
    Values(values);
  }
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

class PackedReader {
 public:
  explicit PackedReader(std::span<const std::byte> bytes) noexcept : at_(bytes.data()) {}

  template <class T>
  void Values(std::span<T> values) {
    static_assert(std::is_trivially_copyable_v<T>);
    if (!values.empty()) std::memcpy(values.data(), at_, values.size_bytes());
    at_ += values.size_bytes();
  }
  template <class T>
  [[nodiscard]] T Value() {
    T value;
    Values(std::span<T>(&value, 1));
    return value;
  }
  template <class T>
  [[nodiscard]] std::vector<T> List() {
    std::vector<T> values(Value<std::size_t>());
    Values(std::span<T>(values));
    return values;
  }

 private:
  const std::byte* at_;
};

}  // namespace bittern::model
