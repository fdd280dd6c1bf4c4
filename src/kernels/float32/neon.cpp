// SPDX-License-Identifier: Apache-2.0
// Float operations with ARMv8 NEON: the sixteen lanes of the numerics contract are four registers.
// fmla is fused and fcvtl/fcvtn convert halves on every ARMv8 core. The operations themselves are
// in ops.inc.
#include <arm_neon.h>

#include "kernels/kernel.h"

namespace bittern::kernels {
namespace {

constexpr Isa kIsa = Isa::neon;
constexpr size_t kDotRows = 4, kScoreBlocks = 2, kFewRows = 16;
constexpr size_t kMixVectors = 1, kMixPositions = 32;

struct Vec {
  float32x4_t a, b, c, d;  // lanes 0-3, 4-7, 8-11, 12-15
};

inline Vec Set1(float x) {
  return {vdupq_n_f32(x), vdupq_n_f32(x), vdupq_n_f32(x), vdupq_n_f32(x)};
}
inline Vec Load(const float* p) {
  return {vld1q_f32(p), vld1q_f32(p + 4), vld1q_f32(p + 8), vld1q_f32(p + 12)};
}
inline void Store(float* p, const Vec& v) {
  vst1q_f32(p, v.a);
  vst1q_f32(p + 4, v.b);
  vst1q_f32(p + 8, v.c);
  vst1q_f32(p + 12, v.d);
}
inline Vec LoadPart(const float* p, size_t n) {
  float lanes[16] = {};
  for (size_t i = 0; i < n && i < 16; ++i) lanes[i] = p[i];
  return Load(lanes);
}
inline void StorePart(float* p, const Vec& v, size_t n) {
  float lanes[16];
  Store(lanes, v);
  for (size_t i = 0; i < n && i < 16; ++i) p[i] = lanes[i];
}

// min and max take the second operand where either is NaN, as x86 does; fmin and fmax do not.
inline float32x4_t Max4(float32x4_t x, float32x4_t y) { return vbslq_f32(vcgtq_f32(x, y), x, y); }
inline float32x4_t Min4(float32x4_t x, float32x4_t y) { return vbslq_f32(vcltq_f32(x, y), x, y); }
inline float32x4_t ZeroWhereNegative4(float32x4_t x, float32x4_t keep) {
  return vreinterpretq_f32_u32(vandq_u32(vreinterpretq_u32_f32(x), vcgezq_f32(keep)));
}

#define BITTERN_LANES(name, intrinsic)                                                           \
  inline Vec name(const Vec& x, const Vec& y) {                                                  \
    return {intrinsic(x.a, y.a), intrinsic(x.b, y.b), intrinsic(x.c, y.c), intrinsic(x.d, y.d)}; \
  }
BITTERN_LANES(Add, vaddq_f32)
BITTERN_LANES(Sub, vsubq_f32)
BITTERN_LANES(Mul, vmulq_f32)
BITTERN_LANES(Div, vdivq_f32)
BITTERN_LANES(Max, Max4)
BITTERN_LANES(Min, Min4)
BITTERN_LANES(ZeroWhereNegative, ZeroWhereNegative4)
#undef BITTERN_LANES

inline Vec Fma(const Vec& x, const Vec& y, const Vec& z) {
  return {vfmaq_f32(z.a, x.a, y.a), vfmaq_f32(z.b, x.b, y.b), vfmaq_f32(z.c, x.c, y.c),
          vfmaq_f32(z.d, x.d, y.d)};
}
inline Vec Abs(const Vec& x) {
  return {vabsq_f32(x.a), vabsq_f32(x.b), vabsq_f32(x.c), vabsq_f32(x.d)};
}
inline float32x4_t PowerOfTwo4(float32x4_t n) {
  const int32x4_t exponent = vaddq_s32(vcvtq_s32_f32(n), vdupq_n_s32(127));
  return vreinterpretq_f32_s32(vshlq_n_s32(exponent, 23));
}
inline Vec PowerOfTwo(const Vec& n) {
  return {PowerOfTwo4(n.a), PowerOfTwo4(n.b), PowerOfTwo4(n.c), PowerOfTwo4(n.d)};
}

inline float32x4_t LoadHalf4(const uint16_t* p) {
  return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p)));
}
inline Vec LoadHalf(const uint16_t* p) {
  return {LoadHalf4(p), LoadHalf4(p + 4), LoadHalf4(p + 8), LoadHalf4(p + 12)};
}
inline float32x4_t LoadBfloat4(const uint16_t* p) {
  return vreinterpretq_f32_u32(vshll_n_u16(vld1_u16(p), 16));
}
inline Vec LoadBfloat(const uint16_t* p) {
  return {LoadBfloat4(p), LoadBfloat4(p + 4), LoadBfloat4(p + 8), LoadBfloat4(p + 12)};
}
inline void StoreHalf4(uint16_t* p, float32x4_t v) {
  vst1_u16(p, vreinterpret_u16_f16(vcvt_f16_f32(v)));
}
inline void StoreHalf(uint16_t* p, const Vec& v) {
  StoreHalf4(p, v.a);
  StoreHalf4(p + 4, v.b);
  StoreHalf4(p + 8, v.c);
  StoreHalf4(p + 12, v.d);
}
inline float32x4_t LoadInt32x4(const int32_t* p) { return vcvtq_f32_s32(vld1q_s32(p)); }
inline Vec LoadInt32(const int32_t* p) {
  return {LoadInt32x4(p), LoadInt32x4(p + 4), LoadInt32x4(p + 8), LoadInt32x4(p + 12)};
}
inline Vec LoadInt8(const int8_t* p) {
  const int8x16_t bytes = vld1q_s8(p);
  const int16x8_t low = vmovl_s8(vget_low_s8(bytes)), high = vmovl_s8(vget_high_s8(bytes));
  return {vcvtq_f32_s32(vmovl_s16(vget_low_s16(low))), vcvtq_f32_s32(vmovl_s16(vget_high_s16(low))),
          vcvtq_f32_s32(vmovl_s16(vget_low_s16(high))),
          vcvtq_f32_s32(vmovl_s16(vget_high_s16(high)))};
}
inline int16x8_t ToInt16(float32x4_t low, float32x4_t high) {
  return vcombine_s16(vmovn_s32(vcvtq_s32_f32(low)), vmovn_s32(vcvtq_s32_f32(high)));
}
inline void StoreInt8(int8_t* p, const Vec& v) {
  vst1_s8(p, vmovn_s16(ToInt16(v.a, v.b)));
  vst1_s8(p + 8, vmovn_s16(ToInt16(v.c, v.d)));
}

