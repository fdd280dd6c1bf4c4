// SPDX-License-Identifier: Apache-2.0
// The coarse scan of the screened head in plain C++. Layout: quant/layouts/screen_planes.hpp.
#include "kernels/kernel.h"
#include "kernels/screen_survivors.inc"

namespace bittern::kernels {
namespace {

constexpr size_t kRows = 16, kLine = 64;

/// A byte of a line has two codes of one row, four columns apart. Codes are 0..15 for the odd steps
/// -15..15, hence 2 * sum - 15 * (sum of the vector). The vector has two digits of 8 bits; the
/// higher one counts 256.
void ScanTile(const ScanArgs& a, size_t t) {
  int32_t high[kRows] = {}, low[kRows] = {};
  const uint8_t* line = a.tiles + t * a.cols * 8;
  for (size_t c = 0; c < a.cols; c += 8, line += kLine) {
    for (size_t p = 0; p < kLine; ++p) {
      const size_t column = c + p % 4;
      const int32_t first = line[p] & 15, second = line[p] >> 4;
      high[p / 4] += first * a.high[column] + second * a.high[column + 4];
      low[p / 4] += first * a.low[column] + second * a.low[column + 4];
    }
  }
  for (size_t r = 0; r < kRows; ++r) {
    const auto h = static_cast<float>(2 * high[r] - 15 * a.high_sum);
    const auto l = static_cast<float>(2 * low[r] - 15 * a.low_sum);
    const float estimate = (256 * h + l) * (a.factor * a.steps[t * kRows + r]);
    a.estimates[t * kRows + r] = estimate;
    if (r == 0 || estimate > a.best[t]) a.best[t] = estimate;
  }
}

void Scan(const ScanArgs* args) {
  for (size_t t = 0; t < args->num_tiles; ++t) ScanTile(*args, t);
}

/// The fifth bit of each code: it moves an estimate by one step up or down.
void ScanBitTile(const BitScanArgs& a, size_t t) {
  int32_t sums[kRows] = {};
  const uint8_t* line = a.tiles + t * a.cols * 2;
  for (size_t c = 0; c < a.cols; c += 32, line += kLine) {
    for (size_t p = 0; p < kLine; ++p) {
      for (size_t f = 0; f < 8; ++f) sums[p / 4] += (line[p] >> f & 1) * a.high[c + 4 * f + p % 4];
    }
  }
  for (size_t r = 0; r < kRows; ++r) {
    const float step = a.factor * a.steps[t * kRows + r];
    a.estimates[t * kRows + r] += static_cast<float>(2 * sums[r] - a.high_sum) * step;
  }
}

void ScanBits(const BitScanArgs* args) {
  for (size_t i = 0; i < args->count; ++i) ScanBitTile(*args, args->live[i]);
}

/// Four bits and the fifth together, as exact integers, for several vectors whose columns lie in
/// fours.
void ScanFiveTile(const FiveScanArgs& a, size_t t) {
  int32_t* sums = a.sums + t * a.num_vectors * kRows;
  for (size_t i = 0; i < a.num_vectors * kRows; ++i) sums[i] = 0;
  const uint8_t *nibbles = a.nibbles + t * a.cols * 8, *bits = a.bits + t * a.cols * 2;
  for (size_t r = 0; r < kRows; ++r) {
    for (size_t c = 0; c < a.cols; ++c) {
      const uint8_t pair = nibbles[c / 8 * kLine + 4 * r + c % 4];
      const int32_t nibble = c % 8 < 4 ? pair & 15 : pair >> 4;
      const int32_t bit = bits[c / 32 * kLine + 4 * r + c % 4] >> (c % 32 / 4) & 1;
      const int8_t* acts = a.acts + c / 4 * a.num_vectors * 4 + c % 4;
      for (size_t v = 0; v < a.num_vectors; ++v) {
        sums[v * kRows + r] += (2 * nibble + bit) * acts[4 * v];
      }
    }
  }
}

void ScanFive(const FiveScanArgs* args) {
  for (size_t t = 0; t < args->num_tiles; ++t) ScanFiveTile(*args, t);
}

size_t Survivors(const SurvivorArgs* args) { return SurvivorsFrom(*args, 0, 0); }

int32_t DotPairs(const uint8_t* pairs, size_t cols, const int8_t* high) {
  int32_t sum = 0;
  for (size_t c = 0; c < cols; ++c) {
    const size_t block = c / 256, field = c % 256 / kLine;
    sum += (pairs[block * kLine + c % kLine] >> 2 * field & 3) * high[c];
  }
  return sum;
}

void ScanSeveral(const ScanArgs* args, size_t count) {
  for (size_t i = 0; i < count; ++i) Scan(args + i);
}

constexpr ScreenOps kOps = {Scan, ScanSeveral, ScanBits, ScanFive, Survivors, DotPairs};

}  // namespace

extern const KernelInfo k_screen_scalar;
const KernelInfo k_screen_scalar = {.name = "screen_scalar", .isa = Isa::scalar, .screen = &kOps};

}  // namespace bittern::kernels
