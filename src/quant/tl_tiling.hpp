// SPDX-License-Identifier: Apache-2.0
// The tiling of a TL1 or TL2 tensor. bitnet.cpp chose one per matrix shape when its converter ran
// and did not write it down; the same bytes mean other weights under another tiling.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "quant/weight_format.hpp"

namespace bittern::quant {

/// Rows per tile, columns per tile, rows per group: BM, BK and bm of bitnet.cpp's
/// kernel_config.ini (there: m, k, bm, bk, bmm).
struct TlTiling {
  std::size_t bm_rows = 0;     ///< BM
  std::size_t bk_cols = 0;     ///< BK
  std::size_t group_rows = 0;  ///< bm: 32 or 64; TL2 always 32

  friend bool operator==(const TlTiling&, const TlTiling&) = default;
};

/// The tiling that bitnet.cpp ships for a matrix shape, if it does. format: kTL1 or kTL2
/// throughout.
[[nodiscard]] std::optional<TlTiling> PresetTiling(WeightFormat format, std::size_t rows,
                                                   std::size_t cols);

/// The tiling Bittern writes: the preset, else one that fits; nullopt if none does.
[[nodiscard]] std::optional<TlTiling> DefaultTiling(WeightFormat format, std::size_t rows,
                                                    std::size_t cols);

/// Finds the tiling of given bytes: the one under which rows differ most in their number of
/// zeros (a wrong one mixes rows and evens them out), among those that make every code valid.
/// nullopt if none stands out. Looks at the first 512 rows under a few dozen tilings.
[[nodiscard]] std::optional<TlTiling> FindTiling(WeightFormat format,
                                                 std::span<const std::byte> bytes, std::size_t rows,
                                                 std::size_t cols);

}  // namespace bittern::quant
