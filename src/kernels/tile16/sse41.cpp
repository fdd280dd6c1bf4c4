// SPDX-License-Identifier: Apache-2.0
// Ternary gemv and gemm with SSSE3's pmaddubsw, for x86 CPUs of 2008 to 2012: it multiplies
// unsigned codes by signed activations and adds neighbours into int16. The loops are in parts.inc.
//
// Bound of the int16 sums: codes <= 3, activations >= -128, so one pmaddubsw gives at most
// 2 * 3 * 128 = 768, and a block of 128 columns adds 32 of them: 24576 < 32767. Every block is
// widened to int32, so no row length overflows.
#include <smmintrin.h>

#include "kernels/kernel.h"

namespace bittern::kernels {
namespace {

constexpr size_t kParts = 4, kPartRows = 4, kChains = 1, kTokensAtOnce = 2, kFewParts = 1;

using Bytes = __m128i;
using Act = __m128i;
using Narrow = __m128i;
using Wide = __m128i;
using Ints = __m128i;
using Floats = __m128;

inline Bytes LoadBytes(const uint8_t* p) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
}
inline void StoreBytes(uint8_t* p, Bytes v) { _mm_storeu_si128(reinterpret_cast<__m128i*>(p), v); }
inline Act Broadcast(const int8_t* act) {
  int32_t word;
  __builtin_memcpy(&word, act, 4);
  return _mm_set1_epi32(word);
}
template <int kShift>
inline Bytes Field(Bytes bytes) {
  return _mm_and_si128(_mm_srli_epi16(bytes, kShift), _mm_set1_epi8(3));
}
inline void AddProducts(Narrow* sums, Bytes codes, Act act) {
  *sums = _mm_add_epi16(*sums, _mm_maddubs_epi16(codes, act));
}
/// Adds int16 pairs into int32 lanes.
inline void Widen(Wide* wide, Narrow narrow) {
  *wide = _mm_add_epi32(*wide, _mm_madd_epi16(narrow, _mm_set1_epi16(1)));
}
inline Ints Close(Wide wide, int32_t act_sum) {
  return _mm_sub_epi32(wide, _mm_set1_epi32(act_sum));
}
static_assert(kDigitBase == 255);
inline Ints Join(Ints high, Ints low) {
  return _mm_add_epi32(_mm_sub_epi32(_mm_slli_epi32(high, 8), high), low);
}
inline void StoreInts(int32_t* p, Ints v) { _mm_storeu_si128(reinterpret_cast<__m128i*>(p), v); }
/// Adds a group's sums, scaled: in two products and a sum, none fused.
inline Floats AddGroup(Floats total, Ints sum, const float* weight_scales, float act_scale) {
  const __m128 scaled = _mm_mul_ps(_mm_cvtepi32_ps(sum), _mm_loadu_ps(weight_scales));
  return _mm_add_ps(total, _mm_mul_ps(scaled, _mm_set1_ps(act_scale)));
}
inline void StoreFloats(float* p, Floats v) { _mm_storeu_ps(p, v); }

}  // namespace
}  // namespace bittern::kernels

#include "kernels/tile16/parts.inc"
#include "kernels/tile16/parts_few.inc"
#include "kernels/tile16/parts_gemm.inc"
#include "kernels/tile16/token_by_token.inc"

namespace bittern::kernels {
namespace {
constexpr Tile16Ops kOps = {Gemv, Gemm, GemvGrouped, GemmGrouped};
}  // namespace
extern const KernelInfo k_tile16_sse41;
const KernelInfo k_tile16_sse41 = {.name = "tile16_sse41", .isa = Isa::sse41, .tile16 = &kOps};
}  // namespace bittern::kernels
