// SPDX-License-Identifier: Apache-2.0
// Float operations with SSE4.1: the sixteen lanes of the numerics contract are four registers.
// These CPUs have neither fused multiply-add nor half precision; both are computed exactly. The
// operations themselves are in ops.inc.
#include <smmintrin.h>

#include "kernels/kernel.h"

namespace bittern::kernels {
namespace {

constexpr Isa kIsa = Isa::sse41;
constexpr size_t kDotRows = 2, kScoreBlocks = 2, kFewRows = 4;
constexpr size_t kMixVectors = 1, kMixPositions = 32;

struct Vec {
  __m128 a, b, c, d;  // lanes 0-3, 4-7, 8-11, 12-15
};

inline Vec Set1(float x) {
  return {_mm_set1_ps(x), _mm_set1_ps(x), _mm_set1_ps(x), _mm_set1_ps(x)};
}
inline Vec Load(const float* p) {
  return {_mm_loadu_ps(p), _mm_loadu_ps(p + 4), _mm_loadu_ps(p + 8), _mm_loadu_ps(p + 12)};
}
inline void Store(float* p, const Vec& v) {
  _mm_storeu_ps(p, v.a);
  _mm_storeu_ps(p + 4, v.b);
  _mm_storeu_ps(p + 8, v.c);
  _mm_storeu_ps(p + 12, v.d);
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

// A macro, because an intrinsic may be one too and then cannot be passed to a template.
#define BITTERN_LANES(name, intrinsic)                                                           \
  inline Vec name(const Vec& x, const Vec& y) {                                                  \
    return {intrinsic(x.a, y.a), intrinsic(x.b, y.b), intrinsic(x.c, y.c), intrinsic(x.d, y.d)}; \
  }
BITTERN_LANES(Add, _mm_add_ps)
BITTERN_LANES(Sub, _mm_sub_ps)
BITTERN_LANES(Mul, _mm_mul_ps)
BITTERN_LANES(Div, _mm_div_ps)
BITTERN_LANES(Max, _mm_max_ps)
BITTERN_LANES(Min, _mm_min_ps)

/// a * b + c of two lanes, rounded to odd in double; then rounding to float gives what a fused
/// instruction gives (kernels/float32/scalar.cpp has the reasons). The product is exact; the
/// error of the sum is exact too (Knuth's TwoSum). Where the sum was rounded away from zero, one
/// step back gives it cut off; an inexact sum then gets its last bit set. Infinities and NaN have
/// an error of NaN, which compares as exact.
inline __m128d FusedOdd(__m128d a, __m128d b, __m128d c) {
  const __m128d product = _mm_mul_pd(a, b), sum = _mm_add_pd(product, c);
  const __m128d shadow = _mm_sub_pd(sum, product);
  const __m128d error =
      _mm_add_pd(_mm_sub_pd(product, _mm_sub_pd(sum, shadow)), _mm_sub_pd(c, shadow));
  const __m128d size = _mm_andnot_pd(_mm_set1_pd(-0.0), error);
  const __m128i inexact = _mm_castpd_si128(_mm_cmpgt_pd(size, _mm_setzero_pd()));
  const __m128i away = _mm_srli_epi64(_mm_castpd_si128(_mm_xor_pd(sum, error)), 63);
  const __m128i one = _mm_srli_epi64(inexact, 63);
  const __m128i cut = _mm_sub_epi64(_mm_castpd_si128(sum), _mm_and_si128(away, inexact));
  return _mm_castsi128_pd(_mm_or_si128(cut, one));
}
inline __m128 Fused(__m128 a, __m128 b, __m128 c) {
  const __m128d low = FusedOdd(_mm_cvtps_pd(a), _mm_cvtps_pd(b), _mm_cvtps_pd(c));
  const __m128d high =
      FusedOdd(_mm_cvtps_pd(_mm_movehl_ps(a, a)), _mm_cvtps_pd(_mm_movehl_ps(b, b)),
               _mm_cvtps_pd(_mm_movehl_ps(c, c)));
  return _mm_movelh_ps(_mm_cvtpd_ps(low), _mm_cvtpd_ps(high));
}
inline Vec Fma(const Vec& x, const Vec& y, const Vec& z) {
  return {Fused(x.a, y.a, z.a), Fused(x.b, y.b, z.b), Fused(x.c, y.c, z.c), Fused(x.d, y.d, z.d)};
}

inline Vec Abs(const Vec& x) {
  const __m128 mask = _mm_castsi128_ps(_mm_set1_epi32(0x7fffffff));
  return {_mm_and_ps(x.a, mask), _mm_and_ps(x.b, mask), _mm_and_ps(x.c, mask),
          _mm_and_ps(x.d, mask)};
}
inline __m128 PowerOfTwo4(__m128 n) {
  const __m128i exponent = _mm_add_epi32(_mm_cvttps_epi32(n), _mm_set1_epi32(127));
  return _mm_castsi128_ps(_mm_slli_epi32(exponent, 23));
}
inline Vec PowerOfTwo(const Vec& n) {
  return {PowerOfTwo4(n.a), PowerOfTwo4(n.b), PowerOfTwo4(n.c), PowerOfTwo4(n.d)};
}
inline __m128 ZeroWhereNegative4(__m128 x, __m128 keep) {
  return _mm_and_ps(x, _mm_cmpge_ps(keep, _mm_setzero_ps()));
}
BITTERN_LANES(ZeroWhereNegative, ZeroWhereNegative4)
#undef BITTERN_LANES

inline __m128 Select(__m128 other, __m128i chosen, __m128i where) {
  return _mm_blendv_ps(other, _mm_castsi128_ps(chosen), _mm_castsi128_ps(where));
}
/// Four zero-extended halves to floats; NaN is made quiet.
inline __m128 HalfToFloat4(__m128i half) {
  const __m128i sign = _mm_slli_epi32(_mm_and_si128(half, _mm_set1_epi32(0x8000)), 16);
  const __m128i rest = _mm_and_si128(half, _mm_set1_epi32(0x7fff));
  const __m128i rebias = _mm_set1_epi32(112 << 23);
  __m128i bits = _mm_add_epi32(_mm_slli_epi32(rest, 13), rebias);
  const __m128i special = _mm_cmpgt_epi32(rest, _mm_set1_epi32(0x7bff));
  const __m128i nan = _mm_cmpgt_epi32(rest, _mm_set1_epi32(0x7c00));
  bits = _mm_add_epi32(bits, _mm_and_si128(special, rebias));
  bits = _mm_or_si128(bits, _mm_and_si128(nan, _mm_set1_epi32(0x400000)));
  const __m128 tiny = _mm_mul_ps(_mm_cvtepi32_ps(rest), _mm_set1_ps(0x1p-24f));  // subnormal half
  const __m128 value = Select(tiny, bits, _mm_cmpgt_epi32(rest, _mm_set1_epi32(0x3ff)));
  return _mm_or_ps(value, _mm_castsi128_ps(sign));
}
/// Four floats, |x| <= 65504 since callers saturate, to halves in 32-bit lanes.
inline __m128i FloatToHalf4(__m128 x) {
  const __m128i bits = _mm_castps_si128(x);
  const __m128i sign = _mm_and_si128(_mm_srli_epi32(bits, 16), _mm_set1_epi32(0x8000));
  const __m128i rest = _mm_and_si128(bits, _mm_set1_epi32(0x7fffffff));
  const __m128i odd = _mm_and_si128(_mm_srli_epi32(rest, 13), _mm_set1_epi32(1));
  // rest - (112 << 23) + 0xfff + odd: to nearest even when shifted
  const __m128i rounded =
      _mm_add_epi32(rest, _mm_add_epi32(odd, _mm_set1_epi32(0xfff - (112 << 23))));
  const __m128 tiny = _mm_add_ps(_mm_castsi128_ps(rest), _mm_set1_ps(0.5f));  // rounds to 2^-24
  const __m128i subnormal = _mm_sub_epi32(_mm_castps_si128(tiny), _mm_set1_epi32(0x3f000000));
  const __m128i small = _mm_cmplt_epi32(rest, _mm_set1_epi32(0x38800000));
  const __m128 half = Select(_mm_castsi128_ps(_mm_srli_epi32(rounded, 13)), subnormal, small);
  return _mm_or_si128(_mm_castps_si128(half), sign);
}

inline __m128i Load8x16(const uint16_t* p) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
}
inline Vec LoadHalf(const uint16_t* p) {
  const __m128i low = Load8x16(p), high = Load8x16(p + 8), zero = _mm_setzero_si128();
  return {HalfToFloat4(_mm_unpacklo_epi16(low, zero)), HalfToFloat4(_mm_unpackhi_epi16(low, zero)),
          HalfToFloat4(_mm_unpacklo_epi16(high, zero)),
          HalfToFloat4(_mm_unpackhi_epi16(high, zero))};
}
inline Vec LoadBfloat(const uint16_t* p) {
  const __m128i low = Load8x16(p), high = Load8x16(p + 8), zero = _mm_setzero_si128();
  return {_mm_castsi128_ps(_mm_unpacklo_epi16(zero, low)),
          _mm_castsi128_ps(_mm_unpackhi_epi16(zero, low)),
          _mm_castsi128_ps(_mm_unpacklo_epi16(zero, high)),
          _mm_castsi128_ps(_mm_unpackhi_epi16(zero, high))};
}
inline void StoreHalf(uint16_t* p, const Vec& v) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p),
                   _mm_packus_epi32(FloatToHalf4(v.a), FloatToHalf4(v.b)));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p + 8),
                   _mm_packus_epi32(FloatToHalf4(v.c), FloatToHalf4(v.d)));
}
inline __m128 LoadInt32x4(const int32_t* p) {
  return _mm_cvtepi32_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}
