// SPDX-License-Identifier: Apache-2.0
// Statistics of a ternary tensor: counts of its codes and its all-zero ("dead") rows. These are a
// model's fingerprint (0.0% of code 3, roughly 29/42/29), so damage shows in them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace bittern::quant {

/// Sums over one or more tensors.
struct TernaryStats {
  std::uint64_t minus = 0;      ///< weights -1 (code 0)
  std::uint64_t zero = 0;       ///< weights 0 (code 1)
  std::uint64_t plus = 0;       ///< weights +1 (code 2)
  std::uint64_t invalid = 0;    ///< code 3, which no writer produces
  std::uint64_t rows = 0;       ///< output rows
  std::uint64_t dead_rows = 0;  ///< rows of zeros only: their output is always 0

  [[nodiscard]] std::uint64_t weights() const noexcept { return minus + zero + plus + invalid; }
  TernaryStats& operator+=(const TernaryStats& other) noexcept;
  [[nodiscard]] bool operator==(const TernaryStats&) const = default;
};

/// Counts the I2_S codes of whole rows. cols: weights of a row, a positive multiple of 128;
/// packed: rows * cols / 4 bytes, without the tensor's tail. Over 1 GB/s.
[[nodiscard]] TernaryStats CountI2s(std::span<const std::byte> packed, std::size_t cols) noexcept;

/// Counts one row of codes, 0..3.
[[nodiscard]] TernaryStats CountCodes(std::span<const std::uint8_t> row) noexcept;

}  // namespace bittern::quant
