// SPDX-License-Identifier: Apache-2.0
// The coarse scan of the screened head with SSE4.1. Layout: quant/layouts/screen_planes.hpp.
//
// Bounds of the int16 sums: a product of two nibbles is at most 2 * 15 * 128 = 3840 in magnitude,
// and eight are added before they are widened (30720); of two pairs 2 * 3 * 128 = 768, of which
// four are (3072); of two bits 256, of which 64 are (16384); of two fives 2 * 31 * 127 = 7874, of
// which four are (31496).
#include <smmintrin.h>

#include "kernels/kernel.h"
#include "kernels/screen/five.inc"
#include "kernels/screen_survivors.inc"
#include "kernels/unroll.inc"

namespace bittern::kernels {
namespace {

constexpr size_t kRows = 16, kLine = 64, kPart = 16, kPartRows = 4, kPrefetchBytes = 1024;
constexpr size_t kLinesAtOnce = 4;  // each adds two products to a sum

inline __m128i Load(const void* p) { return _mm_loadu_si128(static_cast<const __m128i*>(p)); }
inline __m128i Broadcast4(const int8_t* p) {
  int32_t word;
  __builtin_memcpy(&word, p, 4);
  return _mm_set1_epi32(word);
}
inline __m128i Widened(__m128i sums) { return _mm_madd_epi16(sums, _mm_set1_epi16(1)); }

/// 2 * sum - 15 * vector_sum, as float.
inline __m128 Centred(__m128i sum, int32_t vector_sum) {
  return _mm_cvtepi32_ps(_mm_sub_epi32(_mm_add_epi32(sum, sum), _mm_set1_epi32(15 * vector_sum)));
}

/// Estimates of four rows of a tile, whose part of its lines begins at `part`.
inline __m128 ScanRows(const ScanArgs& args, const uint8_t* part, const float* steps) {
  const __m128i nibble = _mm_set1_epi8(0x0f);
  __m128i wide_high = _mm_setzero_si128(), wide_low = wide_high;
  for (size_t c = 0; c < args.cols; c += 8 * kLinesAtOnce) {
    __m128i sums_high = _mm_setzero_si128(), sums_low = sums_high;
    Unroll<kLinesAtOnce>(BITTERN_STEP(i) {
      const size_t column = c + 8 * i.value;
      const uint8_t* line = part + column * 8;
      __builtin_prefetch(line + kPrefetchBytes);
      const __m128i bytes = Load(line);
      const __m128i first = _mm_and_si128(bytes, nibble);
      const __m128i second = _mm_and_si128(_mm_srli_epi16(bytes, 4), nibble);
      const auto add = [&](__m128i sums, const int8_t* act) __attribute__((always_inline)) {
        const __m128i a = _mm_maddubs_epi16(first, Broadcast4(act + column));
        const __m128i b = _mm_maddubs_epi16(second, Broadcast4(act + column + 4));
        return _mm_add_epi16(sums, _mm_add_epi16(a, b));
      };
      sums_high = add(sums_high, args.high);
      sums_low = add(sums_low, args.low);
    });
    wide_high = _mm_add_epi32(wide_high, Widened(sums_high));
    wide_low = _mm_add_epi32(wide_low, Widened(sums_low));
  }
  const __m128 high = _mm_mul_ps(Centred(wide_high, args.high_sum), _mm_set1_ps(256));
  const __m128 sum = _mm_add_ps(high, Centred(wide_low, args.low_sum));
  return _mm_mul_ps(sum, _mm_mul_ps(_mm_set1_ps(args.factor), _mm_loadu_ps(steps)));
}

inline float Largest(__m128 four) {
  const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_max_ss(two, _mm_shuffle_ps(two, two, 1)));
}

void Scan(const ScanArgs* args) {
  for (size_t t = 0; t < args->num_tiles; ++t) {
    const uint8_t* tile = args->tiles + t * args->cols * 8;
    __m128 best = _mm_setzero_ps();
    for (size_t part = 0; part < kLine / kPart; ++part) {
      const size_t row = t * kRows + part * kPartRows;
      const __m128 four = ScanRows(*args, tile + part * kPart, args->steps + row);
      _mm_storeu_ps(args->estimates + row, four);
      best = part == 0 ? four : _mm_max_ps(best, four);
    }
    args->best[t] = Largest(best);
  }
}

/// The sums of the fifth bits of four rows of a tile, whose part of its lines begins at `part`.
inline __m128 ScanBitRows(const BitScanArgs& args, const uint8_t* part, const uint8_t* ahead,
                          const float* steps) {
  const __m128i one = _mm_set1_epi8(1);
  __m128i total = _mm_setzero_si128();
  for (size_t c = 0; c < args.cols; c += 256) {
    __m128i sums = _mm_setzero_si128();
    for (size_t column = c; column < c + 256; column += 32) {
      __builtin_prefetch(ahead + column * 2);
      const __m128i bytes = Load(part + column * 2);
      Unroll<8>(BITTERN_STEP(f) {
        const __m128i bit = _mm_and_si128(_mm_srli_epi16(bytes, static_cast<int>(f.value)), one);
        const __m128i act = Broadcast4(args.high + column + 4 * f.value);
        sums = _mm_add_epi16(sums, _mm_maddubs_epi16(bit, act));
      });
    }
    total = _mm_add_epi32(total, Widened(sums));
  }
  const __m128i added = _mm_sub_epi32(_mm_add_epi32(total, total), _mm_set1_epi32(args.high_sum));
  return _mm_mul_ps(_mm_cvtepi32_ps(added),
                    _mm_mul_ps(_mm_set1_ps(args.factor), _mm_loadu_ps(steps)));
}

void ScanBits(const BitScanArgs* args) {
  const size_t bytes = args->cols * 2;
  for (size_t i = 0; i < args->count; ++i) {
    const uint8_t* tile = args->tiles + args->live[i] * bytes;
    const uint8_t* ahead = args->tiles + args->live[i + 1 < args->count ? i + 1 : i] * bytes;
    for (size_t part = 0; part < kLine / kPart; ++part) {  // but the first find lines in cache
      const size_t row = args->live[i] * kRows + part * kPartRows;
      const __m128 added =
          ScanBitRows(*args, tile + part * kPart, ahead + part * kPart, args->steps + row);
      float* estimates = args->estimates + row;
      _mm_storeu_ps(estimates, _mm_add_ps(_mm_loadu_ps(estimates), added));
    }
  }
}

struct Part {
  using Bytes = __m128i;
  static constexpr size_t kBytes = 16;
  static Bytes Load(const uint8_t* p) { return kernels::Load(p); }
  template <size_t kField>
  static Bytes Five(Bytes nibbles, Bytes bits) {
    const Bytes doubled = kField % 2 == 0 ? _mm_slli_epi16(nibbles, 1) : _mm_srli_epi16(nibbles, 3);
    const Bytes bit = _mm_and_si128(_mm_srli_epi16(bits, kField), _mm_set1_epi8(1));
    return _mm_or_si128(_mm_and_si128(doubled, _mm_set1_epi8(0x1e)), bit);
  }
  static void Add(const Bytes* five, const int8_t* acts, size_t step, int32_t* sums) {
    const auto four = [&](size_t f) __attribute__((always_inline)) {
      __m128i sum = _mm_maddubs_epi16(five[f], Broadcast4(acts + f * step));
      Unroll<3>(BITTERN_STEP(i) {
        const __m128i act = Broadcast4(acts + (f + i.value + 1) * step);
        sum = _mm_add_epi16(sum, _mm_maddubs_epi16(five[f + i.value + 1], act));
      });
      return Widened(sum);
    };
    const __m128i before = kernels::Load(sums);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(sums),
                     _mm_add_epi32(before, _mm_add_epi32(four(0), four(4))));
  }
};

