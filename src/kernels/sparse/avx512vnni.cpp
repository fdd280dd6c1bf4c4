// SPDX-License-Identifier: Apache-2.0
// Ternary products that leave zeros out, with AVX-512 VNNI. Layouts:
// quant/layouts/skip_layouts.hpp. Fields are multiplied where they stand in their byte, into a sum
// of their own that is shifted once at the end. Bound: 3 * 64 * 128 * cols / 4 < 2^31 for cols <
// 2^18.
#include <immintrin.h>

#include "kernels/kernel.h"
#include "kernels/prefetch.inc"
#include "kernels/sparse/tiles.inc"
#include "kernels/unroll.inc"

namespace bittern::kernels {
namespace {

constexpr size_t kLine = 64;

inline __m256i Load32(const void* p) { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }
inline __m512i Field(int shift) { return _mm512_set1_epi8(static_cast<char>(3 << shift)); }

// --- Rows ---

constexpr size_t kLineCols = 256;  // two blocks, of which a line holds 32 bytes each

/// The beginning of line `i` of a row. A row of an odd number of blocks ends with a line that has
/// the last two, the first of which meets zeros there.
inline size_t LineAt(size_t i, size_t row_bytes) {
  return (i + 1) * kLine <= row_bytes ? i * kLine : row_bytes - kLine;
}

/// A row's activations in the order in which its lines have the columns: field after field.
inline void OrderActs(const int8_t* act, size_t num_blocks, int8_t* ordered) {
  for (size_t b = 0; b < num_blocks; b += 2, ordered += kLineCols) {
    for (size_t f = 0; f < 4; ++f) {
      const __m256i first = Load32(act + b * 128 + f * 32);
      const bool alone = b + 1 == num_blocks;
      const __m256i low = alone && b != 0 ? _mm256_setzero_si256() : first;
      const __m256i high = !alone   ? Load32(act + (b + 1) * 128 + f * 32)
                           : b != 0 ? first
                                    : _mm256_setzero_si256();
      _mm512_storeu_si512(ordered + f * kLine,
                          _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1));
    }
  }
}

inline __m512i SumOfFields(const __m512i field[4]) {
  const __m512i high =
      _mm512_add_epi32(_mm512_srai_epi32(field[0], 6), _mm512_srai_epi32(field[1], 4));
  return _mm512_add_epi32(high, _mm512_add_epi32(_mm512_srai_epi32(field[2], 2), field[3]));
}

/// Lane r of the result: all lanes of row r, summed.
inline __m128i SumOfLanes(const __m512i row[4]) {
  const __m512i ab = _mm512_add_epi32(_mm512_unpacklo_epi32(row[0], row[1]),
                                      _mm512_unpackhi_epi32(row[0], row[1]));
  const __m512i cd = _mm512_add_epi32(_mm512_unpacklo_epi32(row[2], row[3]),
                                      _mm512_unpackhi_epi32(row[2], row[3]));
  const __m512i all =
      _mm512_add_epi32(_mm512_unpacklo_epi64(ab, cd), _mm512_unpackhi_epi64(ab, cd));
  const __m256i half =
      _mm256_add_epi32(_mm512_castsi512_si256(all), _mm512_extracti64x4_epi64(all, 1));
  return _mm_add_epi32(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
}

/// Products of rows of kSingle (one) or more blocks with activations in order.
template <size_t kRows, From kFrom, bool kSingle>
inline void MultiplyLines(const uint8_t* const rows[kRows], const uint8_t* const ahead[kRows],
                          size_t num_blocks, const int8_t* ordered, int32_t act_sum, int32_t* out) {
  __m512i sums[kRows][4];
  Unroll<kRows * 4>(BITTERN_STEP(i) { sums[i.value / 4][i.value % 4] = _mm512_setzero_si512(); });
  ForLines<kFrom>((num_blocks + 1) / 2, BITTERN_STEP(i) {
    const size_t offset = kSingle ? 0 : LineAt(i, num_blocks * 32);
    __m512i acts[4];
    Unroll<4>(BITTERN_STEP(f) {
      acts[f.value] = _mm512_loadu_si512(ordered + i * kLineCols + f.value * kLine);
    });
    Unroll<kRows>(BITTERN_STEP(r) {
      if (kFrom != From::kCache) PrefetchJump(ahead[r.value] + offset);
      const uint8_t* line = rows[r.value] + offset;
      const __m512i bytes =
          kSingle ? _mm512_zextsi256_si512(Load32(line)) : _mm512_loadu_si512(line);
      Unroll<4>(BITTERN_STEP(f) {
        __m512i& sum = sums[r.value][f.value];
        const __m512i codes = _mm512_and_si512(bytes, Field(6 - 2 * static_cast<int>(f.value)));
        sum = _mm512_dpbusd_epi32(sum, codes, acts[f.value]);
        asm("" : "+v"(sum));  // one register: gcc 12 copies each sum twice a round otherwise
      });
    });
  });
  if constexpr (kRows == 4) {
    __m512i row[4];
    Unroll<4>(BITTERN_STEP(r) { row[r.value] = SumOfFields(sums[r.value]); });
    const __m128i codes = SumOfLanes(row);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out),
                     _mm_sub_epi32(codes, _mm_set1_epi32(act_sum)));
  } else {
    Unroll<kRows>(BITTERN_STEP(r) {
      out[r.value] = _mm512_reduce_add_epi32(SumOfFields(sums[r.value])) - act_sum;
    });
  }
}

