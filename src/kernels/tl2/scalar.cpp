// SPDX-License-Identifier: Apache-2.0
// Lookup gemv over triples in plain C++: the reference of tl2. Layout: quant/layouts/lut32.hpp.
#include "kernels/kernel.h"
#include "kernels/lut/tables.inc"

namespace bittern::kernels {
namespace {

constexpr size_t kRows = 32, kStepBytes = 160, kTableBytes = 256, kTriples = 8;

size_t ByteOfRow(size_t r) { return r >= 8 && r < 16 ? r + 8 : r >= 16 && r < 24 ? r - 8 : r; }

int32_t Entry(const uint8_t* tables, size_t group, size_t nibble) {
  const unsigned word =
      tables[group * 16 + nibble] | static_cast<unsigned>(tables[32 + group * 16 + nibble]) << 8;
  return static_cast<int16_t>(word);
}

/// One row's sum over the eight triples of a step.
int32_t DotStep(const uint8_t* bytes, const uint8_t* tables, size_t row) {
  const uint8_t* word = bytes + 128 + 2 * (row % 16);
  const unsigned signs = word[0] | static_cast<unsigned>(word[1]) << 8;
  int32_t sum = 0;
  for (size_t t = 0; t < kTriples; ++t) {
    const unsigned byte = bytes[t / 2 * kRows + ByteOfRow(row)];
    const int32_t value = Entry(tables + t / 2 * 64, t % 2, t % 2 == 0 ? byte >> 4 : byte & 15);
    sum += (signs >> (15 - (2 * t + row / 16)) & 1) != 0 ? -value : value;
  }
  return sum;
}

void Gemv(const uint8_t* tiles, size_t num_tiles, size_t num_steps, const uint8_t* tables,
          int32_t* out) {
  for (size_t t = 0; t < num_tiles; ++t, out += kRows) {
    for (size_t row = 0; row < kRows; ++row) out[row] = 0;
    for (size_t step = 0; step < num_steps; ++step, tiles += kStepBytes) {
      for (size_t row = 0; row < kRows; ++row) {
        out[row] += DotStep(tiles, tables + step * kTableBytes, row);
      }
    }
  }
}

constexpr LutOps kOps = {BuildTl2, Gemv};

}  // namespace

extern const KernelInfo k_tl2_scalar;
const KernelInfo k_tl2_scalar = {.name = "tl2_scalar", .isa = Isa::scalar, .tl2 = &kOps};

}  // namespace bittern::kernels
