// SPDX-License-Identifier: Apache-2.0
// Ternary products that leave zeros out, with AVX-512 VNNI. Layouts: quant/skip_layouts.hpp. Fields
// are multiplied where they stand in their byte, into a sum of their own that is shifted once at
// the end. Bound: 3 * 64 * 128 * cols / 4 < 2^31 for cols < 2^18.
#include <immintrin.h>

#include "kernels/kernel.h"
#include "kernels/prefetch.inc"
#include "kernels/sparse_tiles.inc"
#include "kernels/unroll.inc"

namespace bittern::kernels {
namespace {

constexpr size_t kLine = 64;

inline __m512i Field(int shift) { return _mm512_set1_epi8(static_cast<char>(3 << shift)); }

// --- Rows ---

/// The activations of one field of a line: 32 of each of its two blocks.
inline __m512i Acts(const int8_t* act) {
  const __m256i first = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(act));
  const __m256i second = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(act + 128));
  return _mm512_inserti64x4(_mm512_castsi256_si512(first), second, 1);
}
inline __m512i ActsOfHalf(const int8_t* act) {
  return _mm512_zextsi256_si512(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(act)));
}

template <size_t kRows>
struct RowSums {
  __m512i field[kRows][4];
};

/// One line (two blocks) of kRows rows; or, with kHalf, the single block that ends a row.
template <size_t kRows, bool kHalf>
inline void AddLine(const uint8_t* const rows[kRows], size_t offset, const int8_t* act,
                    RowSums<kRows>* sums) {
  __m512i acts[4];
  Unroll<4>(BITTERN_STEP(f) {
    acts[f.value] = kHalf ? ActsOfHalf(act + 32 * f.value) : Acts(act + 32 * f.value);
  });
  Unroll<kRows>(BITTERN_STEP(r) {
    const uint8_t* line = rows[r.value] + offset;
    const __m512i bytes =
        kHalf ? _mm512_zextsi256_si512(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(line)))
              : _mm512_loadu_si512(line);
    Unroll<4>(BITTERN_STEP(f) {
      __m512i& sum = sums->field[r.value][f.value];
      const __m512i codes = _mm512_and_si512(bytes, Field(6 - 2 * static_cast<int>(f.value)));
      sum = _mm512_dpbusd_epi32(sum, codes, acts[f.value]);
    });
  });
}

template <size_t kRows>
inline void MultiplyRows(const uint8_t* const rows[kRows], const uint8_t* const ahead[kRows],
                         size_t num_blocks, const int8_t* act, int32_t act_sum, int32_t* out) {
  RowSums<kRows> sums;
  Unroll<kRows * 4>(
      BITTERN_STEP(i) { sums.field[i.value / 4][i.value % 4] = _mm512_setzero_si512(); });
  size_t b = 0;
  for (; b + 2 <= num_blocks; b += 2) {
    Unroll<kRows>(BITTERN_STEP(r) { PrefetchJump(ahead[r.value] + b * 32); });
    AddLine<kRows, false>(rows, b * 32, act + b * 128, &sums);
  }
  if (b < num_blocks) AddLine<kRows, true>(rows, b * 32, act + b * 128, &sums);
  Unroll<kRows>(BITTERN_STEP(r) {
    const __m512i* field = sums.field[r.value];
    const __m512i high =
        _mm512_add_epi32(_mm512_srai_epi32(field[0], 6), _mm512_srai_epi32(field[1], 4));
    const __m512i low = _mm512_add_epi32(_mm512_srai_epi32(field[2], 2), field[3]);
    out[r.value] = _mm512_reduce_add_epi32(_mm512_add_epi32(high, low)) - act_sum;
  });
}

}  // namespace
}  // namespace bittern::kernels

#include "kernels/sparse_rows.inc"

namespace bittern::kernels {
namespace {

// --- Columns ---

constexpr size_t kColumnsAtOnce = 4, kChunk = 16;

}  // namespace
}  // namespace bittern::kernels

#include "kernels/sparse_columns.inc"

