// SPDX-License-Identifier: Apache-2.0
// SHA-256 (FIPS 180-4): the hash under which model files are published. Slow beside base/hash.hpp,
// which is what everything else here is hashed with.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace bittern {

/// Feed with Add in any parts; only the whole sequence matters. Not thread-safe.
class Sha256 {
 public:
  void Add(std::span<const std::byte> bytes) noexcept;
  /// The hash of all bytes added so far, as 64 hexadecimal digits.
  [[nodiscard]] std::string Hex() const;

 private:
  void Block(const std::byte* block) noexcept;

  std::array<std::uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::byte, 64> rest_{};  // the beginning of the next block
  std::uint64_t size_ = 0;            // bytes added
};

}  // namespace bittern
