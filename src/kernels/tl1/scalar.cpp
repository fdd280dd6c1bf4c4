// SPDX-License-Identifier: Apache-2.0
// Lookup gemv over pairs in plain C++: the reference of tl1. Layout: quant/layouts/lut32.hpp.
#include "kernels/kernel.h"
#include "kernels/lut/tables.inc"

namespace bittern::kernels {
namespace {

constexpr size_t kRows = 32, kStepBytes = 32, kTableBytes = 64;

size_t RowOfByte(size_t p) { return p >= 8 && p < 16 ? p + 8 : p >= 16 && p < 24 ? p - 8 : p; }

int32_t Entry(const uint8_t* tables, size_t group, size_t nibble) {
  const unsigned word =
      tables[group * 16 + nibble] | static_cast<unsigned>(tables[32 + group * 16 + nibble]) << 8;
  return static_cast<int16_t>(word);
}

void Gemv(const uint8_t* tiles, size_t num_tiles, size_t num_steps, const uint8_t* tables,
          int32_t* out) {
  for (size_t t = 0; t < num_tiles; ++t, out += kRows) {
    for (size_t row = 0; row < kRows; ++row) out[row] = 0;
    for (size_t step = 0; step < num_steps; ++step, tiles += kStepBytes) {
      const uint8_t* table = tables + step * kTableBytes;
      for (size_t p = 0; p < kRows; ++p) {
        out[RowOfByte(p)] += Entry(table, 0, tiles[p] >> 4) + Entry(table, 1, tiles[p] & 15);
      }
    }
  }
}

constexpr LutOps kOps = {BuildTl1, Gemv};

}  // namespace

extern const KernelInfo k_tl1_scalar;
const KernelInfo k_tl1_scalar = {.name = "tl1_scalar", .isa = Isa::scalar, .tl1 = &kOps};

}  // namespace bittern::kernels
