// SPDX-License-Identifier: Apache-2.0
// Lookup gemv over triples with AVX2. Layout: quant/layouts/lut32.hpp; tables: lut/tables.inc.
//
// Bound of the int16 sums: a triple is at most 3 * 128 = 384 in magnitude, and 80 of them (ten
// steps) are added before the sums are widened: 30720 < 32767.
#include "kernels/lut/avx2.inc"

#include "kernels/lut/tables.inc"
#include "kernels/unroll.inc"

namespace bittern::kernels {
namespace {

constexpr size_t kStepBytes = 160, kTableBytes = 256, kPrefetchBytes = 2560;
constexpr size_t kStepsAtOnce = 10;

/// v where the mask is 0, -v where it is all ones.
inline __m256i Negate(__m256i v, __m256i mask) {
  return _mm256_xor_si256(_mm256_add_epi16(v, mask), mask);
}

/// Adds triple kTriple of the step whose sign words are given.
template <size_t kTriple>
inline void AddTriple(__m256i nibbles, __m256i signs, const uint8_t* tables, Narrow* sums) {
  const Narrow value = LookUp(nibbles, tables, kTriple % 2);
  const __m256i first = _mm256_srai_epi16(_mm256_slli_epi16(signs, 2 * kTriple), 15);
  const __m256i last = _mm256_srai_epi16(_mm256_slli_epi16(signs, 2 * kTriple + 1), 15);
  sums->first = _mm256_add_epi16(sums->first, Negate(value.first, first));
  sums->last = _mm256_add_epi16(sums->last, Negate(value.last, last));
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
        const __m256i signs = LoadVector(p + 128);
        Unroll<4>(BITTERN_STEP(i) {
          _mm_prefetch(reinterpret_cast<const char*>(p + kPrefetchBytes + 40 * i.value),
                       _MM_HINT_T0);
          const __m256i bytes = LoadVector(p + 32 * i.value);
          const uint8_t* table = tables + step * kTableBytes + 64 * i.value;
          AddTriple<2 * i.value>(HighNibbles(bytes), signs, table, &sums);
          AddTriple<2 * i.value + 1>(LowNibbles(bytes), signs, table, &sums);
        });
      }
      Widen(sums, &wide);
    }
    StoreWide(wide, out + t * kRows);
  }
}

constexpr LutOps kOps = {BuildTl2, Gemv};

}  // namespace

extern const KernelInfo k_tl2_avx2;
const KernelInfo k_tl2_avx2 = {.name = "tl2_avx2", .isa = Isa::avx2, .tl2 = &kOps};

}  // namespace bittern::kernels
