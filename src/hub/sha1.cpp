// SPDX-License-Identifier: Apache-2.0
// After FIPS 180-4, whose names of variables are kept.
#include "hub/sha1.hpp"

#include <fmt/format.h>

#include <bit>

namespace bittern::hub {

void Sha1::Block() noexcept {
  std::array<std::uint32_t, 80> w;
  for (std::size_t t = 0; t < 16; ++t) {
    w[t] = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      w[t] = w[t] << 8 | std::to_integer<std::uint32_t>(block_[4 * t + i]);
    }
  }
  for (std::size_t t = 16; t < 80; ++t) {
    w[t] = std::rotl(w[t - 3] ^ w[t - 8] ^ w[t - 14] ^ w[t - 16], 1);
  }
  auto [a, b, c, d, e] = state_;
  for (std::size_t t = 0; t < 80; ++t) {
    const std::uint32_t f = t < 20              ? ((b & c) ^ (~b & d)) + 0x5a827999
                            : t >= 40 && t < 60 ? ((b & c) ^ (b & d) ^ (c & d)) + 0x8f1bbcdc
                                                : (b ^ c ^ d) + (t < 40 ? 0x6ed9eba1 : 0xca62c1d6);
    const std::uint32_t next = std::rotl(a, 5) + f + e + w[t];
    e = d;
    d = c;
    c = std::rotl(b, 30);
    b = a;
    a = next;
  }
  const std::array<std::uint32_t, 5> added = {a, b, c, d, e};
  for (std::size_t i = 0; i < added.size(); ++i) state_[i] += added[i];
}

void Sha1::Add(std::span<const std::byte> bytes) noexcept {
  for (const std::byte byte : bytes) {
    block_[size_++ % 64] = byte;
    if (size_ % 64 == 0) Block();
  }
}

std::string Sha1::Hex() const {
  Sha1 whole = *this;
  std::array<std::byte, 72> end{};
  end[0] = std::byte{0x80};
  const std::size_t zeros = (119 - size_ % 64) % 64;  // behind the first byte
  for (std::size_t i = 0; i < 8; ++i) {
    end[1 + zeros + i] = static_cast<std::byte>(size_ * 8 >> (56 - 8 * i));
  }
  whole.Add(std::span(end).first(zeros + 9));
  std::string hex;
  for (const std::uint32_t word : whole.state_) hex += fmt::format("{:08x}", word);
  return hex;
}

}  // namespace bittern::hub
