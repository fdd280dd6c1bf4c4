// SPDX-License-Identifier: Apache-2.0
// Float operations with AVX-512: the sixteen lanes of the numerics contract are one register.
// The operations themselves are in ops.inc.
#include <immintrin.h>

#include "kernels/kernel.h"

namespace bittern::kernels {
namespace {

constexpr Isa kIsa = Isa::avx512vnni;
constexpr size_t kDotRows = 8, kScoreBlocks = 4, kFewRows = kMostAttentionRows;
constexpr size_t kMixVectors = 4, kMixPositions = 64;

using Vec = __m512;

inline __mmask16 MaskOf(size_t n) {
  return static_cast<__mmask16>(n >= 16 ? 0xffffu : (1u << n) - 1);
}
inline Vec Set1(float x) { return _mm512_set1_ps(x); }
inline Vec Load(const float* p) { return _mm512_loadu_ps(p); }
inline Vec LoadPart(const float* p, size_t n) { return _mm512_maskz_loadu_ps(MaskOf(n), p); }
inline void Store(float* p, Vec v) { _mm512_storeu_ps(p, v); }
inline void StorePart(float* p, Vec v, size_t n) { _mm512_mask_storeu_ps(p, MaskOf(n), v); }
inline Vec Add(Vec a, Vec b) { return _mm512_add_ps(a, b); }
inline Vec Sub(Vec a, Vec b) { return _mm512_sub_ps(a, b); }
inline Vec Mul(Vec a, Vec b) { return _mm512_mul_ps(a, b); }
inline Vec Div(Vec a, Vec b) { return _mm512_div_ps(a, b); }
inline Vec Fma(Vec a, Vec b, Vec c) { return _mm512_fmadd_ps(a, b, c); }
inline Vec Max(Vec a, Vec b) { return _mm512_max_ps(a, b); }
inline Vec Min(Vec a, Vec b) { return _mm512_min_ps(a, b); }
inline Vec Abs(Vec a) { return _mm512_abs_ps(a); }
inline Vec PowerOfTwo(Vec n) {
  const __m512i exponent = _mm512_add_epi32(_mm512_cvttps_epi32(n), _mm512_set1_epi32(127));
  return _mm512_castsi512_ps(_mm512_slli_epi32(exponent, 23));
}
inline Vec ZeroWhereNegative(Vec x, Vec keep) {
  return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(keep, _mm512_setzero_ps(), _CMP_GE_OQ), x);
}
inline __m256i Load16x16(const uint16_t* p) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
}
inline Vec LoadHalf(const uint16_t* p) { return _mm512_cvtph_ps(Load16x16(p)); }
inline Vec LoadBfloat(const uint16_t* p) {
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(Load16x16(p)), 16));
}
inline void StoreHalf(uint16_t* p, Vec v) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p),
                      _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
inline Vec LoadInt32(const int32_t* p) { return _mm512_cvtepi32_ps(_mm512_loadu_si512(p)); }
inline Vec LoadInt8(const int8_t* p) {
  return _mm512_cvtepi32_ps(
      _mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
}
inline void StoreInt8(int8_t* p, Vec v) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtsepi32_epi8(_mm512_cvttps_epi32(v)));
}
inline float ReduceAdd(Vec v) {  // lanes i and i+8, then +4, +2, +1
  const __m256 eight = _mm256_add_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}
inline float ReduceMax(Vec v) {
  const __m256 eight = _mm256_max_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
  const __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}
/// Lane i of the result is lane i ^ kDistance (1, 2, 4 or 8) of v.
template <size_t kDistance>
inline Vec SwapLanes(Vec v) {
  if constexpr (kDistance >= 4) return _mm512_shuffle_f32x4(v, v, kDistance == 4 ? 0xb1 : 0x4e);
  return _mm512_permute_ps(v, kDistance == 1 ? 0xb1 : 0x4e);
}
inline void Prefetch(const void* p) { _mm_prefetch(static_cast<const char*>(p), _MM_HINT_T1); }

}  // namespace
}  // namespace bittern::kernels

#include "kernels/float32/ops.inc"

namespace bittern::kernels {
extern const KernelInfo k_float32_avx512vnni;
const KernelInfo k_float32_avx512vnni = {
    .name = "float32_avx512vnni", .isa = kIsa, .float32 = &kOps};
}  // namespace bittern::kernels
