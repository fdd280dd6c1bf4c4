// SPDX-License-Identifier: Apache-2.0
// A fast 128-bit hash (XXH3) of bytes that come in parts: shows that two gigabytes are the same
// without printing them. Not for security.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace bittern {

/// Feed with Add in any parts; only the whole sequence matters. Not thread-safe.
class Hash128 {
 public:
  Hash128();
  ~Hash128();
  Hash128(Hash128&&) noexcept;
  Hash128& operator=(Hash128&&) noexcept;

  void Add(std::span<const std::byte> bytes) noexcept;
  /// The hash of all bytes added so far, as 32 hexadecimal digits: XXH3_128bits with seed 0 in its
  /// canonical order, as `xxhsum -H2` prints it.
  [[nodiscard]] std::string Hex() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Hash128::Hex of one piece.
[[nodiscard]] std::string HashOf(std::span<const std::byte> bytes);
[[nodiscard]] std::string HashOf(std::string_view text);

}  // namespace bittern
