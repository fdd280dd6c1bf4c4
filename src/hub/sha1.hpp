// SPDX-License-Identifier: Apache-2.0
// SHA-1 (FIPS 180-4): the hash under which git names small files. Proof against accidents, not
// against forgers. One thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace bittern::hub {

/// Feed with Add in any parts; only the whole sequence matters.
class Sha1 {
 public:
  void Add(std::span<const std::byte> bytes) noexcept;
  /// The hash of the bytes that were added so far, as 40 hexadecimal digits.
  [[nodiscard]] std::string Hex() const;

 private:
  void Block() noexcept;

  std::array<std::uint32_t, 5> state_ = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476,
                                         0xc3d2e1f0};
  std::array<std::byte, 64> block_{};  // the next one, as far as it is there
  std::uint64_t size_ = 0;             // bytes added
};

}  // namespace bittern::hub
