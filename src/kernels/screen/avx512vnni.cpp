// SPDX-License-Identifier: Apache-2.0
// The coarse scan of the screened head with AVX-512 VNNI. Layout: quant/layouts/screen_planes.hpp.
// Fields of a byte are multiplied where they stand (bits 7-4 count 16-fold) into sums of their own,
// which are shifted once at the end: exact (several vectors share the shift instead). Bound: 240 *
// 128 * cols / 2 < 2^31 for cols < 2^17.
#include <immintrin.h>

#include "kernels/kernel.h"
#include "kernels/prefetch.inc"
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

inline __m512i SumOf(const Fields& a, const Fields& b) {
  const __m512i second = _mm512_srai_epi32(_mm512_add_epi32(a.second, b.second), 4);
  return _mm512_add_epi32(_mm512_add_epi32(a.first, b.first), second);
}

/// 2 * sum - 15 * vector_sum, as float.
inline __m512 Centred(__m512i sum, int32_t vector_sum) {
  return _mm512_cvtepi32_ps(
      _mm512_sub_epi32(_mm512_add_epi32(sum, sum), _mm512_set1_epi32(15 * vector_sum)));
}

/// Estimates of tile t from its sums with both halves of the vector.
inline void StoreEstimates(const ScanArgs& args, size_t t, __m512i high, __m512i low) {
  const __m512 h = _mm512_mul_ps(Centred(high, args.high_sum), _mm512_set1_ps(256));
  const __m512 sum = _mm512_add_ps(h, Centred(low, args.low_sum));
  const __m512 step =
      _mm512_mul_ps(_mm512_set1_ps(args.factor), _mm512_loadu_ps(args.steps + t * kRows));
  const __m512 estimates = _mm512_mul_ps(sum, step);
  _mm512_storeu_ps(args.estimates + t * kRows, estimates);
  args.best[t] = _mm512_reduce_max_ps(estimates);
}

inline void ScanTile(const ScanArgs& args, size_t t) {
  const __m512i nibble = _mm512_set1_epi8(0x0f);
  const uint8_t* tile = args.tiles + t * args.cols * 8;
  Fields high[2], low[2];  // two sets: the latency of one hides behind the other
  for (size_t c = 0; c < args.cols; c += 16, tile += 2 * kLine) {
    Unroll<2>(BITTERN_STEP(i) {
      const uint8_t* line = tile + i.value * kLine;
      _mm_prefetch(reinterpret_cast<const char*>(line + kPrefetchBytes), _MM_HINT_T0);
      const __m512i bytes = _mm512_loadu_si512(line);
      const __m512i first = _mm512_and_si512(bytes, nibble);
      const __m512i second = _mm512_andnot_si512(nibble, bytes);
      AddFields(first, second, args.high + c + 8 * i.value, &high[i.value]);
      AddFields(first, second, args.low + c + 8 * i.value, &low[i.value]);
    });
  }
  StoreEstimates(args, t, SumOf(high[0], high[1]), SumOf(low[0], low[1]));
}

void Scan(const ScanArgs* args) {
  for (size_t t = 0; t < args->num_tiles; ++t) ScanTile(*args, t);
}

constexpr size_t kVectorsTogether = 4, kTilesTogether = 2;

/// Sums of some tiles from t on with some vectors: a line is unpacked once for all vectors, four
/// bytes of a vector are broadcast once for all tiles. Second nibbles are shifted to the right, so
/// that one register holds a sum: 4 vectors, 2 halves and 2 tiles take 16 of 32.
template <size_t kVectors, size_t kTiles>
inline void ScanBlock(const ScanArgs* args, size_t t) {
  const __m512i nibble = _mm512_set1_epi8(0x0f);
  const size_t cols = args->cols, tile_bytes = cols * 8;
  const uint8_t* tiles = args->tiles + t * tile_bytes;
  __m512i high[kVectors][kTiles], low[kVectors][kTiles];
  const int8_t *highs[kVectors], *lows[kVectors];
  Unroll<kVectors>(BITTERN_STEP(v) {
    highs[v.value] = args[v.value].high;
    lows[v.value] = args[v.value].low;
    Unroll<kTiles>(BITTERN_STEP(i) {
      high[v.value][i.value] = low[v.value][i.value] = _mm512_setzero_si512();
    });
  });
  for (size_t c = 0; c < cols; c += 8) {
    __m512i first[kTiles], second[kTiles];
    Unroll<kTiles>(BITTERN_STEP(i) {
      const uint8_t* line = tiles + i.value * tile_bytes + c * 8;
      _mm_prefetch(reinterpret_cast<const char*>(line + kPrefetchBytes), _MM_HINT_T0);
      const __m512i bytes = _mm512_loadu_si512(line);
      first[i.value] = _mm512_and_si512(bytes, nibble);
      second[i.value] = _mm512_and_si512(_mm512_srli_epi16(bytes, 4), nibble);
    });
    const auto add = [&](const __m512i* fields, const int8_t* act,
                         __m512i* sums) __attribute__((always_inline)) {
      const __m512i four = Broadcast4(act);
      Unroll<kTiles>(BITTERN_STEP(i) {
        sums[i.value] = _mm512_dpbusd_epi32(sums[i.value], fields[i.value], four);
      });
    };
    Unroll<kVectors>(BITTERN_STEP(v) {
      add(first, highs[v.value] + c, high[v.value]);
      add(second, highs[v.value] + c + 4, high[v.value]);
      add(first, lows[v.value] + c, low[v.value]);
      add(second, lows[v.value] + c + 4, low[v.value]);
    });
  }
  Unroll<kVectors>(BITTERN_STEP(v) {
    Unroll<kTiles>(BITTERN_STEP(i) {
      StoreEstimates(args[v.value], t + i.value, high[v.value][i.value], low[v.value][i.value]);
    });
  });
}

