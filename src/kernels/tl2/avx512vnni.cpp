// SPDX-License-Identifier: Apache-2.0
// Lookup gemv over triples with AVX-512 (BW; VNNI has no part in it). Layout:
// quant/layouts/lut32.hpp.
//
// Bound of the int16 sums: a triple is at most 384 in magnitude and each lane adds four a step;
// widened after 20 steps: 80 * 384 = 30720 < 32767.
#include "kernels/lut/avx512.inc"
#include "kernels/lut/tables.inc"
#include "kernels/unroll.inc"

namespace bittern::kernels {
namespace {

constexpr size_t kStepBytes = 160, kTableBytes = 256, kPrefetchBytes = 2560, kStepsAtOnce = 20;

/// The top bit of every word becomes the sign of triple 2 i (low half) and 2 i + 1 (high half).
template <size_t kPair>
inline __m512i SignShifts(size_t last) {
  const __m256i even = _mm256_set1_epi16(static_cast<short>(4 * kPair + last));
  const __m256i odd = _mm256_set1_epi16(static_cast<short>(4 * kPair + 2 + last));
  return _mm512_inserti64x4(_mm512_castsi256_si512(even), odd, 1);
}

/// Adds v, negated in the lanes whose sign bit is set.
inline __m512i AddSigned(__m512i sum, __m512i v, __m512i sign_words) {
  const __mmask32 negative = _mm512_movepi16_mask(sign_words);
  return _mm512_mask_sub_epi16(_mm512_mask_add_epi16(sum, _knot_mask32(negative), sum, v), negative,
                               sum, v);
}

void Gemv(const uint8_t* tiles, size_t num_tiles, size_t num_steps, const uint8_t* tables,
          int32_t* out) {
  const uint8_t* p = tiles;
  for (size_t t = 0; t < num_tiles; ++t) {
    Wide wide;
    for (size_t step = 0; step < num_steps;) {
      const size_t end = step + kStepsAtOnce < num_steps ? step + kStepsAtOnce : num_steps;
      Narrow sums;
      for (; step < end; ++step, p += kStepBytes) {
        const __m512i signs =
            _mm512_broadcast_i64x4(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + 128)));
        Unroll<4>(BITTERN_STEP(i) {
          _mm_prefetch(reinterpret_cast<const char*>(p + kPrefetchBytes + 40 * i.value),
                       _MM_HINT_T0);
          const Narrow value =
              LookUp(Nibbles(p + 32 * i.value), tables + step * kTableBytes + 64 * i.value);
          sums.first =
              AddSigned(sums.first, value.first, _mm512_sllv_epi16(signs, SignShifts<i.value>(0)));
          sums.last =
              AddSigned(sums.last, value.last, _mm512_sllv_epi16(signs, SignShifts<i.value>(1)));
        });
      }
      Widen(sums, &wide);
    }
    StoreWide(wide, out + t * kRows);
  }
}

constexpr LutOps kOps = {BuildTl2, Gemv};

}  // namespace

extern const KernelInfo k_tl2_avx512vnni;
const KernelInfo k_tl2_avx512vnni = {
    .name = "tl2_avx512vnni", .isa = Isa::avx512vnni, .tl2 = &kOps};

}  // namespace bittern::kernels
