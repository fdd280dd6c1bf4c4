// SPDX-License-Identifier: Apache-2.0
// Lookup gemv over pairs with AVX2. Layout: quant/layouts/lut32.hpp; tables: lut/tables.inc.
//
// Bound of the int16 sums: a pair is at most 2 * 128 = 256 in magnitude, and kPairs of them are
// added before the sums are widened: 127 * 256 = 32512 < 32767.
#include "kernels/lut/avx2.inc"

#include "kernels/lut/tables.inc"

namespace bittern::kernels {
namespace {

constexpr size_t kStepBytes = 32, kTableBytes = 64, kPrefetchBytes = 2048;
constexpr size_t kStepsAtOnce = 63;  // two pairs each: 126

void Gemv(const uint8_t* tiles, size_t num_tiles, size_t num_steps, const uint8_t* tables,
          int32_t* out) {
  const uint8_t* p = tiles;
  for (size_t t = 0; t < num_tiles; ++t) {
    Wide wide;
    for (size_t step = 0; step < num_steps;) {
      const size_t end = step + kStepsAtOnce < num_steps ? step + kStepsAtOnce : num_steps;
      Narrow sums;
      for (; step < end; ++step, p += kStepBytes) {
        _mm_prefetch(reinterpret_cast<const char*>(p + kPrefetchBytes), _MM_HINT_T0);
        const __m256i bytes = LoadVector(p);
        const Narrow even = LookUp(HighNibbles(bytes), tables + step * kTableBytes, 0);
        const Narrow odd = LookUp(LowNibbles(bytes), tables + step * kTableBytes, 1);
        sums.first = _mm256_add_epi16(sums.first, _mm256_add_epi16(even.first, odd.first));
        sums.last = _mm256_add_epi16(sums.last, _mm256_add_epi16(even.last, odd.last));
      }
      Widen(sums, &wide);
    }
    StoreWide(wide, out + t * kRows);
  }
}

constexpr LutOps kOps = {BuildTl1, Gemv};

}  // namespace

extern const KernelInfo k_tl1_avx2;
const KernelInfo k_tl1_avx2 = {.name = "tl1_avx2", .isa = Isa::avx2, .tl1 = &kOps};

}  // namespace bittern::kernels