template <size_t kRows, From kFrom>
inline void MultiplyRows(const uint8_t* const rows[kRows], const uint8_t* const ahead[kRows],
                         size_t num_blocks, const int8_t* ordered, int32_t act_sum, int32_t* out) {
  (num_blocks == 1
       ? MultiplyLines<kRows, kFrom, true>
       : MultiplyLines<kRows, kFrom, false>)(rows, ahead, num_blocks, ordered, act_sum, out);
}

constexpr size_t kVectorsAtOnce = 6;  // 24 sums of 32 registers

/// One row of kSingle (one) or more blocks times several vectors: its fields are cut out once for
/// all of them.
template <size_t kVectors, From kFrom, bool kSingle>
inline void MultiplySharedLines(const uint8_t* row, const uint8_t* ahead, size_t num_blocks,
                                const int8_t* const* acts, const int32_t* act_sums, int32_t* out) {
  __m512i sums[kVectors][4];
  Unroll<kVectors * 4>(
      BITTERN_STEP(i) { sums[i.value / 4][i.value % 4] = _mm512_setzero_si512(); });
  for (size_t i = 0; i < (num_blocks + 1) / 2; ++i) {
    const size_t offset = kSingle ? 0 : LineAt(i, num_blocks * 32);
    if (kFrom != From::kCache) PrefetchJump(ahead + offset);
    const uint8_t* line = row + offset;
    const __m512i bytes = kSingle ? _mm512_zextsi256_si512(Load32(line)) : _mm512_loadu_si512(line);
    Unroll<4>(BITTERN_STEP(f) {
      const __m512i codes = _mm512_and_si512(bytes, Field(6 - 2 * static_cast<int>(f.value)));
      Unroll<kVectors>(BITTERN_STEP(v) {
        __m512i& sum = sums[v.value][f.value];
        sum = _mm512_dpbusd_epi32(
            sum, codes, _mm512_loadu_si512(acts[v.value] + i * kLineCols + f.value * kLine));
        asm("" : "+v"(sum));  // one register, as above
      });
    });
  }
  constexpr size_t kFours = (kVectors + 3) / 4;
  alignas(16) int32_t codes[4 * kFours];
  Unroll<kFours>(BITTERN_STEP(four) {
    __m512i all[4];  // lanes past the last vector repeat others and are not read
    Unroll<4>(BITTERN_STEP(v) {
      all[v.value] = SumOfFields(sums[(4 * four.value + v.value) % kVectors]);
    });
    _mm_store_si128(reinterpret_cast<__m128i*>(codes + 4 * four.value), SumOfLanes(all));
  });
  Unroll<kVectors>(BITTERN_STEP(v) { out[v.value] = codes[v.value] - act_sums[v.value]; });
}

