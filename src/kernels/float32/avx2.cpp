// SPDX-License-Identifier: Apache-2.0
// Float operations with AVX2, FMA and F16C: the sixteen lanes of the numerics contract are two
// registers. The operations themselves are in ops.inc.
#include <immintrin.h>

#include "kernels/kernel.h"

namespace bittern::kernels {
namespace {

constexpr Isa kIsa = Isa::avx2;
constexpr size_t kDotRows = 4, kScoreBlocks = 2, kFewRows = 16;
constexpr size_t kMixVectors = 1, kMixPositions = 32;

struct Vec {
  __m256 lo, hi;
};

/// All ones in the first n lanes of the half that begins at lane `first`.
inline __m256i MaskOf(size_t n, int first) {
  const __m256i lanes =
      _mm256_add_epi32(_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), _mm256_set1_epi32(first));
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n > 16 ? 16 : n)), lanes);
}
inline Vec Set1(float x) { return {_mm256_set1_ps(x), _mm256_set1_ps(x)}; }
inline Vec Load(const float* p) { return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }
inline Vec LoadPart(const float* p, size_t n) {
  return {_mm256_maskload_ps(p, MaskOf(n, 0)), _mm256_maskload_ps(p + 8, MaskOf(n, 8))};
}
inline void Store(float* p, Vec v) {
  _mm256_storeu_ps(p, v.lo);
  _mm256_storeu_ps(p + 8, v.hi);
}
inline void StorePart(float* p, Vec v, size_t n) {
  _mm256_maskstore_ps(p, MaskOf(n, 0), v.lo);
  _mm256_maskstore_ps(p + 8, MaskOf(n, 8), v.hi);
}
inline Vec Add(Vec a, Vec b) { return {_mm256_add_ps(a.lo, b.lo), _mm256_add_ps(a.hi, b.hi)}; }
inline Vec Sub(Vec a, Vec b) { return {_mm256_sub_ps(a.lo, b.lo), _mm256_sub_ps(a.hi, b.hi)}; }
inline Vec Mul(Vec a, Vec b) { return {_mm256_mul_ps(a.lo, b.lo), _mm256_mul_ps(a.hi, b.hi)}; }
inline Vec Div(Vec a, Vec b) { return {_mm256_div_ps(a.lo, b.lo), _mm256_div_ps(a.hi, b.hi)}; }
inline Vec Fma(Vec a, Vec b, Vec c) {
  return {_mm256_fmadd_ps(a.lo, b.lo, c.lo), _mm256_fmadd_ps(a.hi, b.hi, c.hi)};
}
inline Vec Max(Vec a, Vec b) { return {_mm256_max_ps(a.lo, b.lo), _mm256_max_ps(a.hi, b.hi)}; }
inline Vec Min(Vec a, Vec b) { return {_mm256_min_ps(a.lo, b.lo), _mm256_min_ps(a.hi, b.hi)}; }
inline Vec Abs(Vec a) {
  const __m256 mask = _mm256_castsi256_ps(_mm256_set1_epi32(0x7fffffff));
  return {_mm256_and_ps(a.lo, mask), _mm256_and_ps(a.hi, mask)};
}
inline __m256 PowerOfTwo8(__m256 n) {
  const __m256i exponent = _mm256_add_epi32(_mm256_cvttps_epi32(n), _mm256_set1_epi32(127));
  return _mm256_castsi256_ps(_mm256_slli_epi32(exponent, 23));
}
inline Vec PowerOfTwo(Vec n) { return {PowerOfTwo8(n.lo), PowerOfTwo8(n.hi)}; }
inline __m256 ZeroWhereNegative8(__m256 x, __m256 keep) {
  return _mm256_and_ps(x, _mm256_cmp_ps(keep, _mm256_setzero_ps(), _CMP_GE_OQ));
}
inline Vec ZeroWhereNegative(Vec x, Vec keep) {
  return {ZeroWhereNegative8(x.lo, keep.lo), ZeroWhereNegative8(x.hi, keep.hi)};
}
inline __m128i Load8x16(const uint16_t* p) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
}
inline Vec LoadHalf(const uint16_t* p) {
  return {_mm256_cvtph_ps(Load8x16(p)), _mm256_cvtph_ps(Load8x16(p + 8))};
}
inline __m256 LoadBfloat8(const uint16_t* p) {
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(Load8x16(p)), 16));
}
inline Vec LoadBfloat(const uint16_t* p) { return {LoadBfloat8(p), LoadBfloat8(p + 8)}; }
inline void StoreHalf(uint16_t* p, Vec v) {
  constexpr int kNearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm256_cvtps_ph(v.lo, kNearest));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p + 8), _mm256_cvtps_ph(v.hi, kNearest));
}
inline __m256 LoadInt32x8(const int32_t* p) {
  return _mm256_cvtepi32_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
}
inline Vec LoadInt32(const int32_t* p) { return {LoadInt32x8(p), LoadInt32x8(p + 8)}; }
inline __m256 LoadInt8x8(const int8_t* p) {
  return _mm256_cvtepi32_ps(
      _mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))));
}
inline Vec LoadInt8(const int8_t* p) { return {LoadInt8x8(p), LoadInt8x8(p + 8)}; }
inline void StoreInt8(int8_t* p, Vec v) {
  const __m256i words =  // packs within 128-bit lanes: put the quarters back in order
      _mm256_permute4x64_epi64(
          _mm256_packs_epi32(_mm256_cvttps_epi32(v.lo), _mm256_cvttps_epi32(v.hi)), 0xd8);
  _mm_storeu_si128(
      reinterpret_cast<__m128i*>(p),
      _mm_packs_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1)));
}
inline float ReduceAdd(Vec v) {  // lanes i and i+8, then +4, +2, +1
  const __m256 eight = _mm256_add_ps(v.lo, v.hi);
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}
inline float ReduceMax(Vec v) {
  const __m256 eight = _mm256_max_ps(v.lo, v.hi);
  const __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}
/// Lane i of the result is lane i ^ kDistance (1, 2, 4 or 8) of v.
template <size_t kDistance>
inline Vec SwapLanes(Vec v) {
  if constexpr (kDistance == 8) return {v.hi, v.lo};
  if constexpr (kDistance == 4) {
    return {_mm256_permute2f128_ps(v.lo, v.lo, 1), _mm256_permute2f128_ps(v.hi, v.hi, 1)};
  }
  constexpr int kOrder = kDistance == 1 ? 0xb1 : 0x4e;
  return {_mm256_permute_ps(v.lo, kOrder), _mm256_permute_ps(v.hi, kOrder)};
}
inline void Prefetch(const void* p) { _mm_prefetch(static_cast<const char*>(p), _MM_HINT_T0); }

}  // namespace
}  // namespace bittern::kernels

#include "kernels/float32/ops.inc"

namespace bittern::kernels {
extern const KernelInfo k_float32_avx2;
const KernelInfo k_float32_avx2 = {.name = "float32_avx2", .isa = kIsa, .float32 = &kOps};
}  // namespace bittern::kernels
