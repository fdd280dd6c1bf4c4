// SPDX-License-Identifier: Apache-2.0
// Ternary gemv from three weights in five bits, with AVX2. Layout: quant/layouts/tile48.hpp. A
// shuffle turns thirty-two pairs into triples of codes; a subtraction negates those under a sign.
#include <immintrin.h>

#include "kernels/kernel.h"
#include "kernels/tile48/triples.inc"
#include "kernels/unroll.inc"

namespace bittern::kernels {
namespace {

constexpr size_t kHalf = 32, kLine = 64, kPrefetchBytes = 2048;

inline __m256i Bytes(int value) { return _mm256_set1_epi8(static_cast<char>(value)); }
inline __m256i Load(const uint8_t* p) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
}

/// Bits of `high` where `mask` has ones, else of `low`.
inline __m256i Merge(__m256i high, __m256i low, int mask) {
  return _mm256_or_si256(_mm256_and_si256(high, Bytes(mask)),
                         _mm256_andnot_si256(Bytes(mask), low));
}

/// Indices of the triples of half a group's lines, in bits 4-0 of every byte; the bits above are
/// anything.
template <size_t kGroup>
inline __m256i IndicesOf(const uint8_t* unit) {
  const auto line = [unit](size_t n) { return Load(unit + n * kLine); };
  if constexpr (kGroup < 5) {
    return line(kGroup);
  } else if constexpr (kGroup < 7) {
    constexpr size_t kFirst = 2 * (kGroup - 5);
    return Merge(_mm256_srli_epi16(line(kFirst), 5), _mm256_srli_epi16(line(kFirst + 1), 2), 0x07);
  } else {
    const __m256i top = Merge(line(1), _mm256_srli_epi16(line(3), 1), 0x80);
    return Merge(_mm256_srli_epi16(line(4), 5), _mm256_srli_epi16(top, 3), 0x07);
  }
}

/// Codes of the three weights in every byte. blendv looks at bit 7, where bit 4 is put.
template <size_t kGroup>
inline __m256i TriplesOf(const uint8_t* unit) {
  const __m256i table =
      _mm256_broadcastsi128_si256(_mm_load_si128(reinterpret_cast<const __m128i*>(kTriples)));
  const __m256i indices = IndicesOf<kGroup>(unit);
  const __m256i triples = _mm256_shuffle_epi8(table, _mm256_and_si256(indices, Bytes(0x0f)));
  return _mm256_blendv_epi8(triples, _mm256_sub_epi8(Bytes(kNegateFrom), triples),
                            _mm256_slli_epi16(indices, 3));
}

/// Products of the first, second (four times) and third weights with a unit's activations, two
/// int16 for each of eight rows. Bound: a unit adds eight times two products of at most
/// 4 * 2 * 128, so 16384 < 32768.
struct Narrow {
  __m256i weight[3] = {};
};
inline void AddFour(__m256i triples, const int8_t* act, Narrow* sums) {
  int32_t word;
  __builtin_memcpy(&word, act, sizeof word);
  const __m256i four = _mm256_set1_epi32(word);
  const __m256i code = Bytes(0x03);
  const __m256i codes[3] = {_mm256_and_si256(triples, code), _mm256_and_si256(triples, Bytes(0x0c)),
                            _mm256_and_si256(_mm256_srli_epi16(triples, 4), code)};
  Unroll<3>(BITTERN_STEP(i) {
    __m256i& sum = sums->weight[i.value];
    sum = _mm256_add_epi16(sum, _mm256_maddubs_epi16(codes[i.value], four));
  });
}

/// Adds half a unit, eight rows of each weight, to their sums. stride: bytes between groups of four
/// activations.
inline void AddHalf(const uint8_t* unit, const int8_t* act, size_t stride, __m256i sums[3]) {
  Narrow narrow;
  Unroll<kGroups>(BITTERN_STEP(group) {
    AddFour(TriplesOf<group.value>(unit), act + stride * group.value, &narrow);
  });
  Unroll<3>(BITTERN_STEP(i) {
    const __m256i wide = _mm256_madd_epi16(narrow.weight[i.value], _mm256_set1_epi16(1));
    sums[i.value] = _mm256_add_epi32(sums[i.value], wide);
  });
}

/// One token, one tile.
void GemvTile(const uint8_t* unit, size_t num_blocks, const int8_t* act, int32_t act_sum,
              int32_t* out) {
  __m256i sums[2][3] = {};
  for (size_t u = 0; u < num_blocks * kUnits; ++u, unit += kUnitBytes) {
    Unroll<5>(BITTERN_STEP(n) { __builtin_prefetch(unit + kPrefetchBytes + n.value * kLine); });
    AddHalf(unit, act + u * kUnitCols, 4, sums[0]);
    AddHalf(unit + kHalf, act + u * kUnitCols, 4, sums[1]);
  }
  Unroll<6>(BITTERN_STEP(i) {
    constexpr size_t kHalfOf = i.value / 3, kWeight = i.value % 3;
    __m256i sum = sums[kHalfOf][kWeight];
    if (kWeight == 1) sum = _mm256_srai_epi32(sum, 2);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + 16 * kWeight + 8 * kHalfOf),
                        _mm256_sub_epi32(sum, _mm256_set1_epi32(act_sum)));
  });
}

void Gemv(const FewArgs* args) {
  const size_t tile_bytes = args->num_blocks * kUnits * kUnitBytes;
  for (size_t t = 0; t < args->num_tiles; ++t) {  // a tile stays in cache for all tokens
    for (size_t token = 0; token < args->num_tokens; ++token) {
      GemvTile(args->tiles + t * tile_bytes, args->num_blocks,
               args->acts + token * args->act_stride, args->act_sums[token],
               args->out + token * args->out_stride + t * kTripleRows);
    }
  }
}

