// SPDX-License-Identifier: Apache-2.0
// Ternary gemm with ARM's int8 matrix multiply (Graviton 3, Apple M2 and later): smmla multiplies
// two rows by two tokens over eight columns, twice the work of a dot product. A single vector has
// no second token, so gemv is that of neondot. Layout: quant/layouts/tile16.hpp.
//
// Bound: one smmla adds at most 8 * 3 * 128 = 3072 in absolute value to a lane and a row has
// cols / 8 of them: int32 holds cols < 2^22.
#include "kernels/kernel.h"
#include "kernels/tile16/neon_dot.inc"
#include "kernels/tile16/parts.inc"

namespace bittern::kernels {
namespace {

constexpr size_t kTokensAtOnce = 4, kFewParts = 4, kRowPairs = kRows / 2;

}  // namespace
}  // namespace bittern::kernels

#include "kernels/tile16/parts_few.inc"
#include "kernels/tile16/parts_grouped.inc"

namespace bittern::kernels {
namespace {

/// Words 0, 0, 1, 1 (lower) or 2, 2, 3, 3 (upper) of two registers of four-byte groups: what two
/// rows or tokens have in eight neighbouring columns.
inline int8x16_t Lower(uint8x16_t a, uint8x16_t b) {
  return vreinterpretq_s8_u32(vzip1q_u32(vreinterpretq_u32_u8(a), vreinterpretq_u32_u8(b)));
}
inline int8x16_t Upper(uint8x16_t a, uint8x16_t b) {
  return vreinterpretq_s8_u32(vzip2q_u32(vreinterpretq_u32_u8(a), vreinterpretq_u32_u8(b)));
}

template <int kShift>
inline void StorePairs(uint8x16_t a, uint8x16_t b, uint8_t* out) {
  const uint8x16_t codes = Field<kShift>(a), next = Field<kShift>(b);
  vst1q_u8(out, vreinterpretq_u8_s8(Lower(codes, next)));
  vst1q_u8(out + 16, vreinterpretq_u8_s8(Upper(codes, next)));
}

/// Spreads the fields of one tile into bytes: [column / 8][row / 2][2 rows][8 columns].
void Decode(const uint8_t* tile, size_t num_blocks, uint8_t* codes) {
  constexpr size_t kField = kSteps * kStepBytes;
  for (size_t b = 0; b < num_blocks; ++b, tile += kBlockBytes, codes += 4 * kField) {
    for (size_t step = 0; step < kSteps; step += 2) {
      for (size_t part = 0; part < kParts; ++part) {
        const uint8_t* q = tile + step * kStepBytes + part * kPartBytes;
        const uint8x16_t bytes = vld1q_u8(q), next = vld1q_u8(q + kStepBytes);
        uint8_t* out = codes + step * kStepBytes + part * 2 * kPartBytes;
        StorePairs<6>(bytes, next, out);
        StorePairs<4>(bytes, next, out + kField);
        StorePairs<2>(bytes, next, out + 2 * kField);
        StorePairs<0>(bytes, next, out + 3 * kField);
      }
    }
  }
}

/// Adds four rows of two tokens: out[token][row], a second token only where it is asked for.
inline void StoreTwoTokens(int32x4_t rows01, int32x4_t rows23, const int32_t* act_sums,
                           size_t count, int32_t* out, size_t out_stride) {
  if (count >= 1) vst1q_s32(out, vsubq_s32(vuzp1q_s32(rows01, rows23), vdupq_n_s32(act_sums[0])));
  if (count >= 2) {
    vst1q_s32(out + out_stride, vsubq_s32(vuzp2q_s32(rows01, rows23), vdupq_n_s32(act_sums[1])));
  }
}

/// One decoded tile times four neighbours of a panel, of which the first `count` are stored (the
/// others are zero in the panel).
void Multiply(const uint8_t* codes, size_t num_blocks, const int8_t* panel, const int32_t* act_sums,
              size_t count, int32_t* out, size_t out_stride) {
  int32x4_t sums[kRowPairs][2] = {};  // [rows 2i, 2i + 1][tokens 0, 1 or 2, 3]
  for (size_t pair = 0; pair < num_blocks * kBlock / 8; ++pair) {
    const uint8x16_t group = vreinterpretq_u8_s8(vld1q_s8(panel));
    const uint8x16_t next = vreinterpretq_u8_s8(vld1q_s8(panel + 4 * kPanelTokens));
    const int8x16_t first = Lower(group, next), last = Upper(group, next);
    Unroll<kRowPairs>(BITTERN_STEP(i) {
      const int8x16_t rows = vreinterpretq_s8_u8(vld1q_u8(codes + i.value * 16));
      sums[i.value][0] = vmmlaq_s32(sums[i.value][0], rows, first);
      sums[i.value][1] = vmmlaq_s32(sums[i.value][1], rows, last);
    });
    codes += 2 * kStepBytes;
    panel += 8 * kPanelTokens;
  }
  const size_t last_count = count < 2 ? 0 : count - 2;
  Unroll<kRowPairs / 2>(BITTERN_STEP(i) {
    constexpr size_t row = 2 * decltype(i)::value;
    StoreTwoTokens(sums[row][0], sums[row + 1][0], act_sums, count, out + 2 * row, out_stride);
    StoreTwoTokens(sums[row][1], sums[row + 1][1], act_sums + 2, last_count,
                   out + 2 * out_stride + 2 * row, out_stride);
  });
}

void Gemm(const uint8_t* tiles, size_t num_tiles, size_t num_blocks, const int8_t* panels,
          const int32_t* act_sums, size_t num_tokens, int32_t* out, size_t out_stride,
          uint8_t* scratch) {
  for (size_t t = 0; t < num_tiles; ++t) {
    Decode(tiles + t * num_blocks * kBlockBytes, num_blocks, scratch);
    for (size_t token = 0; token < num_tokens; token += kTokensAtOnce) {
      const size_t left = num_tokens - token;
      const int8_t* panel = panels + token / kPanelTokens * kPanelTokens * num_blocks * kBlock +
                            token % kPanelTokens * 4;
      Multiply(scratch, num_blocks, panel, act_sums + token, left < 4 ? left : 4,
               out + token * out_stride + t * kRows, out_stride);
    }
  }
}

constexpr Tile16Ops kOps = {Gemv, Gemm, GemvGrouped, GemmGrouped};

}  // namespace
extern const KernelInfo k_tile16_neoni8mm;
const KernelInfo k_tile16_neoni8mm = {
    .name = "tile16_neoni8mm", .isa = Isa::neoni8mm, .tile16 = &kOps};
}  // namespace bittern::kernels
