// SPDX-License-Identifier: Apache-2.0
// The tiling of a TL1 or TL2 tensor. bitnet.cpp chose one per matrix shape when its converter ran
// and did not write it down; the same bytes mean other weights under another tiling.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace bittern::quant {

/// Rows per tile, columns per tile, rows per group: BM, BK and bm of bitnet.cpp's
/// kernel_config.ini (there: m, k, bm, bk, bmm).
struct TlTiling {
  std::size_t bm_rows = 0;     ///< BM
  std::size_t bk_cols = 0;     ///< BK
  std::size_t group_rows = 0;  ///< bm: 32 or 64; TL2 always 32

  friend bool operator==(const TlTiling&, const TlTiling&) = default;
};

}  // namespace bittern::quant
