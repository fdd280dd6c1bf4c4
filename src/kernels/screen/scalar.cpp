// SPDX-License-Identifier: Apache-2.0
// The coarse scan of the screened head in plain C++. Layout: quant/screen_planes.hpp.
#include "kernels/kernel.h"

namespace bittern::kernels {
namespace {

constexpr size_t kRows = 16, kLine = 64;

void Scan(const uint8_t* tiles, size_t num_tiles, size_t cols, const int8_t* high,
          const int8_t* low, int32_t* out_high, int32_t* out_low) {
  for (size_t t = 0; t < num_tiles; ++t, out_high += kRows, out_low += kRows) {
    for (size_t r = 0; r < kRows; ++r) out_high[r] = out_low[r] = 0;
    for (size_t c = 0; c < cols; c += 8, tiles += kLine) {
      for (size_t p = 0; p < kLine; ++p) {
        const size_t column = c + p % 4;
        const int32_t first = tiles[p] & 15, second = tiles[p] >> 4;
        out_high[p / 4] += first * high[column] + second * high[column + 4];
        out_low[p / 4] += first * low[column] + second * low[column + 4];
      }
    }
  }
}

int32_t DotBits(const uint8_t* bits, size_t cols, const int8_t* high) {
  int32_t sum = 0;
  for (size_t c = 0; c < cols; ++c) {
    const size_t block = c / 512, field = c % 512 / kLine;
    sum += (bits[block * kLine + c % kLine] >> field & 1) * high[c];
  }
  return sum;
}

int32_t DotPairs(const uint8_t* pairs, size_t cols, const int8_t* high) {
  int32_t sum = 0;
  for (size_t c = 0; c < cols; ++c) {
    const size_t block = c / 256, field = c % 256 / kLine;
    sum += (pairs[block * kLine + c % kLine] >> 2 * field & 3) * high[c];
  }
  return sum;
}

constexpr ScreenOps kOps = {Scan, DotBits, DotPairs};

}  // namespace

extern const KernelInfo k_screen_scalar;
const KernelInfo k_screen_scalar = {.name = "screen_scalar",
                                    .isa = Isa::scalar,
                                    .tile16 = nullptr,
                                    .float32 = nullptr,
                                    .screen = &kOps};

}  // namespace bittern::kernels