/// Weight kWeight (0..2) of triples in the field that begins at bit kTo of a byte.
template <int kWeight, int kTo>
inline __m256i Field(__m256i triples) {
  constexpr int kFrom = 2 * kWeight;
  const __m256i code = _mm256_and_si256(triples, Bytes(3 << kFrom));
  if constexpr (kTo > kFrom) return _mm256_slli_epi16(code, kTo - kFrom);
  return _mm256_srli_epi16(code, kFrom > kTo ? kFrom - kTo : 0);
}

/// The triples of the four units of a block meet in a step of Tile16, one in each field.
inline void StoreStep(const __m256i of_unit[4], uint8_t* out, size_t tile16_bytes) {
  Unroll<3>(BITTERN_STEP(row) {
    constexpr int kWeight = static_cast<int>(row.value);
    const __m256i high =
        _mm256_or_si256(Field<kWeight, 6>(of_unit[0]), Field<kWeight, 4>(of_unit[1]));
    const __m256i low =
        _mm256_or_si256(Field<kWeight, 2>(of_unit[2]), Field<kWeight, 0>(of_unit[3]));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + row.value * tile16_bytes),
                        _mm256_or_si256(high, low));
  });
}

void ToTile16(const uint8_t* tile, size_t num_blocks, uint8_t* tiles16) {
  const size_t tile16_bytes = num_blocks * kBlock16Bytes;
  for (size_t b = 0; b < num_blocks; ++b) {
    for (size_t half = 0; half < kLine; half += kHalf) {
      Unroll<kGroups>(BITTERN_STEP(group) {
        __m256i triples[kUnits];
        Unroll<kUnits>(BITTERN_STEP(u) {
          const uint8_t* unit = tile + (b * kUnits + u.value) * kUnitBytes + half;
          triples[u.value] = TriplesOf<group.value>(unit);
        });
        StoreStep(triples, tiles16 + b * kBlock16Bytes + group.value * kLine + half, tile16_bytes);
      });
    }
  }
}

/// Eight rows of each third of a tile times one vector, group after group. scales: of the first of
/// them.
template <size_t kDigits>
void GroupedHalf(const GroupedGemmArgs* g, const GroupedToken& token, const uint8_t* unit,
                 const float* scales, float* out) {
  const size_t third_scales = g->num_blocks * g->scales_per_block * kThirdRows;
  const int8_t* const acts[2] = {token.act, token.low};
  size_t at = 0;  // in each of them
  __m256 totals[3] = {};
  for (size_t group = 0; group < 2 * g->num_blocks; ++group) {
    __m256i digits[kDigits][3] = {};
    for (size_t u = 0; u < kGroupUnits; ++u, unit += kUnitBytes, at += kGroups * g->act_stride) {
      __builtin_prefetch(unit + kPrefetchBytes);
      Unroll<kDigits>(
          BITTERN_STEP(d) { AddHalf(unit, acts[d.value] + at, g->act_stride, digits[d.value]); });
    }
    __m256i sums[3];
    Unroll<3>(BITTERN_STEP(third) {
      constexpr int kShift = third.value == 1 ? 2 : 0;
      sums[third.value] = _mm256_srai_epi32(digits[kDigits - 1][third.value], kShift);
      if constexpr (kDigits > 1) {
        const __m256i high = _mm256_srai_epi32(digits[0][third.value], kShift);
        sums[third.value] = _mm256_add_epi32(
            sums[third.value], _mm256_mullo_epi32(high, _mm256_set1_epi32(kDigitBase)));
      }
    });
    const size_t scale = group / 2 * g->scales_per_block + group % 2 * (g->scales_per_block - 1);
    Unroll<3>(BITTERN_STEP(third) {
      const __m256i sum =
          _mm256_sub_epi32(sums[third.value], _mm256_set1_epi32(token.act_sums[group]));
      const __m256 weight_scale =
          _mm256_loadu_ps(scales + third.value * third_scales + scale * kThirdRows);
      const __m256 scaled = _mm256_mul_ps(_mm256_mul_ps(_mm256_cvtepi32_ps(sum), weight_scale),
                                          _mm256_set1_ps(token.act_scales[group]));
      totals[third.value] = _mm256_add_ps(totals[third.value], scaled);
    });
  }
  Unroll<3>(BITTERN_STEP(third) {
    _mm256_storeu_ps(out + third.value * kThirdRows, totals[third.value]);
  });
}

void GemmGrouped(const GroupedGemmArgs* g) {
  const size_t tile_bytes = g->num_blocks * kUnits * kUnitBytes;
  const size_t tile_scales = g->num_blocks * g->scales_per_block * kTripleRows;
  const auto multiply = g->tokens[0].low == nullptr ? GroupedHalf<1> : GroupedHalf<2>;
  for (size_t t = 0; t < g->num_tiles; ++t) {
    for (size_t i = 0; i < g->num_tokens; ++i) {
      for (size_t half = 0; half < 2; ++half) {
        multiply(g, g->tokens[i], g->tiles + t * tile_bytes + half * kHalf,
                 g->weight_scales + t * tile_scales + half * 8,
                 g->tokens[i].out + t * kTripleRows + half * 8);
      }
    }
  }
}

constexpr Tile48Ops kOps = {Gemv, ToTile16, GemmGrouped, 2};

}  // namespace

extern const KernelInfo k_tile48_avx2;
const KernelInfo k_tile48_avx2 = {.name = "tile48_avx2", .isa = Isa::avx2, .tile48 = &kOps};

}  // namespace bittern::kernels
