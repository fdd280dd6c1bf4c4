// SPDX-License-Identifier: Apache-2.0
#include "quant/i2s.hpp"

#include <cstring>

namespace bittern::quant {
namespace {

/// Place of weight j of a block: byte j % 32, shift 6 - 2 * (j / 32).
constexpr std::size_t ByteOf(std::size_t j) { return j % 32; }
constexpr unsigned ShiftOf(std::size_t j) { return 6 - 2 * static_cast<unsigned>(j / 32); }

/// Bit 2i+1 of the result is set where field i of `bytes` is 3.
constexpr std::uint64_t FieldsOfThree(std::uint64_t bytes) {
  return bytes & (bytes << 1) & 0xaaaaaaaaaaaaaaaau;
}

std::size_t FirstInvalidInBlock(const std::byte* block) {
  for (std::size_t j = 0; j < kI2sBlock; ++j) {
    if ((static_cast<unsigned>(block[ByteOf(j)]) >> ShiftOf(j) & 3) == 3) return j;
  }
  return kI2sBlock;
}

}  // namespace

void PackI2s(std::span<const std::uint8_t> codes, std::span<std::byte> out) noexcept {
  for (std::size_t b = 0; b < codes.size() / kI2sBlock; ++b) {
    const std::uint8_t* in = codes.data() + b * kI2sBlock;
    for (std::size_t i = 0; i < kI2sBlockBytes; ++i) {
      out[b * kI2sBlockBytes + i] =
          static_cast<std::byte>(in[i] << 6 | in[32 + i] << 4 | in[64 + i] << 2 | in[96 + i]);
    }
  }
}

void UnpackI2s(std::span<const std::byte> packed, std::span<std::uint8_t> codes) noexcept {
  for (std::size_t k = 0; k < codes.size(); ++k) {
    const std::size_t j = k % kI2sBlock;
    const auto byte = static_cast<unsigned>(packed[k / kI2sBlock * kI2sBlockBytes + ByteOf(j)]);
    codes[k] = static_cast<std::uint8_t>(byte >> ShiftOf(j) & 3);
  }
}

float I2sScale(std::span<const std::byte> tensor) noexcept {
  float scale;
  std::memcpy(&scale, tensor.data() + tensor.size() - kI2sTailBytes, sizeof(scale));
  return scale;
}

std::optional<std::size_t> FindInvalidI2sCode(std::span<const std::byte> packed) noexcept {
  for (std::size_t b = 0; b + kI2sBlockBytes <= packed.size(); b += kI2sBlockBytes) {
    std::uint64_t words[4];
    std::memcpy(words, packed.data() + b, sizeof(words));
    if ((FieldsOfThree(words[0]) | FieldsOfThree(words[1]) | FieldsOfThree(words[2]) |
         FieldsOfThree(words[3])) != 0) {
      return b / kI2sBlockBytes * kI2sBlock + FirstInvalidInBlock(packed.data() + b);
    }
  }
  return std::nullopt;
}

}  // namespace bittern::quant