namespace bittern::kernels {
namespace {

/// Four lines as words of four bytes, a column each: word j of 128-bit part L of `quarter[q]` is
/// byte 16 L + 4 q + j of the lines.
struct Quarters {
  __m512i quarter[4];
};
inline Quarters Interleave(const uint8_t* const lines[kColumnsAtOnce]) {
  const __m512i a = _mm512_loadu_si512(lines[0]), b = _mm512_loadu_si512(lines[1]);
  const __m512i c = _mm512_loadu_si512(lines[2]), d = _mm512_loadu_si512(lines[3]);
  const __m512i ab = _mm512_unpacklo_epi8(a, b), ab2 = _mm512_unpackhi_epi8(a, b);
  const __m512i cd = _mm512_unpacklo_epi8(c, d), cd2 = _mm512_unpackhi_epi8(c, d);
  return {{_mm512_unpacklo_epi16(ab, cd), _mm512_unpackhi_epi16(ab, cd),
           _mm512_unpacklo_epi16(ab2, cd2), _mm512_unpackhi_epi16(ab2, cd2)}};
}

/// Adds a chunk's columns to one panel's sums, [quarter][field] vectors.
inline void AddPanel(const Chunk& chunk, size_t groups, size_t offset, int32_t* sums) {
  __m512i sum[4][4];
  Unroll<16>(
      BITTERN_STEP(i) { sum[i.value / 4][i.value % 4] = _mm512_loadu_si512(sums + i.value * 16); });
  for (size_t g = 0; g < groups; ++g) {
    const size_t first = g * kColumnsAtOnce;
    const uint8_t* lines[kColumnsAtOnce];
    Unroll<kColumnsAtOnce>(BITTERN_STEP(k) {
      lines[k.value] = chunk.column[first + k.value] + offset;
      PrefetchJump(chunk.ahead[first + k.value] + offset);
    });
    const Quarters words = Interleave(lines);
    int32_t four;
    __builtin_memcpy(&four, chunk.act + first, sizeof four);
    const __m512i act = _mm512_set1_epi32(four);
    Unroll<16>(BITTERN_STEP(i) {
      __m512i& s = sum[i.value / 4][i.value % 4];
      const __m512i codes =
          _mm512_and_si512(words.quarter[i.value / 4], Field(2 * static_cast<int>(i.value % 4)));
      s = _mm512_dpbusd_epi32(s, codes, act);
    });
  }
  Unroll<16>(
      BITTERN_STEP(i) { _mm512_storeu_si512(sums + i.value * 16, sum[i.value / 4][i.value % 4]); });
}

/// From [quarter][field] vectors to rows in order, in place.
inline void OrderPanel(int32_t* sums) {
  __m512i row[16];
  Unroll<4>(BITTERN_STEP(f) {
    constexpr int kShift = 2 * static_cast<int>(f.value);
    __m512i q[4];
    Unroll<4>(BITTERN_STEP(k) {
      q[k.value] =
          _mm512_srai_epi32(_mm512_loadu_si512(sums + (4 * k.value + f.value) * 16), kShift);
    });
    // Part L of quarter k goes to part k of vector L: a transposition of 128-bit parts.
    const __m512i t0 = _mm512_shuffle_i32x4(q[0], q[1], 0x44);
    const __m512i t1 = _mm512_shuffle_i32x4(q[0], q[1], 0xee);
    const __m512i t2 = _mm512_shuffle_i32x4(q[2], q[3], 0x44);
    const __m512i t3 = _mm512_shuffle_i32x4(q[2], q[3], 0xee);
    row[4 * f.value] = _mm512_shuffle_i32x4(t0, t2, 0x88);
    row[4 * f.value + 1] = _mm512_shuffle_i32x4(t0, t2, 0xdd);
    row[4 * f.value + 2] = _mm512_shuffle_i32x4(t1, t3, 0x88);
    row[4 * f.value + 3] = _mm512_shuffle_i32x4(t1, t3, 0xdd);
  });
  Unroll<16>(BITTERN_STEP(i) { _mm512_storeu_si512(sums + i.value * 16, row[i.value]); });
}

inline void AddChunk(const Chunk& chunk, size_t left, size_t num_panels, int32_t* sums) {
  const size_t groups = (left + kColumnsAtOnce - 1) / kColumnsAtOnce;
  for (size_t p = 0; p < num_panels; ++p) AddPanel(chunk, groups, p * kLine, sums + p * kPanel);
}

void GemvColumns(const ColumnArgs* args) {
  SumColumns(args);
  for (size_t p = 0; p < args->num_tokens * args->num_panels; ++p) {
    OrderPanel(args->sums + p * kPanel);
  }
}

// --- Finding ---

/// Appends `first` + the numbers of the bits of `keep`.
inline size_t Append(__mmask16 keep, uint32_t first, uint32_t* found) {
  const __m512i lanes = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
  const __m512i ids = _mm512_add_epi32(lanes, _mm512_set1_epi32(static_cast<int>(first)));
  _mm512_storeu_si512(found, _mm512_maskz_compress_epi32(keep, ids));
  return static_cast<size_t>(__builtin_popcount(keep));
}

size_t FindNonzero(const int8_t* x, size_t size, uint32_t* found) {
  size_t count = 0;
  for (size_t i = 0; i < size; i += kLine) {
    const size_t left = size - i;
    const __mmask64 there = left < kLine ? (uint64_t{1} << left) - 1 : ~uint64_t{0};
    const __m512i bytes = _mm512_maskz_loadu_epi8(there, x + i);
    const __mmask64 live = _mm512_test_epi8_mask(bytes, bytes);
    for (size_t part = 0; part < kLine && part < left; part += 16) {
      count += Append(static_cast<__mmask16>(live >> part), static_cast<uint32_t>(i + part),
                      found + count);
    }
  }
  return count;
}

size_t FindPositive(const float* x, size_t size, uint32_t first, uint32_t* found) {
  size_t count = 0;
  for (size_t i = 0; i < size; i += 16) {
    const size_t left = size - i;
    const __mmask16 there = static_cast<__mmask16>(left < 16 ? (1u << left) - 1 : 0xffffu);
    const __mmask16 live = _mm512_mask_cmp_ps_mask(there, _mm512_maskz_loadu_ps(there, x + i),
                                                   _mm512_setzero_ps(), _CMP_GT_OQ);
    count += Append(live, first + static_cast<uint32_t>(i), found + count);
  }
  return count;
}

constexpr SparseOps kOps = {GemvRows,     GemvColumns, FindNonzero,
                            FindPositive, TileOfRows,  TilesOfColumns};

}  // namespace

extern const KernelInfo k_sparse_avx512vnni;
const KernelInfo k_sparse_avx512vnni = {.name = "sparse_avx512vnni",
                                        .isa = Isa::avx512vnni,
                                        .tile16 = nullptr,
                                        .float32 = nullptr,
                                        .sparse = &kOps};

}  // namespace bittern::kernels