template <size_t kVectors, From kFrom>
inline void MultiplyShared(const uint8_t* row, const uint8_t* ahead, size_t num_blocks,
                           const int8_t* const* acts, const int32_t* act_sums, int32_t* out) {
  (num_blocks == 1
       ? MultiplySharedLines<kVectors, kFrom, true>
       : MultiplySharedLines<kVectors, kFrom, false>)(row, ahead, num_blocks, acts, act_sums, out);
}

}  // namespace
}  // namespace bittern::kernels

#define BITTERN_ORDERED_ACTS
#define BITTERN_SHARES_ROWS
#include "kernels/sparse/rows.inc"
#include "kernels/sparse/shared_rows.inc"

namespace bittern::kernels {
namespace {

// --- Columns ---

constexpr size_t kColumnsAtOnce = 4, kChunk = 16;

}  // namespace
}  // namespace bittern::kernels

#include "kernels/sparse/columns.inc"

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

/// A panel's sums: [quarter][field].
using PanelSums = __m512i[4][4];

/// Adds four columns, each times its byte of `four`. Field 0's sum is that of the whole bytes: what
/// the others add to it is taken away in the end (OrderPanel), and a quarter of the masking is
/// saved. It may wrap around in between, since the difference is within bounds.
inline void AddColumns(const uint8_t* const lines[kColumnsAtOnce], int32_t four, PanelSums sum) {
  const Quarters words = Interleave(lines);
  const __m512i act = _mm512_set1_epi32(four);
  Unroll<16>(BITTERN_STEP(i) {
    __m512i& s = sum[i.value / 4][i.value % 4];
    constexpr size_t kField = i.value % 4;
    const __m512i bytes = words.quarter[i.value / 4];
    const __m512i codes =
        kField == 0 ? bytes : _mm512_and_si512(bytes, Field(2 * static_cast<int>(kField)));
    s = _mm512_dpbusd_epi32(s, codes, act);
  });
}

/// Adds a chunk's columns to one panel's sums, [quarter][field] vectors.
inline void AddPanel(const Chunk& chunk, size_t groups, size_t offset, int32_t* sums) {
  PanelSums sum;
  Unroll<16>(
      BITTERN_STEP(i) { sum[i.value / 4][i.value % 4] = _mm512_loadu_si512(sums + i.value * 16); });
  for (size_t g = 0; g < groups; ++g) {
    const size_t first = g * kColumnsAtOnce;
    const uint8_t* lines[kColumnsAtOnce];
    Unroll<kColumnsAtOnce>(BITTERN_STEP(k) {
      lines[k.value] = chunk.column[first + k.value] + offset;
      PrefetchJump(chunk.ahead[first + k.value] + offset);
    });
    int32_t four;
    __builtin_memcpy(&four, chunk.act + first, sizeof four);
    AddColumns(lines, four, sum);
  }
  Unroll<16>(
      BITTERN_STEP(i) { _mm512_storeu_si512(sums + i.value * 16, sum[i.value / 4][i.value % 4]); });
}

