// SPDX-License-Identifier: Apache-2.0
// Ternary gemv and gemm in plain C++: the reference that every vector kernel must equal, and the
// path of CPUs that have nothing better. Layout: quant/tile16.hpp.
#include "kernels/kernel.h"

namespace bittern::kernels {
namespace {

constexpr size_t kRows = 16, kSteps = 8, kStepBytes = 64, kBlockBytes = 512, kBlock = 128;

/// Adds one block of 128 columns to 16 row sums of code * act. stride: bytes between the groups
/// of four activations (4 for a plain vector, 32 inside a panel of eight tokens).
void AddBlock(const uint8_t* block, const int8_t* act, size_t stride, int32_t* sums) {
  for (size_t step = 0; step < kSteps; ++step) {
    for (size_t row = 0; row < kRows; ++row) {
      const uint8_t* bytes = block + step * kStepBytes + row * 4;
      int32_t sum = 0;
      for (size_t field = 0; field < 4; ++field) {
        const int8_t* a = act + (field * kSteps + step) * stride;
        for (size_t i = 0; i < 4; ++i) sum += (bytes[i] >> (6 - 2 * field) & 3) * a[i];
      }
      sums[row] += sum;
    }
  }
}

void DotTile(const uint8_t* tile, size_t num_blocks, const int8_t* act, size_t stride,
             int32_t act_sum, int32_t* out) {
  int32_t sums[kRows] = {};
  for (size_t b = 0; b < num_blocks; ++b) {
    AddBlock(tile + b * kBlockBytes, act + b * (kBlock / 4) * stride, stride, sums);
  }
  for (size_t row = 0; row < kRows; ++row) out[row] = sums[row] - act_sum;
}

void Gemv(const uint8_t* tiles, size_t num_tiles, size_t num_blocks, const int8_t* act,
          int32_t act_sum, int32_t* out) {
  for (size_t t = 0; t < num_tiles; ++t) {
    DotTile(tiles + t * num_blocks * kBlockBytes, num_blocks, act, 4, act_sum, out + t * kRows);
  }
}

void Gemm(const uint8_t* tiles, size_t num_tiles, size_t num_blocks, const int8_t* panels,
          const int32_t* act_sums, size_t num_tokens, int32_t* out, size_t out_stride,
          uint8_t* /*scratch*/) {
  for (size_t token = 0; token < num_tokens; ++token) {
    const int8_t* act = panels + token / kPanelTokens * kPanelTokens * num_blocks * kBlock +
                        token % kPanelTokens * 4;
    for (size_t t = 0; t < num_tiles; ++t) {
      DotTile(tiles + t * num_blocks * kBlockBytes, num_blocks, act, 4 * kPanelTokens,
              act_sums[token], out + token * out_stride + t * kRows);
    }
  }
}

/// One group of 64 columns (half 0 or 1 of a block) of one row.
int32_t DotGroup(const uint8_t* block, size_t row, size_t half, const int8_t* act, size_t stride) {
  int32_t sum = 0;
  for (size_t step = 0; step < kSteps; ++step) {
    const uint8_t* bytes = block + step * kStepBytes + row * 4;
    for (size_t field = 2 * half; field < 2 * half + 2; ++field) {
      const int8_t* a = act + (field * kSteps + step) * stride;
      for (size_t i = 0; i < 4; ++i) sum += (bytes[i] >> (6 - 2 * field) & 3) * a[i];
    }
  }
  return sum;
}

void GemvGrouped(const GroupedArgs* g) {
  for (size_t t = 0; t < g->num_tiles; ++t) {
    float* out = g->out + t * kRows;
    for (size_t row = 0; row < kRows; ++row) out[row] = 0;
    for (size_t b = 0; b < g->num_blocks; ++b) {
      const uint8_t* block = g->tiles + (t * g->num_blocks + b) * kBlockBytes;
      const float* scales =
          g->weight_scales + (t * g->num_blocks + b) * g->scales_per_block * kRows;
      for (size_t half = 0; half < 2; ++half) {
        if (half == 1 && g->scales_per_block == 2) scales += kRows;
        for (size_t row = 0; row < kRows; ++row) {
          const int32_t sum =
              DotGroup(block, row, half, g->act + b * (kBlock / 4) * g->act_stride, g->act_stride) -
              g->act_sums[2 * b + half];
          out[row] += static_cast<float>(sum) * scales[row] * g->act_scales[2 * b + half];
        }
      }
    }
  }
}

constexpr Tile16Ops kOps = {Gemv, Gemm, GemvGrouped};

}  // namespace

extern const KernelInfo k_tile16_scalar;
const KernelInfo k_tile16_scalar = {"tile16_scalar", Isa::scalar, &kOps, nullptr};

}  // namespace bittern::kernels
