// SPDX-License-Identifier: Apache-2.0
// The coarse scan of the screened head with AVX2. Layout: quant/layouts/screen_planes.hpp.
//
// Bounds of the int16 sums (at most 32767 in magnitude). An addend is the sum of two products:
//   nibbles  2 * 15 * 128 = 3840,  8 added before widening: 30720
//   pairs    2 *  3 * 128 =  768,  4 added:                  3072
//   bits     2 *  1 * 128 =  256, 64 added:                 16384
//   fives    2 * 31 * 127 = 7874,  4 added:                 31496
#include <immintrin.h>

#include "kernels/kernel.h"
#include "kernels/prefetch.inc"
#include "kernels/screen/five.inc"
#include "kernels/screen_survivors.inc"
#include "kernels/unroll.inc"

namespace bittern::kernels {
namespace {

constexpr size_t kRows = 16, kLine = 64, kHalf = 32, kPrefetchBytes = 2048;
constexpr size_t kLinesAtOnce = 4;  // each adds two products to a sum

inline __m256i Load(const void* p) { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }
inline void Store(void* p, __m256i v) { _mm256_storeu_si256(static_cast<__m256i*>(p), v); }
inline __m256i Broadcast4(const int8_t* p) {
  int32_t word;
  __builtin_memcpy(&word, p, 4);
  return _mm256_set1_epi32(word);
}
inline __m256i Widened(__m256i sums) { return _mm256_madd_epi16(sums, _mm256_set1_epi16(1)); }

/// 2 * sum - 15 * vector_sum, as float.
inline __m256 Centred(__m256i sum, int32_t vector_sum) {
  return _mm256_cvtepi32_ps(
      _mm256_sub_epi32(_mm256_add_epi32(sum, sum), _mm256_set1_epi32(15 * vector_sum)));
}

/// Products of four lines of a tile, which is as many as int16 holds, with both halves of the
/// vector, added to wide: [high, low][rows 0-7, rows 8-15] vectors.
inline void AddLines(const uint8_t* lines, const int8_t* high, const int8_t* low, int32_t* wide) {
  const __m256i nibble = _mm256_set1_epi8(0x0f);
  __m256i sums[2][2];
  Unroll<4>(BITTERN_STEP(i) { sums[i.value / 2][i.value % 2] = _mm256_setzero_si256(); });
  Unroll<kLinesAtOnce>(BITTERN_STEP(i) {
    const uint8_t* line = lines + i.value * kLine;
    __builtin_prefetch(line + kPrefetchBytes);
    Unroll<2>(BITTERN_STEP(half) {
      const __m256i bytes = Load(line + half.value * kHalf);
      const __m256i first = _mm256_and_si256(bytes, nibble);
      const __m256i second = _mm256_and_si256(_mm256_srli_epi16(bytes, 4), nibble);
      const auto add = [&](__m256i* sum, const int8_t* act) __attribute__((always_inline)) {
        const __m256i a = _mm256_maddubs_epi16(first, Broadcast4(act + 8 * i.value));
        const __m256i b = _mm256_maddubs_epi16(second, Broadcast4(act + 8 * i.value + 4));
        *sum = _mm256_add_epi16(*sum, _mm256_add_epi16(a, b));
      };
      add(&sums[0][half.value], high);
      add(&sums[1][half.value], low);
    });
  });
  Unroll<4>(BITTERN_STEP(i) {
    int32_t* to = wide + 8 * i.value;
    Store(to, _mm256_add_epi32(Load(to), Widened(sums[i.value / 2][i.value % 2])));
  });
}

/// Estimates of eight rows from their sums with both halves of the vector.
inline __m256 EstimatesOf(const ScanArgs& args, const int32_t* high, const int32_t* low,
                          const float* steps) {
  const __m256 coarse = _mm256_mul_ps(Centred(Load(high), args.high_sum), _mm256_set1_ps(256));
  const __m256 sum = _mm256_add_ps(coarse, Centred(Load(low), args.low_sum));
  return _mm256_mul_ps(sum, _mm256_mul_ps(_mm256_set1_ps(args.factor), _mm256_loadu_ps(steps)));
}

inline float Largest(__m256 v) {
  const __m128 four = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}

void Scan(const ScanArgs* args) {
  alignas(32) int32_t sums[4 * 8];
  int32_t* wide = sums;
  asm("" : "+r"(wide));  // sums stay in memory: the inner loop needs all registers
  for (size_t t = 0; t < args->num_tiles; ++t) {
    const uint8_t* tile = args->tiles + t * args->cols * 8;
    const size_t row = t * kRows;
    Unroll<4>(BITTERN_STEP(i) { Store(wide + 8 * i.value, _mm256_setzero_si256()); });
    for (size_t c = 0; c < args->cols; c += 8 * kLinesAtOnce) {
      AddLines(tile + c * 8, args->high + c, args->low + c, wide);
    }
    const __m256 first = EstimatesOf(*args, wide, wide + 16, args->steps + row);
    const __m256 last = EstimatesOf(*args, wide + 8, wide + 24, args->steps + row + 8);
    _mm256_storeu_ps(args->estimates + row, first);
    _mm256_storeu_ps(args->estimates + row + 8, last);
    args->best[t] = Largest(_mm256_max_ps(first, last));
  }
}

/// The sums of the fifth bits of eight rows of a tile, whose part of its lines begins at `part`.
inline __m256 ScanBitRows(const BitScanArgs& args, const uint8_t* part, const uint8_t* ahead,
                          const float* steps) {
  const __m256i one = _mm256_set1_epi8(1);
  __m256i total = _mm256_setzero_si256();
  for (size_t c = 0; c < args.cols; c += 8 * kHalf) {
    __m256i sums = _mm256_setzero_si256();
    for (size_t i = 0; i < 8; ++i) {
      const size_t column = c + kHalf * i;
      PrefetchJump(ahead + column * 2);
      const __m256i bytes = Load(part + column * 2);
      Unroll<8>(BITTERN_STEP(f) {
        const __m256i bit =
            _mm256_and_si256(_mm256_srli_epi16(bytes, static_cast<int>(f.value)), one);
        const __m256i act = Broadcast4(args.high + column + 4 * f.value);
        sums = _mm256_add_epi16(sums, _mm256_maddubs_epi16(bit, act));
      });
    }
    total = _mm256_add_epi32(total, Widened(sums));
  }
  const __m256i added =
      _mm256_sub_epi32(_mm256_add_epi32(total, total), _mm256_set1_epi32(args.high_sum));
  return _mm256_mul_ps(_mm256_cvtepi32_ps(added),
                       _mm256_mul_ps(_mm256_set1_ps(args.factor), _mm256_loadu_ps(steps)));
}

void ScanBits(const BitScanArgs* args) {
  const size_t bytes = args->cols * 2;
  for (size_t i = 0; i < args->count; ++i) {
    const uint8_t* tile = args->tiles + args->live[i] * bytes;
    const uint8_t* ahead = args->tiles + args->live[i + 1 < args->count ? i + 1 : i] * bytes;
    const size_t row = args->live[i] * kRows;
    float* estimates = args->estimates + row;
    for (size_t half = 0; half < 2; ++half) {  // the second finds its lines in cache
      const __m256 added = ScanBitRows(*args, tile + half * kHalf, ahead + half * kHalf,
                                       args->steps + row + 8 * half);
      _mm256_storeu_ps(estimates + 8 * half,
                       _mm256_add_ps(_mm256_loadu_ps(estimates + 8 * half), added));
    }
  }
}

struct Part {
  using Bytes = __m256i;
  static constexpr size_t kBytes = 32;
  static Bytes Load(const uint8_t* p) { return kernels::Load(p); }
  template <size_t kField>
  static Bytes Five(Bytes nibbles, Bytes bits) {
    const Bytes doubled =
        kField % 2 == 0 ? _mm256_slli_epi16(nibbles, 1) : _mm256_srli_epi16(nibbles, 3);
    const Bytes bit = _mm256_and_si256(_mm256_srli_epi16(bits, kField), _mm256_set1_epi8(1));
    return _mm256_or_si256(_mm256_and_si256(doubled, _mm256_set1_epi8(0x1e)), bit);
  }
  static void Add(const Bytes* five, const int8_t* acts, size_t step, int32_t* sums) {
    const auto four = [&](size_t f) __attribute__((always_inline)) {
      __m256i sum = _mm256_maddubs_epi16(five[f], Broadcast4(acts + f * step));
      Unroll<3>(BITTERN_STEP(i) {
        const __m256i act = Broadcast4(acts + (f + i.value + 1) * step);
        sum = _mm256_add_epi16(sum, _mm256_maddubs_epi16(five[f + i.value + 1], act));
      });
      return Widened(sum);
    };
    Store(sums, _mm256_add_epi32(kernels::Load(sums), _mm256_add_epi32(four(0), four(4))));
  }
};

void ScanFive(const FiveScanArgs* args) { ScanFiveTiles<Part>(args); }

/// Eight rows from `i` on: a bit for each that survives.
inline unsigned SurvivorBits(const SurvivorArgs& args, size_t i) {
  const __m256 rest = _mm256_mul_ps(_mm256_loadu_ps(args.rests + i), _mm256_set1_ps(args.size));
  const __m256 norm =
      _mm256_mul_ps(_mm256_loadu_ps(args.norms + i), _mm256_set1_ps(args.rest_size));
  const __m256 step =
      _mm256_mul_ps(_mm256_loadu_ps(args.steps + i), _mm256_set1_ps(args.step_size));
  const __m256 bound =
      _mm256_add_ps(rest, _mm256_add_ps(norm, _mm256_add_ps(step, _mm256_set1_ps(args.floor))));
  const __m256 most = _mm256_add_ps(_mm256_loadu_ps(args.estimates + i), bound);
  const __m256 keep = _mm256_cmp_ps(most, _mm256_set1_ps(args.threshold), _CMP_NLT_UQ);
  return static_cast<unsigned>(_mm256_movemask_ps(keep));
}

size_t Survivors(const SurvivorArgs* args) {
  size_t kept = 0, i = 0;
  for (; i + 8 <= args->count; i += 8) {
    const unsigned bits = SurvivorBits(*args, i);
    for (unsigned lane = 0; lane < 8; ++lane) {
      args->ids[kept] = args->first + static_cast<uint32_t>(i) + lane;
      kept += bits >> lane & 1;
    }
  }
  return SurvivorsFrom(*args, i, kept);
}

inline int32_t Sum(__m256i v) {
  const __m128i four = _mm_add_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
  const __m128i two = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0x4e));
  return _mm_cvtsi128_si32(_mm_add_epi32(two, _mm_shuffle_epi32(two, 0xb1)));
}