template <size_t kVectors>
void ScanTogether(const ScanArgs* args) {
  size_t t = 0;
  for (; t + kTilesTogether <= args->num_tiles; t += kTilesTogether) {
    ScanBlock<kVectors, kTilesTogether>(args, t);
  }
  if (t < args->num_tiles) ScanBlock<kVectors, 1>(args, t);
}

void ScanSeveral(const ScanArgs* args, size_t count) {
  for (; count >= kVectorsTogether; count -= kVectorsTogether, args += kVectorsTogether) {
    ScanTogether<kVectorsTogether>(args);
  }
  if (count == 3) ScanTogether<3>(args);
  if (count == 2) ScanTogether<2>(args);
  if (count == 1) Scan(args);
}

/// Adds one tile's fifth bits to its estimates, touching those of `ahead` early. Bound: 128 * 128 *
/// cols / 8 < 2^31 for cols < 2^17.
inline void ScanBitTile(const BitScanArgs& args, const uint8_t* tile, const uint8_t* ahead,
                        size_t row) {
  __m512i sums[8];
  Unroll<8>(BITTERN_STEP(f) { sums[f.value] = _mm512_setzero_si512(); });
  for (size_t c = 0; c < args.cols; c += 32, tile += kLine, ahead += kLine) {
    PrefetchJump(ahead);
    const __m512i bytes = _mm512_loadu_si512(tile);
    Unroll<8>(BITTERN_STEP(f) {
      const __m512i bit =
          _mm512_and_si512(bytes, _mm512_set1_epi8(static_cast<char>(1 << f.value)));
      sums[f.value] =
          _mm512_dpbusd_epi32(sums[f.value], bit, Broadcast4(args.high + c + 4 * f.value));
    });
  }
  __m512i sum = _mm512_setzero_si512();
  Unroll<8>(BITTERN_STEP(f) {
    sum = _mm512_add_epi32(sum, _mm512_srai_epi32(sums[f.value], static_cast<int>(f.value)));
  });
  const __m512 step = _mm512_mul_ps(_mm512_set1_ps(args.factor), _mm512_loadu_ps(args.steps + row));
  const __m512 added = _mm512_cvtepi32_ps(
      _mm512_sub_epi32(_mm512_add_epi32(sum, sum), _mm512_set1_epi32(args.high_sum)));
  const __m512 before = _mm512_loadu_ps(args.estimates + row);
  _mm512_storeu_ps(args.estimates + row, _mm512_add_ps(before, _mm512_mul_ps(added, step)));
}

void ScanBits(const BitScanArgs* args) {
  const size_t bytes = args->cols * 2;
  for (size_t i = 0; i < args->count; ++i) {
    const uint32_t tile = args->live[i], next = args->live[i + 1 < args->count ? i + 1 : i];
    ScanBitTile(*args, args->tiles + tile * bytes, args->tiles + next * bytes, tile * kRows);
  }
}