/// From [quarter][field] vectors to rows in order, in place.
inline void OrderPanel(int32_t* sums) {
  __m512i row[16];
  Unroll<4>(BITTERN_STEP(k) {
    int32_t* quarter = sums + k.value * 64;
    const __m512i others = _mm512_add_epi32(
        _mm512_add_epi32(_mm512_loadu_si512(quarter + 16), _mm512_loadu_si512(quarter + 32)),
        _mm512_loadu_si512(quarter + 48));
    _mm512_storeu_si512(quarter, _mm512_sub_epi32(_mm512_loadu_si512(quarter), others));
  });
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

template <From kFrom>
inline void AddChunk(const Chunk& chunk, size_t left, size_t num_panels, int32_t* sums) {
  const size_t groups = (left + kColumnsAtOnce - 1) / kColumnsAtOnce;
  ForLines<kFrom>(
      num_panels, BITTERN_STEP(p) { AddPanel(chunk, groups, p * kLine, sums + p * kPanel); });
}

/// The sums of a single panel, which lies in the cache, stay in registers.
void SumPanel(const ColumnArgs* args) {
  PanelSums sum;
  Unroll<16>(BITTERN_STEP(i) { sum[i.value / 4][i.value % 4] = _mm512_setzero_si512(); });
  const uint32_t* live = args->live;
  const uint32_t* end = live + args->count;
  uint32_t last[kColumnsAtOnce];  // what is missing is the last one again, times zero
  for (size_t k = 0, left = args->count % kColumnsAtOnce; k < kColumnsAtOnce && left != 0; ++k) {
    last[k] = k < left ? end[static_cast<ptrdiff_t>(k) - static_cast<ptrdiff_t>(left)] : end[-1];
  }
  while (live < end) {
    const auto left = static_cast<size_t>(end - live);
    const uint32_t* columns = left < kColumnsAtOnce ? last : live;
    const uint8_t* lines[kColumnsAtOnce];
    uint32_t four = 0;
    Unroll<kColumnsAtOnce>(BITTERN_STEP(k) {
      lines[k.value] = args->columns + columns[k.value] * kPanelLine;
      const auto act = static_cast<uint8_t>(args->acts[columns[k.value]]);
      four |= static_cast<uint32_t>(act) << (8 * k.value);
    });
    if (left < kColumnsAtOnce) four &= (uint32_t{1} << (8 * left)) - 1;
    AddColumns(lines, static_cast<int32_t>(four), sum);
    live += kColumnsAtOnce;
  }
  Unroll<16>(BITTERN_STEP(i) {
    _mm512_storeu_si512(args->sums + i.value * 16, sum[i.value / 4][i.value % 4]);
  });
}

void GemvColumns(const ColumnArgs* args) {
  if (args->num_panels == 1 && args->num_tokens == 1) {
    SumPanel(args);
  } else {
    SumColumns(args);
  }
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

/// Appends what is live of 64 bytes, of which `size` are there.
inline size_t AppendBytes(__m512i bytes, size_t first, size_t size, uint32_t* found) {
  const __mmask64 live = _mm512_test_epi8_mask(bytes, bytes);
  size_t count = 0;
  for (size_t part = 0; part < kLine && part < size; part += 16) {
    count += Append(static_cast<__mmask16>(live >> part), static_cast<uint32_t>(first + part),
                    found + count);
  }
  return count;
}

// Masked loads are slow on some CPUs (Zen 4), so only the ends are loaded that way.
size_t FindNonzero(const int8_t* x, size_t size, uint32_t* found) {
  size_t count = 0, i = 0;
  for (; i + kLine <= size; i += kLine) {
    count += AppendBytes(_mm512_loadu_si512(x + i), i, kLine, found + count);
  }
  if (i == size) return count;
  const __mmask64 there = (uint64_t{1} << (size - i)) - 1;
  return count + AppendBytes(_mm512_maskz_loadu_epi8(there, x + i), i, size - i, found + count);
}

size_t FindPositive(const float* x, size_t size, uint32_t first, uint32_t* found) {
  const auto append = [&](__m512 floats, size_t i, size_t count) {
    return Append(_mm512_cmp_ps_mask(floats, _mm512_setzero_ps(), _CMP_GT_OQ),
                  first + static_cast<uint32_t>(i), found + count);
  };
  size_t count = 0, i = 0;
  for (; i + 16 <= size; i += 16) count += append(_mm512_loadu_ps(x + i), i, count);
  if (i == size) return count;
  const __mmask16 there = static_cast<__mmask16>((1u << (size - i)) - 1);
  return count + append(_mm512_maskz_loadu_ps(there, x + i), i, count);
}

constexpr SparseOps kOps = {GemvRows,    OrderActs,    GemvSharedRows, GemvColumns,
                            FindNonzero, FindPositive, TileOfRows,     TilesOfColumns,
                            1.35f,       1.4f,         kRowVectors};

}  // namespace

extern const KernelInfo k_sparse_avx512vnni;
const KernelInfo k_sparse_avx512vnni = {
    .name = "sparse_avx512vnni", .isa = Isa::avx512vnni, .sparse = &kOps};

}  // namespace bittern::kernels
