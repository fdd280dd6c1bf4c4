// SPDX-License-Identifier: Apache-2.0
// A bounds-checked little-endian reader. Every parser of untrusted bytes uses only this, so no
// parser can read outside its buffer; errors carry the offset where the bytes ran out.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace bittern {

static_assert(std::endian::native == std::endian::little,
              "Bittern reads little-endian files in place; big-endian CPUs are not supported");

/// a + b and a * b, or false when the result does not fit in 64 bits.
[[nodiscard]] inline bool CheckedAdd(std::uint64_t a, std::uint64_t b, std::uint64_t* out) {
  return !__builtin_add_overflow(a, b, out);
}
[[nodiscard]] inline bool CheckedMultiply(std::uint64_t a, std::uint64_t b, std::uint64_t* out) {
  return !__builtin_mul_overflow(a, b, out);
}

/// `value` rounded up to a multiple of `unit` (a power of two), or false on overflow.
[[nodiscard]] inline bool CheckedRoundUp(std::uint64_t value, std::uint64_t unit,
                                         std::uint64_t* out) {
  if (!CheckedAdd(value, unit - 1, out)) return false;
  *out &= ~(unit - 1);
  return true;
}

/// Reads little-endian values off the front of a buffer it does not own.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  [[nodiscard]] std::uint64_t position() const noexcept { return position_; }
  [[nodiscard]] std::uint64_t remaining() const noexcept { return bytes_.size() - position_; }

  /// The next `size` bytes. Error kCorruptFile: fewer are left; `what` names the field.
  [[nodiscard]] Result<std::span<const std::byte>> Bytes(std::uint64_t size,
                                                         std::string_view what) {
    if (size > remaining()) {
      return Fail(ErrorCode::kCorruptFile, std::string(what) + " needs " + std::to_string(size) +
                                               " bytes at offset " + std::to_string(position_) +
                                               ", but only " + std::to_string(remaining()) +
                                               " are left in the file");
    }
    auto view = bytes_.subspan(position_, size);
    position_ += size;
    return view;
  }

  /// The next sizeof(T) bytes as a little-endian number.
  template <class T>
    requires std::integral<T> || std::floating_point<T>
  [[nodiscard]] Result<T> Number(std::string_view what) {
    auto view = BITTERN_TRY(Bytes(sizeof(T), what));
    T value;
    std::memcpy(&value, view.data(), sizeof(T));
    return value;
  }

  /// The next `size` bytes as characters.
  [[nodiscard]] Result<std::string_view> Chars(std::uint64_t size, std::string_view what) {
    auto view = BITTERN_TRY(Bytes(size, what));
    return std::string_view(reinterpret_cast<const char*>(view.data()), view.size());
  }

 private:
  std::span<const std::byte> bytes_;
  std::uint64_t position_ = 0;
};

}  // namespace bittern