inline Vec LoadInt32(const int32_t* p) {
  return {LoadInt32x4(p), LoadInt32x4(p + 4), LoadInt32x4(p + 8), LoadInt32x4(p + 12)};
}
inline __m128 LoadInt8x4(const int8_t* p) {
  int32_t word;
  __builtin_memcpy(&word, p, 4);
  return _mm_cvtepi32_ps(_mm_cvtepi8_epi32(_mm_cvtsi32_si128(word)));
}
inline Vec LoadInt8(const int8_t* p) {
  return {LoadInt8x4(p), LoadInt8x4(p + 4), LoadInt8x4(p + 8), LoadInt8x4(p + 12)};
}
inline void StoreInt8(int8_t* p, const Vec& v) {
  const __m128i low = _mm_packs_epi32(_mm_cvttps_epi32(v.a), _mm_cvttps_epi32(v.b));
  const __m128i high = _mm_packs_epi32(_mm_cvttps_epi32(v.c), _mm_cvttps_epi32(v.d));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm_packs_epi16(low, high));
}
inline float ReduceAdd(const Vec& v) {  // lanes i and i+8, then +4, +2, +1
  const __m128 four = _mm_add_ps(_mm_add_ps(v.a, v.c), _mm_add_ps(v.b, v.d));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}
