// SPDX-License-Identifier: Apache-2.0
// The coarse scan of the screened head with AVX2. Layout: quant/screen_planes.hpp.
//
// Bounds of the int16 sums: a product of two nibbles is at most 2 * 15 * 128 = 3840 in magnitude,
// and eight are added before they are widened (30720); of two pairs 2 * 3 * 128 = 768, of two bits
// 256, and eight fields of one line are added (6144).
#include <immintrin.h>

#include "kernels/kernel.h"
#include "kernels/unroll.inc"

namespace bittern::kernels {
namespace {

constexpr size_t kRows = 16, kLine = 64, kHalf = 32, kPrefetchBytes = 2048;
constexpr size_t kLinesAtOnce = 4;  // each adds two products to a sum

inline __m256i Load(const void* p) { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }
inline __m256i Broadcast4(const int8_t* p) {
  int32_t word;
  __builtin_memcpy(&word, p, 4);
  return _mm256_set1_epi32(word);
}
inline __m256i Widened(__m256i sums) { return _mm256_madd_epi16(sums, _mm256_set1_epi16(1)); }

/// Eight rows of a tile against both halves of the vector, over `cols` columns.
inline void ScanRows(const uint8_t* tile, size_t cols, const int8_t* high, const int8_t* low,
                     int32_t* out_high, int32_t* out_low) {
  const __m256i nibble = _mm256_set1_epi8(0x0f);
  __m256i wide_high = _mm256_setzero_si256(), wide_low = wide_high;
  for (size_t c = 0; c < cols; c += 8 * kLinesAtOnce) {
    __m256i sums_high = _mm256_setzero_si256(), sums_low = sums_high;
    Unroll<kLinesAtOnce>(BITTERN_STEP(i) {
      const size_t column = c + 8 * i.value;
      const uint8_t* line = tile + column * 8;
      __builtin_prefetch(line + kPrefetchBytes);
      const __m256i bytes = Load(line);
      const __m256i first = _mm256_and_si256(bytes, nibble);
      const __m256i second = _mm256_and_si256(_mm256_srli_epi16(bytes, 4), nibble);
      const auto add = [&](__m256i sums, const int8_t* act) __attribute__((always_inline)) {
        const __m256i a = _mm256_maddubs_epi16(first, Broadcast4(act + column));
        const __m256i b = _mm256_maddubs_epi16(second, Broadcast4(act + column + 4));
        return _mm256_add_epi16(sums, _mm256_add_epi16(a, b));
      };
      sums_high = add(sums_high, high);
      sums_low = add(sums_low, low);
    });
    wide_high = _mm256_add_epi32(wide_high, Widened(sums_high));
    wide_low = _mm256_add_epi32(wide_low, Widened(sums_low));
  }
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(out_high), wide_high);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(out_low), wide_low);
}

void Scan(const uint8_t* tiles, size_t num_tiles, size_t cols, const int8_t* high,
          const int8_t* low, int32_t* out_high, int32_t* out_low) {
  for (size_t t = 0; t < num_tiles; ++t, tiles += cols * 8) {
    for (size_t half = 0; half < 2; ++half) {
      const size_t row = t * kRows + half * 8;
      ScanRows(tiles + half * kHalf, cols, high, low, out_high + row, out_low + row);
    }
  }
}

inline int32_t Sum(__m256i v) {
  const __m128i four = _mm_add_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
  const __m128i two = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0x4e));
  return _mm_cvtsi128_si32(_mm_add_epi32(two, _mm_shuffle_epi32(two, 0xb1)));
}

/// Fields of kBits bits, kFields of them in a byte, times int8.
template <size_t kFields>
inline int32_t DotFields(const uint8_t* planes, size_t cols, const int8_t* high) {
  constexpr int kBits = 8 / kFields;
  const __m256i mask = _mm256_set1_epi8(static_cast<char>((1 << kBits) - 1));
  __m256i total = _mm256_setzero_si256();
  for (size_t c = 0; c < cols; c += kFields * kLine, planes += kLine) {
    Unroll<2>(BITTERN_STEP(half) {
      const __m256i bytes = Load(planes + half.value * kHalf);
      __m256i sums = _mm256_setzero_si256();
      Unroll<kFields>(BITTERN_STEP(f) {
        const __m256i field =
            _mm256_and_si256(_mm256_srli_epi16(bytes, kBits * static_cast<int>(f.value)), mask);
        const __m256i act = Load(high + c + f.value * kLine + half.value * kHalf);
        sums = _mm256_add_epi16(sums, _mm256_maddubs_epi16(field, act));
      });
      total = _mm256_add_epi32(total, Widened(sums));
    });
  }
  return Sum(total);
}

int32_t DotBits(const uint8_t* bits, size_t cols, const int8_t* high) {
  return DotFields<8>(bits, cols, high);
}
int32_t DotPairs(const uint8_t* pairs, size_t cols, const int8_t* high) {
  return DotFields<4>(pairs, cols, high);
}

constexpr ScreenOps kOps = {Scan, DotBits, DotPairs};

}  // namespace

extern const KernelInfo k_screen_avx2;
const KernelInfo k_screen_avx2 = {.name = "screen_avx2",
                                  .isa = Isa::avx2,
                                  .tile16 = nullptr,
                                  .float32 = nullptr,
                                  .screen = &kOps};

}  // namespace bittern::kernels
