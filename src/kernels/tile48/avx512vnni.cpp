// SPDX-License-Identifier: Apache-2.0
// Ternary gemv from three weights in five bits, with AVX-512 VNNI. Layout: quant/tile48.hpp. A
// shuffle turns sixty-four pairs into triples of codes, a subtraction under mask negates them.
#include <immintrin.h>

#include "kernels/kernel.h"
#include "kernels/tile48/triples.inc"
#include "kernels/unroll.inc"

namespace bittern::kernels {
namespace {

constexpr size_t kLine = 64, kPrefetchBytes = 4096;

inline __m512i Bytes(int value) { return _mm512_set1_epi8(static_cast<char>(value)); }

/// Codes of the three weights in every byte: groups of four columns 2 n and 2 n + 1 of a unit.
struct Triples {
  __m512i low, high;
};
inline __m512i FromPairs(__m512i pairs, __m512i signs, int group) {
  const __m512i table =
      _mm512_broadcast_i32x4(_mm_load_si128(reinterpret_cast<const __m128i*>(kTriples)));
  const __m512i triples = _mm512_shuffle_epi8(table, pairs);
  const __mmask64 negate = _mm512_test_epi8_mask(signs, Bytes(1 << group));
  return _mm512_mask_sub_epi8(triples, negate, Bytes(kNegateFrom), triples);
}
inline Triples LoadTriples(const uint8_t* unit, __m512i signs, int n) {
  const __m512i line = _mm512_loadu_si512(unit + static_cast<size_t>(n) * kLine);
  const __m512i high = _mm512_and_si512(_mm512_srli_epi16(line, 4), Bytes(0x0f));
  return {FromPairs(_mm512_and_si512(line, Bytes(0x0f)), signs, 2 * n),
          FromPairs(high, signs, 2 * n + 1)};
}

/// Products of the first weight of every triple; of 1 first + 4 second; and of 1 first + 4 second +
/// 16 third: as all three meet the same activations, two subtractions at the end tell them apart.
/// Bound: 42 * 128 * cols < 2^31 for cols < 2^18.
struct TripleSums {
  __m512i one = _mm512_setzero_si512(), two = _mm512_setzero_si512(),
          three = _mm512_setzero_si512();
};

/// Adds a group of four columns to the sums of kTokens tokens, whose activations are `stride` bytes
/// apart.
template <size_t kTokens>
inline void AddGroup(__m512i triples, const int8_t* act, size_t stride, TripleSums* sums) {
  const __m512i one = _mm512_and_si512(triples, Bytes(0x03));
  const __m512i two = _mm512_and_si512(triples, Bytes(0x0f));
  Unroll<kTokens>(BITTERN_STEP(token) {
    int32_t word;
    __builtin_memcpy(&word, act + token.value * stride, sizeof word);
    const __m512i four = _mm512_set1_epi32(word);
    TripleSums& sum = sums[token.value];
    sum.one = _mm512_dpbusd_epi32(sum.one, one, four);
    sum.two = _mm512_dpbusd_epi32(sum.two, two, four);
    sum.three = _mm512_dpbusd_epi32(sum.three, triples, four);
  });
}

inline TripleSums Add(const TripleSums& a, const TripleSums& b) {
  return {_mm512_add_epi32(a.one, b.one), _mm512_add_epi32(a.two, b.two),
          _mm512_add_epi32(a.three, b.three)};
}
inline void StoreRows(const TripleSums& sums, int32_t act_sum, int32_t* out) {
  const __m512i sum = _mm512_set1_epi32(act_sum);
  const __m512i second = _mm512_srai_epi32(_mm512_sub_epi32(sums.two, sums.one), 2);
  const __m512i third = _mm512_srai_epi32(_mm512_sub_epi32(sums.three, sums.two), 4);
  _mm512_storeu_si512(out, _mm512_sub_epi32(sums.one, sum));
  _mm512_storeu_si512(out + 16, _mm512_sub_epi32(second, sum));
  _mm512_storeu_si512(out + 32, _mm512_sub_epi32(third, sum));
}

/// One tile. The latency of a sum hides behind the others: for one token there are two sets of
/// them.
template <size_t kTokens>
inline void GemvTile(const Tile48Args& args, const uint8_t* unit, size_t first_token,
                     int32_t* out) {
  constexpr size_t kSets = kTokens == 1 ? 2 : 1;
  TripleSums sums[kSets * kTokens];
  const int8_t* act = args.acts + first_token * args.act_stride;
  for (size_t u = 0; u < args.num_blocks * kUnits; ++u, unit += kUnitBytes, act += kUnitCols) {
    Unroll<5>(BITTERN_STEP(n) {
      _mm_prefetch(reinterpret_cast<const char*>(unit + kPrefetchBytes + n.value * kLine),
                   _MM_HINT_T0);
    });
    const __m512i signs = _mm512_loadu_si512(unit + kSignLine);
    Unroll<4>(BITTERN_STEP(n) {
      const Triples triples = LoadTriples(unit, signs, static_cast<int>(n.value));
      AddGroup<kTokens>(triples.low, act + 8 * n.value, args.act_stride, sums);
      AddGroup<kTokens>(triples.high, act + 8 * n.value + 4, args.act_stride,
                        sums + (kSets - 1) * kTokens);
    });
  }
  if (kSets == 2) sums[0] = Add(sums[0], sums[kSets - 1]);
  Unroll<kTokens>(BITTERN_STEP(token) {
    const size_t number = first_token + token.value;
    StoreRows(sums[token.value], args.act_sums[number], out + number * args.out_stride);
  });
}

constexpr size_t kTokensAtOnce = 4;
using GemvTileFn = void (*)(const Tile48Args&, const uint8_t*, size_t, int32_t*);
constexpr GemvTileFn kGemvTile[kTokensAtOnce] = {GemvTile<1>, GemvTile<2>, GemvTile<3>,
                                                 GemvTile<4>};

void Gemv(const Tile48Args* args) {
  const size_t tile_bytes = args->num_blocks * kUnits * kUnitBytes;
  for (size_t t = 0; t < args->num_tiles; ++t) {  // a tile stays in cache for all tokens
    for (size_t token = 0; token < args->num_tokens; token += kTokensAtOnce) {
      const size_t left = args->num_tokens - token;
      kGemvTile[(left < kTokensAtOnce ? left : kTokensAtOnce) - 1](
          *args, args->tiles + t * tile_bytes, token, args->out + t * kTripleRows);
    }
  }
}

/// Bytes shifted left (right where negative); what comes from the neighbour byte is masked later.
template <int kBits>
inline __m512i Shift(__m512i bytes) {
  if constexpr (kBits > 0) return _mm512_slli_epi16(bytes, static_cast<unsigned>(kBits));
  if constexpr (kBits < 0) return _mm512_srli_epi16(bytes, static_cast<unsigned>(-kBits));
  return bytes;
}
/// Bits of `high` where `mask` has ones, else of `low`.
inline __m512i Merge(__m512i high, __m512i low, int mask) {
  return _mm512_ternarylogic_epi32(high, low, Bytes(mask), 0xe4);
}

/// The triples of the four units of a block meet in a step of Tile16, one in each field.
inline void StoreStep(const __m512i of_unit[4], uint8_t* out, size_t tile16_bytes) {
  Unroll<3>(BITTERN_STEP(row) {
    constexpr int kFrom = 2 * static_cast<int>(row.value);
    const __m512i high = Merge(Shift<6 - kFrom>(of_unit[0]), Shift<4 - kFrom>(of_unit[1]), 0xc0);
    const __m512i low = Merge(Shift<2 - kFrom>(of_unit[2]), Shift<-kFrom>(of_unit[3]), 0x0c);
    _mm512_storeu_si512(out + row.value * tile16_bytes, Merge(high, low, 0xf0));
  });
}

void ToTile16(const uint8_t* tile, size_t num_blocks, uint8_t* tiles16) {
  const size_t tile16_bytes = num_blocks * kBlock16Bytes;
  for (size_t b = 0; b < num_blocks; ++b) {
    Unroll<4>(BITTERN_STEP(n) {
      __m512i low[4], high[4];
      Unroll<4>(BITTERN_STEP(u) {
        const uint8_t* unit = tile + (b * kUnits + u.value) * kUnitBytes;
        const __m512i signs = _mm512_loadu_si512(unit + kSignLine);
        const Triples triples = LoadTriples(unit, signs, static_cast<int>(n.value));
        low[u.value] = triples.low;
        high[u.value] = triples.high;
      });
      uint8_t* out = tiles16 + b * kBlock16Bytes + 2 * n.value * kLine;
      StoreStep(low, out, tile16_bytes);
      StoreStep(high, out + kLine, tile16_bytes);
    });
  }
}

constexpr Tile48Ops kOps = {Gemv, ToTile16};

}  // namespace

extern const KernelInfo k_tile48_avx512vnni;
const KernelInfo k_tile48_avx512vnni = {.name = "tile48_avx512vnni",
                                        .isa = Isa::avx512vnni,
                                        .tile16 = nullptr,
                                        .float32 = nullptr,
                                        .tile48 = &kOps};

}  // namespace bittern::kernels
