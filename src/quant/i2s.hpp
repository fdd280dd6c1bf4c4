// SPDX-License-Identifier: Apache-2.0
// I2_S as in the official BitNet b1.58 2B-4T file (bitnet.cpp, x86-128 layout).
//
// A tensor of n = rows * cols weights is one flat run of blocks of 128 weights, 32 bytes each:
//
//            bits 7-6    bits 5-4    bits 3-2    bits 1-0
//   byte  0  w[  0]      w[ 32]      w[ 64]      w[ 96]
//   byte  1  w[  1]      w[ 33]      w[ 65]      w[ 97]
//    ...
//   byte 31  w[ 31]      w[ 63]      w[ 95]      w[127]
//
// Codes 0, 1, 2 stand for -1, 0, +1; code 3 never occurs. After the n / 4 bytes of codes comes a
// tail of 32 bytes whose first four are the tensor's scale (float): weight = (code - 1) * scale.
// Other layouts share the type id 36; they are formats of their own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace bittern::quant {

inline constexpr std::size_t kI2sBlock = 128;      ///< weights of a block
inline constexpr std::size_t kI2sBlockBytes = 32;  ///< bytes of a block
inline constexpr std::size_t kI2sTailBytes = 32;   ///< bytes after the codes; scale first

/// Bytes of one row; cols is a multiple of 128.
[[nodiscard]] constexpr std::size_t I2sRowBytes(std::size_t cols) noexcept { return cols / 4; }

/// Packs codes (each 0..2) of one row, cols a multiple of 128. out: cols / 4 bytes.
void PackI2s(std::span<const std::uint8_t> codes, std::span<std::byte> out) noexcept;

/// Unpacks one row to codes 0..3. packed: codes.size() / 4 bytes.
void UnpackI2s(std::span<const std::byte> packed, std::span<std::uint8_t> codes) noexcept;

/// The scale in a tensor's tail. tensor: all bytes, tail included (at least 32).
[[nodiscard]] float I2sScale(std::span<const std::byte> tensor) noexcept;

/// Index of the first weight with the invalid code 3, or nullopt. packed: whole blocks.
[[nodiscard]] std::optional<std::size_t> FindInvalidI2sCode(
    std::span<const std::byte> packed) noexcept;

}  // namespace bittern::quant
