// SPDX-License-Identifier: Apache-2.0
// Ternary products that leave zeros out, with AVX2. Layouts: quant/layouts/skip_layouts.hpp.
//
// Bounds of the int16 sums: a pair of products of codes (at most 3) is at most 2 * 3 * 128 = 768
// in magnitude. Rows add four fields of eight blocks (32 pairs: 24576), columns add one pair for
// every two of 32 columns (16 pairs: 12288), before they are widened.
#include <immintrin.h>

#include "kernels/kernel.h"
#include "kernels/prefetch.inc"
#include "kernels/sparse/live.inc"
#include "kernels/sparse/tiles.inc"
#include "kernels/unroll.inc"

namespace bittern::kernels {
namespace {

constexpr size_t kLine = 64;

inline __m256i Load(const void* p) { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }
inline __m256i Field(__m256i bytes, int shift) {
  return _mm256_and_si256(_mm256_srli_epi16(bytes, shift), _mm256_set1_epi8(3));
}
inline int32_t Sum(__m256i v) {
  const __m128i four = _mm_add_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
  const __m128i two = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0x4e));
  return _mm_cvtsi128_si32(_mm_add_epi32(two, _mm_shuffle_epi32(two, 0xb1)));
}

// --- Rows ---

constexpr size_t kLinesAtOnce = 4;  // of two blocks each

/// Adds block `b` of some rows times its activations.
template <size_t kRows>
inline void AddBlock(const uint8_t* const rows[kRows], size_t b, const int8_t* act,
                     __m256i narrow[kRows]) {
  Unroll<kRows>(BITTERN_STEP(r) {
    const __m256i bytes = Load(rows[r.value] + b * 32);
    Unroll<4>(BITTERN_STEP(f) {
      const __m256i codes = Field(bytes, 6 - 2 * static_cast<int>(f.value));
      const __m256i products = _mm256_maddubs_epi16(codes, Load(act + b * 128 + 32 * f.value));
      narrow[r.value] = _mm256_add_epi16(narrow[r.value], products);
    });
  });
}

template <size_t kRows, From kFrom>
inline void MultiplyRows(const uint8_t* const rows[kRows], const uint8_t* const ahead[kRows],
                         size_t num_blocks, const int8_t* act, int32_t act_sum, int32_t* out) {
  __m256i wide[kRows], narrow[kRows];
  Unroll<kRows>(BITTERN_STEP(r) { wide[r.value] = narrow[r.value] = _mm256_setzero_si256(); });
  size_t lines = 0;  // in `narrow`
  const auto widen = BITTERN_STEP(r) {
    const __m256i widened = _mm256_madd_epi16(narrow[r.value], _mm256_set1_epi16(1));
    wide[r.value] = _mm256_add_epi32(wide[r.value], widened);
    narrow[r.value] = _mm256_setzero_si256();
  };
  ForLines<kFrom>((num_blocks + 1) / 2, BITTERN_STEP(i) {
    if (kFrom != From::kCache) {
      Unroll<kRows>(BITTERN_STEP(r) { PrefetchJump(ahead[r.value] + i * kLine); });
    }
    AddBlock<kRows>(rows, 2 * i, act, narrow);
    if (2 * i + 1 < num_blocks) AddBlock<kRows>(rows, 2 * i + 1, act, narrow);
    if (++lines == kLinesAtOnce) {
      Unroll<kRows>(widen);
      lines = 0;
    }
  });
  Unroll<kRows>(widen);
  Unroll<kRows>(BITTERN_STEP(r) { out[r.value] = Sum(wide[r.value]) - act_sum; });
}

constexpr size_t kVectorsAtOnce = 8;

/// One row times several vectors: its codes are unpacked once for all of them. Their int16 sums are
/// in registers, the int32 sums in memory.
template <size_t kVectors, From kFrom>
inline void MultiplyShared(const uint8_t* row, const uint8_t* ahead, size_t num_blocks,
                           const int8_t* const* acts, const int32_t* act_sums, int32_t* out) {
  constexpr size_t kBlocksAtOnce = 2 * kLinesAtOnce;
  __m256i wide[kVectors], narrow[kVectors];
  Unroll<kVectors>(BITTERN_STEP(v) { wide[v.value] = _mm256_setzero_si256(); });
  for (size_t b = 0; b < num_blocks;) {
    Unroll<kVectors>(BITTERN_STEP(v) { narrow[v.value] = _mm256_setzero_si256(); });
    const size_t end = b + kBlocksAtOnce < num_blocks ? b + kBlocksAtOnce : num_blocks;
    for (; b < end; ++b) {
      if (kFrom != From::kCache) PrefetchJump(ahead + b * 32);
      const __m256i bytes = Load(row + b * 32);
      Unroll<4>(BITTERN_STEP(f) {
        const __m256i codes = Field(bytes, 6 - 2 * static_cast<int>(f.value));
        Unroll<kVectors>(BITTERN_STEP(v) {
          const __m256i act = Load(acts[v.value] + b * 128 + 32 * f.value);
          narrow[v.value] = _mm256_add_epi16(narrow[v.value], _mm256_maddubs_epi16(codes, act));
          asm("" : "+x"(narrow[v.value]));  // gcc 12 adds in another order and spills sums else
        });
      });
    }
    Unroll<kVectors>(BITTERN_STEP(v) {
      const __m256i widened = _mm256_madd_epi16(narrow[v.value], _mm256_set1_epi16(1));
      wide[v.value] = _mm256_add_epi32(wide[v.value], widened);
    });
  }
  Unroll<kVectors>(BITTERN_STEP(v) { out[v.value] = Sum(wide[v.value]) - act_sums[v.value]; });
}

