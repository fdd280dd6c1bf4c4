// SPDX-License-Identifier: Apache-2.0
// Ternary gemv and gemm with AVX-VNNI (256-bit vpdpbusd, CPUs without AVX-512 since 2021): four
// unsigned codes times four signed activations added into each int32 lane, so a lane is an output
// row. The loops are in parts.inc.
//
// Bound: vpdpbusd (without saturation) adds at most 4 * 3 * 128 = 1536 in absolute value and a row
// has cols / 4 of them: int32 holds cols < 2^22.
#include <immintrin.h>

#include "kernels/kernel.h"

namespace bittern::kernels {
namespace {

constexpr size_t kParts = 2, kPartRows = 8, kChains = 4, kTokensAtOnce = 4, kFewParts = 2;

using Bytes = __m256i;
using Act = __m256i;
using Narrow = __m256i;
using Wide = __m256i;
using Ints = __m256i;
using Floats = __m256;

inline Bytes LoadBytes(const uint8_t* p) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
}
inline void StoreBytes(uint8_t* p, Bytes v) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), v);
}
inline Act Broadcast(const int8_t* act) {
  int32_t word;
  __builtin_memcpy(&word, act, 4);
  return _mm256_set1_epi32(word);
}
template <int kShift>
inline Bytes Field(Bytes bytes) {
  return _mm256_and_si256(_mm256_srli_epi16(bytes, kShift), _mm256_set1_epi8(3));
}
inline void AddProducts(Narrow* sums, Bytes codes, Act act) {
  *sums = _mm256_dpbusd_avx_epi32(*sums, codes, act);
}
inline void Widen(Wide* wide, Narrow narrow) { *wide = _mm256_add_epi32(*wide, narrow); }
inline Ints Close(Wide wide, int32_t act_sum) {
  return _mm256_sub_epi32(wide, _mm256_set1_epi32(act_sum));
}
static_assert(kDigitBase == 255);
inline Ints Join(Ints high, Ints low) {
  return _mm256_add_epi32(_mm256_sub_epi32(_mm256_slli_epi32(high, 8), high), low);
}
inline void StoreInts(int32_t* p, Ints v) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), v); }
/// Adds a group's sums, scaled: in two products and a sum, none fused.
inline Floats AddGroup(Floats total, Ints sum, const float* weight_scales, float act_scale) {
  const __m256 scaled = _mm256_mul_ps(_mm256_cvtepi32_ps(sum), _mm256_loadu_ps(weight_scales));
  return _mm256_add_ps(total, _mm256_mul_ps(scaled, _mm256_set1_ps(act_scale)));
}
inline void StoreFloats(float* p, Floats v) { _mm256_storeu_ps(p, v); }

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
extern const KernelInfo k_tile16_avxvnni;
const KernelInfo k_tile16_avxvnni = {
    .name = "tile16_avxvnni", .isa = Isa::avxvnni, .tile16 = &kOps};
}  // namespace bittern::kernels
