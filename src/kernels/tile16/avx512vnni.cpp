// SPDX-License-Identifier: Apache-2.0
// Ternary gemv and gemm with AVX-512 VNNI. One 64-byte step of a tile is 16 rows x 16 columns;
// vpdpbusd multiplies four unsigned codes by four signed activations per 32-bit lane, so a lane
// is an output row and nothing is ever summed across lanes. Layout: quant/layouts/tile16.hpp.
#include <immintrin.h>

#include "kernels/kernel.h"
#include "kernels/unroll.inc"

namespace bittern::kernels {
namespace {

constexpr size_t kRows = 16, kSteps = 8, kStepBytes = 64, kBlockBytes = 512, kBlock = 128;
constexpr size_t kPrefetchBytes = 4096;

inline __m512i Broadcast4(const int8_t* act) {
  int32_t word;
  __builtin_memcpy(&word, act, 4);
  return _mm512_set1_epi32(word);
}

// The four fields of a byte are multiplied in place (codes times 64, 16, 4, 1), each field into a
// sum of its own, and the sums are shifted once at the end: exact, since each is a multiple.
// Bound: |sum of the top field| <= 2 * 64 * 128 * cols / 4 = 4096 cols < 2^31 for cols < 2^19.
struct FieldSums {
  __m512i top = _mm512_setzero_si512(), second = _mm512_setzero_si512(),
          third = _mm512_setzero_si512(), low = _mm512_setzero_si512();
};

inline void AddStep(__m512i bytes, const int8_t* a_top, const int8_t* a_second,
                    const int8_t* a_third, const int8_t* a_low, FieldSums* sums) {
  const __m512i top = _mm512_set1_epi8(static_cast<char>(0xc0)), second = _mm512_set1_epi8(0x30),
                third = _mm512_set1_epi8(0x0c), low = _mm512_set1_epi8(0x03);
  sums->top = _mm512_dpbusd_epi32(sums->top, _mm512_and_si512(bytes, top), Broadcast4(a_top));
  sums->second =
      _mm512_dpbusd_epi32(sums->second, _mm512_and_si512(bytes, second), Broadcast4(a_second));
  sums->third =
      _mm512_dpbusd_epi32(sums->third, _mm512_and_si512(bytes, third), Broadcast4(a_third));
  sums->low = _mm512_dpbusd_epi32(sums->low, _mm512_and_si512(bytes, low), Broadcast4(a_low));
}

/// A step of a plain vector: its fields belong to groups of four that lie 32 apart.
inline void AddFourGroups(__m512i bytes, const int8_t* act, FieldSums* sums) {
  AddStep(bytes, act, act + 32, act + 64, act + 96, sums);
}

inline __m512i Total(const FieldSums& s) {
  return _mm512_add_epi32(
      _mm512_add_epi32(_mm512_srai_epi32(s.top, 6), _mm512_srai_epi32(s.second, 4)),
      _mm512_add_epi32(_mm512_srai_epi32(s.third, 2), s.low));
}

void GemvOne(const uint8_t* tiles, size_t num_tiles, size_t num_blocks, const int8_t* act,
             int32_t act_sum, int32_t* out) {
  const uint8_t* p = tiles;
  for (size_t t = 0; t < num_tiles; ++t) {
    FieldSums even, odd;  // two sets: the latency of one hides behind the other
    for (size_t b = 0; b < num_blocks; ++b, p += kBlockBytes) {
      const int8_t* a = act + b * kBlock;
      for (size_t step = 0; step < kSteps; step += 2) {
        const uint8_t* q = p + step * kStepBytes;
        // Weights stream from memory: without this the loop waits on every line.
        _mm_prefetch(reinterpret_cast<const char*>(q + kPrefetchBytes), _MM_HINT_T0);
        _mm_prefetch(reinterpret_cast<const char*>(q + kPrefetchBytes + 64), _MM_HINT_T0);
        AddFourGroups(_mm512_loadu_si512(q), a + 4 * step, &even);
        AddFourGroups(_mm512_loadu_si512(q + kStepBytes), a + 4 * step + 4, &odd);
      }
    }
    const __m512i sum = _mm512_add_epi32(Total(even), Total(odd));
    _mm512_storeu_si512(out + t * kRows, _mm512_sub_epi32(sum, _mm512_set1_epi32(act_sum)));
  }
}

/// One tile times kTokens vectors; out: of the first of them.
template <size_t kTokens>
void MultiplyFew(const FewArgs& args, const uint8_t* tile, size_t first_token, int32_t* out) {
  const int8_t* acts[kTokens];
  FieldSums sums[kTokens];
  Unroll<kTokens>(BITTERN_STEP(token) {
    acts[token.value] = args.acts + (first_token + token.value) * args.act_stride;
  });
  for (size_t b = 0; b < args.num_blocks; ++b) {
    for (size_t step = 0; step < kSteps; ++step, tile += kStepBytes) {
      _mm_prefetch(reinterpret_cast<const char*>(tile + kPrefetchBytes), _MM_HINT_T0);
      const __m512i bytes = _mm512_loadu_si512(tile);
      Unroll<kTokens>(BITTERN_STEP(token) {
        AddFourGroups(bytes, acts[token.value] + b * kBlock + 4 * step, &sums[token.value]);
      });
    }
  }
  Unroll<kTokens>(BITTERN_STEP(token) {
    const __m512i act_sum = _mm512_set1_epi32(args.act_sums[first_token + token.value]);
    _mm512_storeu_si512(out + token.value * args.out_stride,
                        _mm512_sub_epi32(Total(sums[token.value]), act_sum));
  });
}

}  // namespace
}  // namespace bittern::kernels

