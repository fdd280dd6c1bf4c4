// SPDX-License-Identifier: Apache-2.0
// The coarse scan of the screened head with AVX-512 VNNI. Layout: quant/screen_planes.hpp. Fields
// of a byte are multiplied where they stand (bits 7-4 count 16-fold) into sums of their own, which
// are shifted once at the end: exact. Bound: 240 * 128 * cols / 2 < 2^31 for cols < 2^17.
#include <immintrin.h>

#include "kernels/kernel.h"
#include "kernels/unroll.inc"

namespace bittern::kernels {
namespace {

constexpr size_t kRows = 16, kLine = 64, kPrefetchBytes = 4096;

inline __m512i Broadcast4(const int8_t* p) {
  int32_t word;
  __builtin_memcpy(&word, p, 4);
  return _mm512_set1_epi32(word);
}

struct Fields {
  __m512i first = _mm512_setzero_si512(), second = _mm512_setzero_si512();
};

inline void AddFields(__m512i first, __m512i second, const int8_t* act, Fields* sums) {
  sums->first = _mm512_dpbusd_epi32(sums->first, first, Broadcast4(act));
  sums->second = _mm512_dpbusd_epi32(sums->second, second, Broadcast4(act + 4));
}

inline void Store(const Fields& a, const Fields& b, int32_t* out) {
  const __m512i first = _mm512_add_epi32(a.first, b.first);
  const __m512i second = _mm512_srai_epi32(_mm512_add_epi32(a.second, b.second), 4);
  _mm512_storeu_si512(out, _mm512_add_epi32(first, second));
}

void Scan(const uint8_t* tiles, size_t num_tiles, size_t cols, const int8_t* high,
          const int8_t* low, int32_t* out_high, int32_t* out_low) {
  const __m512i nibble = _mm512_set1_epi8(0x0f);
  for (size_t t = 0; t < num_tiles; ++t) {
    Fields sums_high[2], sums_low[2];  // two sets: the latency of one hides behind the other
    for (size_t c = 0; c < cols; c += 16, tiles += 2 * kLine) {
      Unroll<2>(BITTERN_STEP(i) {
        const uint8_t* line = tiles + i.value * kLine;
        _mm_prefetch(reinterpret_cast<const char*>(line + kPrefetchBytes), _MM_HINT_T0);
        const __m512i bytes = _mm512_loadu_si512(line);
        const __m512i first = _mm512_and_si512(bytes, nibble);
        const __m512i second = _mm512_andnot_si512(nibble, bytes);
        AddFields(first, second, high + c + 8 * i.value, &sums_high[i.value]);
        AddFields(first, second, low + c + 8 * i.value, &sums_low[i.value]);
      });
    }
    Store(sums_high[0], sums_high[1], out_high + t * kRows);
    Store(sums_low[0], sums_low[1], out_low + t * kRows);
  }
}

int32_t DotBits(const uint8_t* bits, size_t cols, const int8_t* high) {
  __m512i total = _mm512_setzero_si512();
  __m512i sums[8];
  Unroll<8>(BITTERN_STEP(f) { sums[f.value] = _mm512_setzero_si512(); });
  for (size_t c = 0; c < cols; c += 8 * kLine, bits += kLine) {
    const __m512i bytes = _mm512_loadu_si512(bits);
    Unroll<8>(BITTERN_STEP(f) {
      const __m512i field =
          _mm512_and_si512(bytes, _mm512_set1_epi8(static_cast<char>(1 << f.value)));
      sums[f.value] =
          _mm512_dpbusd_epi32(sums[f.value], field, _mm512_loadu_si512(high + c + f.value * kLine));
    });
  }
  Unroll<8>(BITTERN_STEP(f) {
    total = _mm512_add_epi32(total, _mm512_srai_epi32(sums[f.value], f.value));
  });
  return _mm512_reduce_add_epi32(total);
}

int32_t DotPairs(const uint8_t* pairs, size_t cols, const int8_t* high) {
  __m512i total = _mm512_setzero_si512();
  __m512i sums[4];
  Unroll<4>(BITTERN_STEP(f) { sums[f.value] = _mm512_setzero_si512(); });
  for (size_t c = 0; c < cols; c += 4 * kLine, pairs += kLine) {
    const __m512i bytes = _mm512_loadu_si512(pairs);
    Unroll<4>(BITTERN_STEP(f) {
      const __m512i field =
          _mm512_and_si512(bytes, _mm512_set1_epi8(static_cast<char>(3 << 2 * f.value)));
      sums[f.value] =
          _mm512_dpbusd_epi32(sums[f.value], field, _mm512_loadu_si512(high + c + f.value * kLine));
    });
  }
  Unroll<4>(BITTERN_STEP(f) {
    total = _mm512_add_epi32(total, _mm512_srai_epi32(sums[f.value], 2 * f.value));
  });
  return _mm512_reduce_add_epi32(total);
}

constexpr ScreenOps kOps = {Scan, DotBits, DotPairs};

}  // namespace

extern const KernelInfo k_screen_avx512vnni;
const KernelInfo k_screen_avx512vnni = {.name = "screen_avx512vnni",
                                        .isa = Isa::avx512vnni,
                                        .tile16 = nullptr,
                                        .float32 = nullptr,
                                        .screen = &kOps};

}  // namespace bittern::kernels
