// SPDX-License-Identifier: Apache-2.0
// Lookup gemv over pairs with AVX-512 (BW; VNNI has no part in it). Layout:
// quant/layouts/lut32.hpp.
//
// Bound of the int16 sums: a pair is at most 256 in magnitude and each lane adds one a step;
// widened after 127 steps: 32512 < 32767.
#include "kernels/lut/avx512.inc"
#include "kernels/lut/tables.inc"

namespace bittern::kernels {
namespace {

constexpr size_t kStepBytes = 32, kTableBytes = 64, kPrefetchBytes = 2048, kStepsAtOnce = 127;

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
        const Narrow value = LookUp(Nibbles(p), tables + step * kTableBytes);
        sums.first = _mm512_add_epi16(sums.first, value.first);
        sums.last = _mm512_add_epi16(sums.last, value.last);
      }
      Widen(sums, &wide);
    }
    StoreWide(wide, out + t * kRows);
  }
}

constexpr LutOps kOps = {BuildTl1, Gemv};

}  // namespace

extern const KernelInfo k_tl1_avx512vnni;
const KernelInfo k_tl1_avx512vnni = {
    .name = "tl1_avx512vnni", .isa = Isa::avx512vnni, .tl1 = &kOps};

}  // namespace bittern::kernels
