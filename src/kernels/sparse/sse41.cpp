// SPDX-License-Identifier: Apache-2.0
// Ternary products that leave zeros out, with SSE4.1. Layouts: quant/layouts/skip_layouts.hpp.
//
// Bounds of the int16 sums: a pair of products of codes (at most 3) is at most 2 * 3 * 128 = 768
// in magnitude. Rows add four fields of eight blocks (32 pairs: 24576), columns add one pair for
// every two of 16 columns (8 pairs: 6144), before they are widened.
#include <smmintrin.h>

#include "kernels/kernel.h"
#include "kernels/prefetch.inc"
#include "kernels/sparse/live.inc"
#include "kernels/sparse/tiles.inc"
#include "kernels/unroll.inc"

namespace bittern::kernels {
namespace {

constexpr size_t kPart = 16;

inline __m128i Load(const void* p) { return _mm_loadu_si128(static_cast<const __m128i*>(p)); }
inline __m128i Field(__m128i bytes, int shift) {
  return _mm_and_si128(_mm_srli_epi16(bytes, shift), _mm_set1_epi8(3));
}
inline int32_t Sum(__m128i four) {
  const __m128i two = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0x4e));
  return _mm_cvtsi128_si32(_mm_add_epi32(two, _mm_shuffle_epi32(two, 0xb1)));
}

// --- Rows ---

constexpr size_t kBlocksAtOnce = 8;

template <size_t kRows, From kFrom>
inline void MultiplyRows(const uint8_t* const rows[kRows], const uint8_t* const ahead[kRows],
                         size_t num_blocks, const int8_t* act, int32_t act_sum, int32_t* out) {
  __m128i wide[kRows];
  Unroll<kRows>(BITTERN_STEP(r) { wide[r.value] = _mm_setzero_si128(); });
  for (size_t first = 0; first < num_blocks; first += kBlocksAtOnce) {
    const size_t end = num_blocks - first < kBlocksAtOnce ? num_blocks : first + kBlocksAtOnce;
    Unroll<2>(BITTERN_STEP(half) {
      __m128i narrow[kRows];
      Unroll<kRows>(BITTERN_STEP(r) { narrow[r.value] = _mm_setzero_si128(); });
      for (size_t b = first; b < end; ++b) {
        const int8_t* acts = act + b * 128 + half.value * kPart;
        Unroll<kRows>(BITTERN_STEP(r) {
          if (kFrom != From::kCache && half.value == 0 && b % 2 == 0) {
            __builtin_prefetch(ahead[r.value] + b * 32);
          }
          const __m128i bytes = Load(rows[r.value] + b * 32 + half.value * kPart);
          Unroll<4>(BITTERN_STEP(f) {
            const __m128i codes = Field(bytes, 6 - 2 * static_cast<int>(f.value));
            narrow[r.value] =
                _mm_add_epi16(narrow[r.value], _mm_maddubs_epi16(codes, Load(acts + 32 * f.value)));
          });
        });
      }
      Unroll<kRows>(BITTERN_STEP(r) {
        const __m128i widened = _mm_madd_epi16(narrow[r.value], _mm_set1_epi16(1));
        wide[r.value] = _mm_add_epi32(wide[r.value], widened);
      });
    });
  }
  Unroll<kRows>(BITTERN_STEP(r) { out[r.value] = Sum(wide[r.value]) - act_sum; });
}

}  // namespace
}  // namespace bittern::kernels

#include "kernels/sparse/rows.inc"
#include "kernels/sparse/shared_rows.inc"

namespace bittern::kernels {
namespace {

// --- Columns ---

constexpr size_t kChunk = 16;

}  // namespace
}  // namespace bittern::kernels

#include "kernels/sparse/columns.inc"

namespace bittern::kernels {
namespace {

inline __m128i Broadcast2(const int8_t* p) {
  int16_t two;
  __builtin_memcpy(&two, p, 2);
  return _mm_set1_epi16(two);
}

/// Adds eight int16 to the eight int32 at `out`.
inline void AddTo(int32_t* out, __m128i narrow) {
  const __m128i high = _mm_srli_si128(narrow, 8);
  const __m128i first = _mm_add_epi32(Load(out), _mm_cvtepi16_epi32(narrow));
  const __m128i second = _mm_add_epi32(Load(out + 4), _mm_cvtepi16_epi32(high));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out), first);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out + 4), second);
}

/// Sixteen bytes of a chunk's columns: 16 rows of each field, to sums[field * 64 + row].
inline void AddPart(const Chunk& chunk, size_t pairs, size_t offset, int32_t* sums) {
  __m128i low[4], high[4];  // rows 0-7 and 8-15 of each field
  Unroll<4>(BITTERN_STEP(f) { low[f.value] = high[f.value] = _mm_setzero_si128(); });
  for (size_t pair = 0; pair < pairs; ++pair) {
    const __m128i a = Load(chunk.column[2 * pair] + offset);
    const __m128i b = Load(chunk.column[2 * pair + 1] + offset);
    if (offset % kPanelLine == 0) {
      __builtin_prefetch(chunk.ahead[2 * pair] + offset);
      __builtin_prefetch(chunk.ahead[2 * pair + 1] + offset);
    }
    const __m128i first = _mm_unpacklo_epi8(a, b), second = _mm_unpackhi_epi8(a, b);
    const __m128i act = Broadcast2(chunk.act + 2 * pair);
    Unroll<4>(BITTERN_STEP(f) {
      constexpr int kShift = 2 * static_cast<int>(f.value);
      low[f.value] = _mm_add_epi16(low[f.value], _mm_maddubs_epi16(Field(first, kShift), act));
      high[f.value] = _mm_add_epi16(high[f.value], _mm_maddubs_epi16(Field(second, kShift), act));
    });
  }
  Unroll<4>(BITTERN_STEP(f) {
    AddTo(sums + f.value * kPanelLine, low[f.value]);
    AddTo(sums + f.value * kPanelLine + 8, high[f.value]);
  });
}

template <From kFrom>
inline void AddChunk(const Chunk& chunk, size_t left, size_t num_panels, int32_t* sums) {
  for (size_t at = 0; at < num_panels * kPanelLine; at += kPart) {
    AddPart(chunk, (left + 1) / 2, at, sums + at / kPanelLine * kPanel + at % kPanelLine);
  }
}

constexpr SparseOps kOps = {
    GemvRows,       OrderActs, GemvSharedRows, SumColumns, FindNonzero, FindPositive, TileOfRows,
    TilesOfColumns, 1.3f,      2.0f,           0};

}  // namespace

extern const KernelInfo k_sparse_sse41;
const KernelInfo k_sparse_sse41 = {.name = "sparse_sse41", .isa = Isa::sse41, .sparse = &kOps};

}  // namespace bittern::kernels