int32_t DotPairs(const uint8_t* pairs, size_t cols, const int8_t* high) {
  const __m256i mask = _mm256_set1_epi8(3);
  __m256i total = _mm256_setzero_si256();
  for (size_t c = 0; c < cols; c += 4 * kLine, pairs += kLine) {
    Unroll<2>(BITTERN_STEP(half) {
      const __m256i bytes = Load(pairs + half.value * kHalf);
      __m256i sums = _mm256_setzero_si256();
      Unroll<4>(BITTERN_STEP(f) {
        const __m256i pair =
            _mm256_and_si256(_mm256_srli_epi16(bytes, 2 * static_cast<int>(f.value)), mask);
        const __m256i act = Load(high + c + f.value * kLine + half.value * kHalf);
        sums = _mm256_add_epi16(sums, _mm256_maddubs_epi16(pair, act));
      });
      total = _mm256_add_epi32(total, Widened(sums));
    });
  }
  return Sum(total);
}

void ScanSeveral(const ScanArgs* args, size_t count) {
  for (size_t i = 0; i < count; ++i) Scan(args + i);
}

constexpr ScreenOps kOps = {Scan, ScanSeveral, ScanBits, ScanFive, Survivors, DotPairs};

}  // namespace

extern const KernelInfo k_screen_avx2;
const KernelInfo k_screen_avx2 = {.name = "screen_avx2", .isa = Isa::avx2, .screen = &kOps};

}  // namespace bittern::kernels