void ScanFive(const FiveScanArgs* args) { ScanFiveTiles<Part>(args); }

size_t Survivors(const SurvivorArgs* args) {
  const auto times = [](const float* values, float factor) {
    return _mm_mul_ps(_mm_loadu_ps(values), _mm_set1_ps(factor));
  };
  size_t kept = 0, i = 0;
  for (; i + 4 <= args->count; i += 4) {
    const __m128 step =
        _mm_add_ps(times(args->steps + i, args->step_size), _mm_set1_ps(args->floor));
    const __m128 norm = _mm_add_ps(times(args->norms + i, args->rest_size), step);
    const __m128 bound = _mm_add_ps(times(args->rests + i, args->size), norm);
    const __m128 most = _mm_add_ps(_mm_loadu_ps(args->estimates + i), bound);
    const auto bits =
        static_cast<unsigned>(_mm_movemask_ps(_mm_cmpnlt_ps(most, _mm_set1_ps(args->threshold))));
    for (unsigned lane = 0; lane < 4; ++lane) {
      args->ids[kept] = args->first + static_cast<uint32_t>(i) + lane;
      kept += bits >> lane & 1;
    }
  }
  return SurvivorsFrom(*args, i, kept);
}

inline int32_t Sum(__m128i four) {
  const __m128i two = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0x4e));
  return _mm_cvtsi128_si32(_mm_add_epi32(two, _mm_shuffle_epi32(two, 0xb1)));
}

int32_t DotPairs(const uint8_t* pairs, size_t cols, const int8_t* high) {
  const __m128i mask = _mm_set1_epi8(3);
  __m128i total = _mm_setzero_si128();
  for (size_t c = 0; c < cols; c += 4 * kLine, pairs += kLine) {
    for (size_t p = 0; p < kLine; p += kPart) {
      const __m128i bytes = Load(pairs + p);
      __m128i sums = _mm_setzero_si128();
      Unroll<4>(BITTERN_STEP(f) {
        const __m128i pair =
            _mm_and_si128(_mm_srli_epi16(bytes, 2 * static_cast<int>(f.value)), mask);
        sums = _mm_add_epi16(sums, _mm_maddubs_epi16(pair, Load(high + c + f.value * kLine + p)));
      });
      total = _mm_add_epi32(total, Widened(sums));
    }
  }
  return Sum(total);
}

void ScanSeveral(const ScanArgs* args, size_t count) {
  for (size_t i = 0; i < count; ++i) Scan(args + i);
}

constexpr ScreenOps kOps = {Scan, ScanSeveral, ScanBits, ScanFive, Survivors, DotPairs};

}  // namespace

extern const KernelInfo k_screen_sse41;
const KernelInfo k_screen_sse41 = {.name = "screen_sse41", .isa = Isa::sse41, .screen = &kOps};

}  // namespace bittern::kernels