/// Sums of one tile with kVectors vectors: they stay in registers. Five bits of four rows of bytes
/// are put together once for all vectors; the vector's bytes are broadcast by the product itself.
/// Bound: 31 * 127 * cols < 2^31 for cols < 2^17.
template <size_t kVectors>
inline void ScanFiveTile(const FiveScanArgs& args, size_t t) {
  const __m512i twice_nibble = _mm512_set1_epi8(0x1e), one = _mm512_set1_epi8(1);
  const uint8_t* nibbles = args.nibbles + t * args.cols * 8;
  const uint8_t* bits = args.bits + t * args.cols * 2;
  const int8_t* acts = args.acts;
  __m512i sums[kVectors];
  Unroll<kVectors>(BITTERN_STEP(v) { sums[v.value] = _mm512_setzero_si512(); });
  for (size_t c = 0; c < args.cols; c += 32, bits += kLine) {
    _mm_prefetch(reinterpret_cast<const char*>(bits + kPrefetchBytes), _MM_HINT_T0);
    __m512i fifth = _mm512_loadu_si512(bits);
    for (size_t line = 0; line < 4; ++line, nibbles += kLine, acts += 8 * kVectors) {
      _mm_prefetch(reinterpret_cast<const char*>(nibbles + kPrefetchBytes), _MM_HINT_T0);
      const __m512i bytes = _mm512_loadu_si512(nibbles);
      const __m512i first =
          _mm512_or_si512(_mm512_and_si512(_mm512_slli_epi16(bytes, 1), twice_nibble),
                          _mm512_and_si512(fifth, one));
      const __m512i second =
          _mm512_or_si512(_mm512_and_si512(_mm512_srli_epi16(bytes, 3), twice_nibble),
                          _mm512_and_si512(_mm512_srli_epi16(fifth, 1), one));
      fifth = _mm512_srli_epi16(fifth, 2);
      Unroll<kVectors>(BITTERN_STEP(v) {
        sums[v.value] = _mm512_dpbusd_epi32(sums[v.value], first, Broadcast4(acts + 4 * v.value));
      });
      Unroll<kVectors>(BITTERN_STEP(v) {
        const __m512i four = Broadcast4(acts + 4 * (kVectors + v.value));
        sums[v.value] = _mm512_dpbusd_epi32(sums[v.value], second, four);
      });
    }
  }
  Unroll<kVectors>(BITTERN_STEP(v) {
    _mm512_storeu_si512(args.sums + (t * kVectors + v.value) * kRows, sums[v.value]);
  });
}

void ScanFive(const FiveScanArgs* args) {
  for (size_t t = 0; t < args->num_tiles; ++t) {
    if (args->num_vectors == 16) ScanFiveTile<16>(*args, t);
    if (args->num_vectors == 8) ScanFiveTile<8>(*args, t);
    if (args->num_vectors == 4) ScanFiveTile<4>(*args, t);
  }
}

size_t Survivors(const SurvivorArgs* args) {
  const __m512 step_size = _mm512_set1_ps(args->step_size);
  const __m512 size = _mm512_set1_ps(args->size), rest_size = _mm512_set1_ps(args->rest_size);
  const __m512 floor = _mm512_set1_ps(args->floor), threshold = _mm512_set1_ps(args->threshold);
  const __m512i lanes = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
  size_t kept = 0;
  for (size_t i = 0; i < args->count; i += kRows) {
    const size_t left = args->count - i;
    const __mmask16 there = static_cast<__mmask16>(left < kRows ? (1u << left) - 1 : 0xffffu);
    const __m512 rest = _mm512_mul_ps(_mm512_maskz_loadu_ps(there, args->rests + i), size);
    const __m512 norm = _mm512_mul_ps(_mm512_maskz_loadu_ps(there, args->norms + i), rest_size);
    const __m512 step = _mm512_mul_ps(_mm512_maskz_loadu_ps(there, args->steps + i), step_size);
    const __m512 bound = _mm512_add_ps(rest, _mm512_add_ps(norm, _mm512_add_ps(step, floor)));
    const __m512 most = _mm512_add_ps(_mm512_maskz_loadu_ps(there, args->estimates + i), bound);
    const __mmask16 keep = _mm512_mask_cmp_ps_mask(there, most, threshold, _CMP_NLT_UQ);
    const __m512i ids =
        _mm512_add_epi32(lanes, _mm512_set1_epi32(static_cast<int>(args->first + i)));
    _mm512_storeu_si512(args->ids + kept, _mm512_maskz_compress_epi32(keep, ids));
    kept += static_cast<size_t>(__builtin_popcount(keep));
  }
  return kept;
}

int32_t DotPairs(const uint8_t* pairs, size_t cols, const int8_t* high) {
  __m512i sums[4];
  Unroll<4>(BITTERN_STEP(f) { sums[f.value] = _mm512_setzero_si512(); });
  ForLines<From::kMemory>(
      cols / (4 * kLine), BITTERN_STEP(i) {
        const __m512i bytes = _mm512_loadu_si512(pairs + i * kLine);
        const int8_t* acts = high + i * 4 * kLine;
        Unroll<4>(BITTERN_STEP(f) {
          const __m512i mask = _mm512_set1_epi8(static_cast<char>(3 << 2 * f.value));
          sums[f.value] = _mm512_dpbusd_epi32(sums[f.value], _mm512_and_si512(bytes, mask),
                                              _mm512_loadu_si512(acts + f.value * kLine));
        });
      });
  __m512i total = _mm512_setzero_si512();
  Unroll<4>(BITTERN_STEP(f) {
    total =
        _mm512_add_epi32(total, _mm512_srai_epi32(sums[f.value], 2 * static_cast<int>(f.value)));
  });
  return _mm512_reduce_add_epi32(total);
}

constexpr ScreenOps kOps = {Scan, ScanSeveral, ScanBits, ScanFive, Survivors, DotPairs};

}  // namespace

extern const KernelInfo k_screen_avx512vnni;
const KernelInfo k_screen_avx512vnni = {
    .name = "screen_avx512vnni", .isa = Isa::avx512vnni, .screen = &kOps};

}  // namespace bittern::kernels