#include "kernels/tile16/few.inc"

namespace bittern::kernels {
namespace {

/// Spreads the fields of up to kGemmTiles tiles into bytes 0..2, in the order the product loop
/// reads: [column / 4][tile][16 rows x 4 columns].
void Decode(const uint8_t* tiles, size_t num_tiles, size_t num_blocks, uint8_t* codes) {
  const __m512i mask = _mm512_set1_epi8(3);
  for (size_t t = 0; t < num_tiles; ++t) {
    const uint8_t* p = tiles + t * num_blocks * kBlockBytes;
    for (size_t b = 0; b < num_blocks; ++b, p += kBlockBytes) {
      for (size_t step = 0; step < kSteps; ++step) {
        const __m512i bytes = _mm512_loadu_si512(p + step * kStepBytes);
        uint8_t* out = codes + ((b * 32 + step) * num_tiles + t) * kStepBytes;
        const size_t field = kSteps * num_tiles * kStepBytes;
        _mm512_storeu_si512(out, _mm512_and_si512(_mm512_srli_epi16(bytes, 6), mask));
        _mm512_storeu_si512(out + field, _mm512_and_si512(_mm512_srli_epi16(bytes, 4), mask));
        _mm512_storeu_si512(out + 2 * field, _mm512_and_si512(_mm512_srli_epi16(bytes, 2), mask));
        _mm512_storeu_si512(out + 3 * field, _mm512_and_si512(bytes, mask));
      }
    }
  }
}

/// kTiles x kTokens sums stay in registers over the whole row: 16 independent chains hide the
/// latency of vpdpbusd, and each broadcast feeds kTiles products.
template <size_t kTiles, size_t kTokens>
void Multiply(const uint8_t* codes, size_t num_groups, const int8_t* panel, const int32_t* act_sums,
              int32_t* out, size_t out_stride) {
  __m512i sums[kTokens][kTiles];
  Unroll<kTokens>(BITTERN_STEP(token) {
    Unroll<kTiles>(BITTERN_STEP(t) {
      sums[token.value][t.value] = _mm512_set1_epi32(-act_sums[token.value]);
    });
  });
  for (size_t g = 0; g < num_groups; ++g) {
    __m512i w[kTiles];
    Unroll<kTiles>(
        BITTERN_STEP(t) { w[t.value] = _mm512_loadu_si512(codes + t.value * kStepBytes); });
    Unroll<kTokens>(BITTERN_STEP(token) {
      const __m512i a = Broadcast4(panel + token.value * 4);
      Unroll<kTiles>(BITTERN_STEP(t) {
        __m512i& sum = sums[token.value][t.value];
        sum = _mm512_dpbusd_epi32(sum, w[t.value], a);
      });
    });
    codes += kTiles * kStepBytes;
    panel += 4 * kPanelTokens;
  }
  Unroll<kTokens>(BITTERN_STEP(token) {
    Unroll<kTiles>(BITTERN_STEP(t) {
      _mm512_storeu_si512(out + token.value * out_stride + t.value * kRows,
                          sums[token.value][t.value]);
    });
  });
}

using MultiplyFn = void (*)(const uint8_t*, size_t, const int8_t*, const int32_t*, int32_t*,
                            size_t);
template <size_t kTiles>
constexpr MultiplyFn kMultiply[kPanelTokens] = {
    Multiply<kTiles, 1>, Multiply<kTiles, 2>, Multiply<kTiles, 3>, Multiply<kTiles, 4>,
    Multiply<kTiles, 5>, Multiply<kTiles, 6>, Multiply<kTiles, 7>, Multiply<kTiles, 8>};

void Gemm(const uint8_t* tiles, size_t num_tiles, size_t num_blocks, const int8_t* panels,
          const int32_t* act_sums, size_t num_tokens, int32_t* out, size_t out_stride,
          uint8_t* scratch) {
  Decode(tiles, num_tiles, num_blocks, scratch);
  for (size_t token = 0; token < num_tokens; token += kPanelTokens) {
    const size_t left = num_tokens - token;
    const size_t count = left < kPanelTokens ? left : kPanelTokens;
    const MultiplyFn multiply = num_tiles == 2 ? kMultiply<2>[count - 1] : kMultiply<1>[count - 1];
    multiply(scratch, num_blocks * 32, panels + token * num_blocks * kBlock, act_sums + token,
             out + token * out_stride, out_stride);
  }
}

/// Adds a group's sums, scaled, to the rows' floats: in two products and a sum, none fused.
inline __m512 AddGroup(__m512 total, __m512i sum, const float* weight_scales, float act_scale) {
  const __m512 scaled =
      _mm512_mul_ps(_mm512_mul_ps(_mm512_cvtepi32_ps(sum), _mm512_loadu_ps(weight_scales)),
                    _mm512_set1_ps(act_scale));
  return _mm512_add_ps(total, scaled);
}

/// Joins the sums of a vector's digits over a group.
template <size_t kDigits>
inline __m512i SumOf(__m512i high, __m512i low, int32_t act_sum) {
  static_assert(kDigitBase == 255);
  const __m512i sum = _mm512_sub_epi32(low, _mm512_set1_epi32(act_sum));
  if constexpr (kDigits == 1) return sum;
  return _mm512_add_epi32(sum, _mm512_sub_epi32(_mm512_slli_epi32(high, 8), high));
}

/// Both groups of a block, from the sums of its fields.
inline __m512i FirstGroup(const FieldSums& s) {
  return _mm512_add_epi32(_mm512_srai_epi32(s.top, 6), _mm512_srai_epi32(s.second, 4));
}
inline __m512i SecondGroup(const FieldSums& s) {
  return _mm512_add_epi32(_mm512_srai_epi32(s.third, 2), s.low);
}

/// One vector: weights are loaded once for all of its digits.
template <size_t kDigits>
void GemvDigits(const GroupedArgs* g) {
  const int8_t* const acts[2] = {g->act, g->low};
  const uint8_t* p = g->tiles;
  const float* scales = g->weight_scales;
  const size_t second = (g->scales_per_block - 1) * kRows;
  const size_t stride = g->act_stride, field = kSteps * stride;
  for (size_t t = 0; t < g->num_tiles; ++t) {
    __m512 total = _mm512_setzero_ps();
    for (size_t b = 0; b < g->num_blocks; ++b, p += kBlockBytes, scales += kRows + second) {
      FieldSums sums[kDigits];
      for (size_t step = 0; step < kSteps; ++step) {
        const uint8_t* q = p + step * kStepBytes;
        _mm_prefetch(reinterpret_cast<const char*>(q + kPrefetchBytes), _MM_HINT_T0);
        const __m512i bytes = _mm512_loadu_si512(q);
        Unroll<kDigits>(BITTERN_STEP(d) {
          const int8_t* a = acts[d.value] + (b * (kBlock / 4) + step) * stride;
          AddStep(bytes, a, a + field, a + 2 * field, a + 3 * field, &sums[d.value]);
        });
      }
      const FieldSums &high = sums[0], &low = sums[kDigits - 1];
      const int32_t* act_sums = g->act_sums + 2 * b;
      const float* act_scales = g->act_scales + 2 * b;
      total = AddGroup(total, SumOf<kDigits>(FirstGroup(high), FirstGroup(low), act_sums[0]),
                       scales, act_scales[0]);
      total = AddGroup(total, SumOf<kDigits>(SecondGroup(high), SecondGroup(low), act_sums[1]),
                       scales + second, act_scales[1]);
    }
    _mm512_storeu_ps(g->out + t * kRows, total);
  }
}

void GemvGrouped(const GroupedArgs* g) { g->low == nullptr ? GemvDigits<1>(g) : GemvDigits<2>(g); }

/// Decoded tiles times kTokens tokens, whose digits are vectors of their own. The sums of a group
/// and the rows' floats stay in registers. scales: of the tiles' first block.
template <size_t kTiles, size_t kTokens, size_t kDigits>
void MultiplyGrouped(const GroupedGemmArgs* g, const float* scales, const GroupedToken* tokens,
                     size_t first_row) {
  const uint8_t* codes = g->scratch;
  const size_t step = g->act_stride, second = (g->scales_per_block - 1) * kRows;
  const size_t scales_of_tile = g->num_blocks * g->scales_per_block * kRows;
  constexpr size_t kVectors = kTokens * kDigits;
  __m512 totals[kTokens][kTiles];
  const int8_t* acts[kVectors];
  size_t at = 0;  // in each of them
  Unroll<kTokens>(BITTERN_STEP(token) {
    acts[token.value * kDigits] = tokens[token.value].act;
    if constexpr (kDigits > 1) acts[token.value * kDigits + 1] = tokens[token.value].low;
    Unroll<kTiles>(BITTERN_STEP(t) { totals[token.value][t.value] = _mm512_setzero_ps(); });
  });
  for (size_t group = 0; group < 2 * g->num_blocks; ++group) {
    __m512i sums[kVectors][kTiles];
    Unroll<kVectors>(BITTERN_STEP(v) {
      Unroll<kTiles>(BITTERN_STEP(t) { sums[v.value][t.value] = _mm512_setzero_si512(); });
    });
    for (size_t i = 0; i < kGroupCols / 4; ++i, codes += kTiles * kStepBytes, at += step) {
      __m512i w[kTiles];
      Unroll<kTiles>(
          BITTERN_STEP(t) { w[t.value] = _mm512_loadu_si512(codes + t.value * kStepBytes); });
      Unroll<kVectors>(BITTERN_STEP(v) {
        const __m512i a = Broadcast4(acts[v.value] + at);
        Unroll<kTiles>(BITTERN_STEP(t) {
          __m512i& sum = sums[v.value][t.value];
          sum = _mm512_dpbusd_epi32(sum, w[t.value], a);
        });
      });
    }
    const float* of_group = scales + group / 2 * (kRows + second) + group % 2 * second;
    Unroll<kTokens>(BITTERN_STEP(token) {
      const GroupedToken& of = tokens[token.value];
      Unroll<kTiles>(BITTERN_STEP(t) {
        constexpr size_t kFirst = token.value * kDigits;
        const __m512i sum = SumOf<kDigits>(sums[kFirst][t.value],
                                           sums[kFirst + kDigits - 1][t.value], of.act_sums[group]);
        __m512& total = totals[token.value][t.value];
        total = AddGroup(total, sum, of_group + t.value * scales_of_tile, of.act_scales[group]);
      });
    });
  }
  Unroll<kTokens>(BITTERN_STEP(token) {
    Unroll<kTiles>(BITTERN_STEP(t) {
      _mm512_storeu_ps(tokens[token.value].out + first_row + t.value * kRows,
                       totals[token.value][t.value]);
    });
  });
}

using GroupedFn = void (*)(const GroupedGemmArgs*, const float*, const GroupedToken*, size_t);
constexpr size_t kGroupedTokens = 4;
template <size_t kTiles>
constexpr GroupedFn kMultiplyGrouped[kGroupedTokens] = {
    MultiplyGrouped<kTiles, 1, 1>, MultiplyGrouped<kTiles, 2, 1>, MultiplyGrouped<kTiles, 3, 1>,
    MultiplyGrouped<kTiles, 4, 1>};
template <size_t kTiles>
constexpr GroupedFn kMultiplyDigits[kGroupedTokens / 2] = {MultiplyGrouped<kTiles, 1, 2>,
                                                           MultiplyGrouped<kTiles, 2, 2>};

void GemmGrouped(const GroupedGemmArgs* g) {
  const bool digits = g->tokens[0].low != nullptr;
  const size_t at_once = digits ? kGroupedTokens / 2 : kGroupedTokens;
  for (size_t t = 0; t < g->num_tiles; t += kGemmTiles) {
    const size_t tiles = g->num_tiles - t < kGemmTiles ? 1 : kGemmTiles;
    const size_t block = t * g->num_blocks;
    Decode(g->tiles + block * kBlockBytes, tiles, g->num_blocks, g->scratch);
    const GroupedFn* of_one = digits ? kMultiplyDigits<1> : kMultiplyGrouped<1>;
    const GroupedFn* of_two = digits ? kMultiplyDigits<2> : kMultiplyGrouped<2>;
    for (size_t token = 0; token < g->num_tokens; token += at_once) {
      const size_t left = g->num_tokens - token;
      const size_t count = left < at_once ? left : at_once;
      const GroupedFn multiply = (tiles == 2 ? of_two : of_one)[count - 1];
      multiply(g, g->weight_scales + block * g->scales_per_block * kRows, g->tokens + token,
               t * kRows);
    }
  }
}

constexpr Tile16Ops kOps = {Gemv, Gemm, GemvGrouped, GemmGrouped};

}  // namespace

extern const KernelInfo k_tile16_avx512vnni;
const KernelInfo k_tile16_avx512vnni = {
    .name = "tile16_avx512vnni", .isa = Isa::avx512vnni, .tile16 = &kOps};

}  // namespace bittern::kernels
