// SPDX-License-Identifier: Apache-2.0
// Ternary gemv and gemm with plain ARMv8 NEON, for cores without dot products: smlal multiplies
// codes by activations into int16 lanes, one for each byte. The loops are in parts.inc.
//
// Codes are at most 3, so as signed bytes they are the same numbers. Bound of the int16 sums: one
// product is at most 3 * 128 = 384 in absolute value and a lane adds 32 of them in a block of 128
// columns (8 steps of 4 fields): 12288 < 32767. Every block is widened to int32, in two sums for
// each row (columns 0, 1 and 2, 3 of each four), which are added at the end of the row.
#include <arm_neon.h>

#include "kernels/kernel.h"

namespace bittern::kernels {
namespace {

constexpr size_t kParts = 4, kPartRows = 4, kChains = 1;
constexpr size_t kTokensAtOnce = 2;  // 16 registers of sums, 4 of codes, 1 of activations
constexpr size_t kFewParts = 2;      // 16 of sums, 2 of bytes, 2 of codes, 1 of activations

using Bytes = uint8x16_t;
using Act = int8x16_t;
struct Narrow {
  int16x8_t lo, hi;  // rows 0 and 1; rows 2 and 3; a lane is a column of four
};
struct Wide {
  int32x4_t lo, hi;  // two lanes for each row
};
using Ints = int32x4_t;
using Floats = float32x4_t;

inline Bytes LoadBytes(const uint8_t* p) { return vld1q_u8(p); }
inline void StoreBytes(uint8_t* p, Bytes v) { vst1q_u8(p, v); }
inline Act Broadcast(const int8_t* act) {
  int32_t word;
  __builtin_memcpy(&word, act, 4);
  return vreinterpretq_s8_s32(vdupq_n_s32(word));
}
template <int kShift>
inline Bytes Field(Bytes bytes) {
  if constexpr (kShift == 0) {
    return vandq_u8(bytes, vdupq_n_u8(3));
  } else if constexpr (kShift == 6) {
    return vshrq_n_u8(bytes, 6);
  } else {
    return vandq_u8(vshrq_n_u8(bytes, kShift), vdupq_n_u8(3));
  }
}
inline void AddProducts(Narrow* sums, Bytes codes, Act act) {
  const int8x16_t signed_codes = vreinterpretq_s8_u8(codes);
  sums->lo = vmlal_s8(sums->lo, vget_low_s8(signed_codes), vget_low_s8(act));
  sums->hi = vmlal_high_s8(sums->hi, signed_codes, act);
}
inline void Widen(Wide* wide, const Narrow& narrow) {
  wide->lo = vpadalq_s16(wide->lo, narrow.lo);
  wide->hi = vpadalq_s16(wide->hi, narrow.hi);
}
inline Ints Close(const Wide& wide, int32_t act_sum) {
  return vsubq_s32(vpaddq_s32(wide.lo, wide.hi), vdupq_n_s32(act_sum));
}
inline Ints Join(Ints high, Ints low) { return vmlaq_n_s32(low, high, kDigitBase); }
inline void StoreInts(int32_t* p, Ints v) { vst1q_s32(p, v); }
/// Adds a group's sums, scaled: in two products and a sum, none fused.
inline Floats AddGroup(Floats total, Ints sum, const float* weight_scales, float act_scale) {
  const float32x4_t scaled = vmulq_f32(vcvtq_f32_s32(sum), vld1q_f32(weight_scales));
  return vaddq_f32(total, vmulq_f32(scaled, vdupq_n_f32(act_scale)));
}
inline void StoreFloats(float* p, Floats v) { vst1q_f32(p, v); }

}  // namespace
}  // namespace bittern::kernels

#include "kernels/tile16/parts.inc"
#include "kernels/tile16/parts_few.inc"
#include "kernels/tile16/parts_gemm.inc"
#include "kernels/tile16/parts_grouped.inc"

namespace bittern::kernels {
namespace {
constexpr Tile16Ops kOps = {Gemv, Gemm, GemvGrouped, GemmGrouped};
}  // namespace
extern const KernelInfo k_tile16_neon;
const KernelInfo k_tile16_neon = {.name = "tile16_neon", .isa = Isa::neon, .tile16 = &kOps};
}  // namespace bittern::kernels