#define BITTERN_SHARES_ROWS

}  // namespace
}  // namespace bittern::kernels

#include "kernels/sparse/rows.inc"
#include "kernels/sparse/shared_rows.inc"

namespace bittern::kernels {
namespace {

// --- Columns ---

constexpr size_t kChunk = 32, kHalf = 32;

}  // namespace
}  // namespace bittern::kernels

#include "kernels/sparse/columns.inc"

namespace bittern::kernels {
namespace {

/// Adds the eight int32 of `sums` to out.
inline void AddTo(int32_t* out, __m128i narrow) {
  const __m256i sum = _mm256_add_epi32(Load(out), _mm256_cvtepi16_epi32(narrow));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), sum);
}

inline __m256i Broadcast2(const int8_t* p) {
  int16_t two;
  __builtin_memcpy(&two, p, 2);
  return _mm256_set1_epi16(two);
}

/// Half a line (32 bytes) of a chunk's columns: 32 rows of each field.
inline void AddHalf(const Chunk& chunk, size_t pairs, size_t offset, int32_t* sums) {
  __m256i low[4], high[4];  // bytes 0-7 and 16-23, 8-15 and 24-31 of the half, by field
  Unroll<4>(BITTERN_STEP(f) { low[f.value] = high[f.value] = _mm256_setzero_si256(); });
  for (size_t pair = 0; pair < pairs; ++pair) {
    const __m256i a = Load(chunk.column[2 * pair] + offset);
    const __m256i b = Load(chunk.column[2 * pair + 1] + offset);
    PrefetchJump(chunk.ahead[2 * pair] + offset);
    PrefetchJump(chunk.ahead[2 * pair + 1] + offset);
    const __m256i first = _mm256_unpacklo_epi8(a, b), second = _mm256_unpackhi_epi8(a, b);
    const __m256i act = Broadcast2(chunk.act + 2 * pair);
    Unroll<4>(BITTERN_STEP(f) {
      constexpr int kShift = 2 * static_cast<int>(f.value);
      low[f.value] =
          _mm256_add_epi16(low[f.value], _mm256_maddubs_epi16(Field(first, kShift), act));
      asm volatile("" : "+x"(low[f.value]));  // one at a time: gcc 12 runs out of registers else
      high[f.value] =
          _mm256_add_epi16(high[f.value], _mm256_maddubs_epi16(Field(second, kShift), act));
      asm volatile("" : "+x"(high[f.value]));
    });
  }
  Unroll<4>(BITTERN_STEP(f) {
    int32_t* out = sums + f.value * kPanelLine;
    AddTo(out, _mm256_castsi256_si128(low[f.value]));
    AddTo(out + 8, _mm256_castsi256_si128(high[f.value]));
    AddTo(out + 16, _mm256_extracti128_si256(low[f.value], 1));
    AddTo(out + 24, _mm256_extracti128_si256(high[f.value], 1));
  });
}

template <From kFrom>
inline void AddChunk(const Chunk& chunk, size_t left, size_t num_panels, int32_t* sums) {
  ForLines<kFrom>(
      num_panels, BITTERN_STEP(p) {
        for (size_t half = 0; half < kLine; half += kHalf) {
          AddHalf(chunk, (left + 1) / 2, p * kLine + half, sums + p * kPanel + half);
        }
      });
}

constexpr SparseOps kOps = {GemvRows,    OrderActs,    GemvSharedRows, SumColumns,
                            FindNonzero, FindPositive, TileOfRows,     TilesOfColumns,
                            1.25f,       2.4f,         SIZE_MAX};

}  // namespace

extern const KernelInfo k_sparse_avx2;
const KernelInfo k_sparse_avx2 = {.name = "sparse_avx2", .isa = Isa::avx2, .sparse = &kOps};

}  // namespace bittern::kernels