inline float ReduceAdd(const Vec& v) {  // lanes i and i+8, then +4, +2, +1
  const float32x4_t four = vaddq_f32(vaddq_f32(v.a, v.c), vaddq_f32(v.b, v.d));
  const float32x2_t two = vadd_f32(vget_low_f32(four), vget_high_f32(four));
  return vget_lane_f32(two, 0) + vget_lane_f32(two, 1);
}
inline float ReduceMax(const Vec& v) {
  const float32x4_t four = Max4(Max4(v.a, v.c), Max4(v.b, v.d));
  const float32x4_t two = Max4(four, vextq_f32(four, four, 2));
  return vgetq_lane_f32(Max4(two, vextq_f32(two, two, 1)), 0);
}
template <size_t kDistance>
inline float32x4_t SwapLanes4(float32x4_t v) {
  if constexpr (kDistance == 1) return vrev64q_f32(v);
  return vextq_f32(v, v, 2);
}
/// Lane i of the result is lane i ^ kDistance (1, 2, 4 or 8) of v.
template <size_t kDistance>
inline Vec SwapLanes(const Vec& v) {
  if constexpr (kDistance == 8) return {v.c, v.d, v.a, v.b};
  if constexpr (kDistance == 4) return {v.b, v.a, v.d, v.c};
  return {SwapLanes4<kDistance>(v.a), SwapLanes4<kDistance>(v.b), SwapLanes4<kDistance>(v.c),
          SwapLanes4<kDistance>(v.d)};
}
inline void Prefetch(const void* p) { __builtin_prefetch(p); }

}  // namespace
}  // namespace bittern::kernels

#include "kernels/float32/ops.inc"

namespace bittern::kernels {
extern const KernelInfo k_float32_neon;
const KernelInfo k_float32_neon = {.name = "float32_neon", .isa = kIsa, .float32 = &kOps};
}  // namespace bittern::kernels
