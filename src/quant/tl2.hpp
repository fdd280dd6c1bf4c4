// SPDX-License-Identifier: Apache-2.0
// TL2 (type 39), bitnet.cpp's lookup-table format for x86: 1.67 bits a weight.
//
// Of K columns, the first K3 (whole tiles of BK) are stored in threes, the rest K2 = K - K3 in
// pairs. A triple a, b, c is s = 9 a + 3 b + c, -13..13: |s| in a nibble, the sign in a bit
// elsewhere. A pair is the nibble 3 a + b + 4. Three regions follow each other:
//
//   indices of triples   M K3 / 6 bytes
//   signs of triples     M K3 / 24 bytes, 16-bit words
//   pairs                M K2 / 4 bytes
//
// each ordered [row / BM][column / tile][32 rows][two triples or pairs] with 32 bytes at the end,
// one a row, the first of two in the high nibble; rows 8..15 and 16..23 of the 32 change places.
// Signs: eight triples are 16 words, word r % 16 holding bit 15 - (2 * (triple % 8) + r / 16).
// Zero bytes pad the data to its stored size P (Tl2DataBytes); the scale (float) is at P.
// Source: bitnet.cpp, utils/convert-hf-to-gguf-bitnet.py, preprocess_{three,two}_weights_tl2.
#pragma once

#include <cstddef>
#include <cstdint>

#include "quant/tl_tiling.hpp"

namespace bittern::quant {

/// P: bytes before the scale, by the shape alone (ggml_nbytes of bitnet.cpp's llama.cpp).
/// cols is at least 256.
[[nodiscard]] std::uint64_t Tl2DataBytes(std::uint64_t rows, std::uint64_t cols) noexcept;

/// The places of a TL2 tensor's parts.
class Tl2Places {
 public:
  Tl2Places(std::size_t rows, std::size_t cols, const TlTiling& tiling) noexcept;

  [[nodiscard]] std::size_t three_cols() const noexcept { return three_cols_; }
  /// Bytes that hold something, before the padding.
  [[nodiscard]] std::size_t used_bytes() const noexcept;

  struct Nibble {
    std::size_t byte;
    unsigned shift;
  };
  struct Bit {
    std::size_t byte;
    unsigned shift;
  };
  /// The place of triple t (columns 3 t ..) of a row.
  [[nodiscard]] Nibble IndexOf(std::size_t row, std::size_t t) const noexcept;
  [[nodiscard]] Bit SignOf(std::size_t row, std::size_t t) const noexcept;
  /// First byte of the word that holds a row's signs of triples t .. t + 7; t % 8 is 0.
  [[nodiscard]] std::size_t SignWordOf(std::size_t row, std::size_t t) const noexcept;
  /// The place of pair t (columns three_cols() + 2 t ..) of a row.
  [[nodiscard]] Nibble PairOf(std::size_t row, std::size_t t) const noexcept;

 private:
  /// Number of the block of 32 rows by one tile of columns.
  [[nodiscard]] std::size_t BlockOf(std::size_t row, std::size_t tile,
                                    std::size_t tiles) const noexcept;
  std::size_t rows_, three_cols_, two_cols_;
  TlTiling tiling_;
};

}  // namespace bittern::quant