inline float ReduceMax(const Vec& v) {
  const __m128 four = _mm_max_ps(_mm_max_ps(v.a, v.c), _mm_max_ps(v.b, v.d));
  const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}
/// Lane i of the result is lane i ^ kDistance (1, 2, 4 or 8) of v.
template <size_t kDistance>
inline Vec SwapLanes(const Vec& v) {
  if constexpr (kDistance == 8) return {v.c, v.d, v.a, v.b};
  if constexpr (kDistance == 4) return {v.b, v.a, v.d, v.c};
  constexpr int kOrder = kDistance == 1 ? 0xb1 : 0x4e;
  return {_mm_shuffle_ps(v.a, v.a, kOrder), _mm_shuffle_ps(v.b, v.b, kOrder),
          _mm_shuffle_ps(v.c, v.c, kOrder), _mm_shuffle_ps(v.d, v.d, kOrder)};
}
inline void Prefetch(const void* p) { __builtin_prefetch(p); }

}  // namespace
}  // namespace bittern::kernels

#include "kernels/float32/ops.inc"

namespace bittern::kernels {
extern const KernelInfo k_float32_sse41;
const KernelInfo k_float32_sse41 = {.name = "float32_sse41", .isa = kIsa, .float32 = &kOps};
}  // namespace bittern::kernels
