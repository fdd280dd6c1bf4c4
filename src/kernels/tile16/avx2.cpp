// SPDX-License-Identifier: Apache-2.0
// Ternary gemv and gemm with AVX2. vpmaddubsw multiplies unsigned codes by signed activations and
// adds neighbours into int16; a 64-byte step of a tile is two halves of eight rows.
//
// Bound of the int16 sums: codes <= 3, activations >= -128, so one vpmaddubsw gives at most
// 2 * 3 * 128 = 768, and a block of 128 columns adds 32 of them: 24576 < 32767. Every block is
// widened to int32, so no row length overflows. Layout: quant/layouts/tile16.hpp.
#include <immintrin.h>

#include "kernels/kernel.h"
#include "kernels/unroll.inc"

namespace bittern::kernels {
namespace {

constexpr size_t kRows = 16, kSteps = 8, kStepBytes = 64, kBlockBytes = 512, kBlock = 128;
constexpr size_t kPrefetchBytes = 2048;

inline __m256i Load(const void* p) { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }
inline void Store(void* p, __m256i v) { _mm256_storeu_si256(static_cast<__m256i*>(p), v); }

inline __m256i Broadcast4(const int8_t* act) {
  int32_t word;
  __builtin_memcpy(&word, act, 4);
  return _mm256_set1_epi32(word);
}

/// Adds the int16 pairs of `narrow` into the int32 lanes of `wide`.
inline __m256i Widen(__m256i wide, __m256i narrow) {
  return _mm256_add_epi32(wide, _mm256_madd_epi16(narrow, _mm256_set1_epi16(1)));
}

inline __m256i AddProducts(__m256i narrow, __m256i codes, __m256i act) {
  return _mm256_add_epi16(narrow, _mm256_maddubs_epi16(codes, act));
}

/// One half step (32 bytes: eight rows) against its four groups of activations.
inline __m256i AddStep(__m256i narrow, __m256i bytes, __m256i top, __m256i second, __m256i third,
                       __m256i low) {
  const __m256i mask = _mm256_set1_epi8(3);
  narrow = AddProducts(narrow, _mm256_and_si256(_mm256_srli_epi16(bytes, 6), mask), top);
  narrow = AddProducts(narrow, _mm256_and_si256(_mm256_srli_epi16(bytes, 4), mask), second);
  narrow = AddProducts(narrow, _mm256_and_si256(_mm256_srli_epi16(bytes, 2), mask), third);
  return AddProducts(narrow, _mm256_and_si256(bytes, mask), low);
}

void GemvOne(const uint8_t* tiles, size_t num_tiles, size_t num_blocks, const int8_t* act,
             int32_t act_sum, int32_t* out) {
  const uint8_t* p = tiles;
  for (size_t t = 0; t < num_tiles; ++t) {
    __m256i first = _mm256_set1_epi32(-act_sum), last = first;  // rows 0-7 and 8-15
    for (size_t b = 0; b < num_blocks; ++b, p += kBlockBytes) {
      const int8_t* a = act + b * kBlock;
      __m256i first16 = _mm256_setzero_si256(), last16 = first16;
      for (size_t step = 0; step < kSteps; ++step) {
        const uint8_t* q = p + step * kStepBytes;
        _mm_prefetch(reinterpret_cast<const char*>(q + kPrefetchBytes), _MM_HINT_T0);
        const __m256i top = Broadcast4(a + 4 * step), second = Broadcast4(a + 4 * step + 32),
                      third = Broadcast4(a + 4 * step + 64), low = Broadcast4(a + 4 * step + 96);
        first16 = AddStep(first16, Load(q), top, second, third, low);
        last16 = AddStep(last16, Load(q + 32), top, second, third, low);
      }
      first = Widen(first, first16);
      last = Widen(last, last16);
    }
    Store(out + t * kRows, first);
    Store(out + t * kRows + 8, last);
  }
}

/// Multiplies one field of a step by four activations of each of kTokens vectors. bytes: the step's
/// 64, rows 0-7 and rows 8-15. A weight is unpacked once for all vectors, and a broadcast serves
/// all sixteen rows. at: where the activations lie in each vector.
template <size_t kTokens, int kShift>
[[gnu::always_inline]] inline void AddField(const __m256i bytes[2], const int8_t* const* acts,
                                            size_t at, __m256i narrow[kTokens][2]) {
  const __m256i mask = _mm256_set1_epi8(3);
  const __m256i first = _mm256_and_si256(_mm256_srli_epi16(bytes[0], kShift), mask);
  const __m256i last = _mm256_and_si256(_mm256_srli_epi16(bytes[1], kShift), mask);
  Unroll<kTokens>(BITTERN_STEP(token) {
    const __m256i act = Broadcast4(acts[token.value] + at);
    __m256i* sums = narrow[token.value];
    sums[0] = AddProducts(sums[0], first, act);
    sums[1] = AddProducts(sums[1], last, act);
    asm("" : "+x"(sums[0]), "+x"(sums[1]));  // gcc 12 adds in another order and spills sums else
  });
}

/// Vectors, whose groups of four activations lie kStride bytes apart, and where their sums go.
template <size_t kTokens, size_t kStride>
struct Vectors {
  const int8_t* acts[kTokens];
  const int32_t* act_sums;
  int32_t* out;
  size_t out_stride;
};

/// One tile times kTokens vectors. Eight int16 sums, two registers of weights, two of codes, a
/// broadcast and a product are what sixteen registers hold, so the int32 sums stay in memory.
template <size_t kTokens, size_t kStride>
void MultiplyTile(const uint8_t* tile, size_t num_blocks,
                  const Vectors<kTokens, kStride>& vectors) {
  const int8_t* const* acts = vectors.acts;
  const int32_t* act_sums = vectors.act_sums;
  int32_t* out = vectors.out;
  const size_t out_stride = vectors.out_stride;
  Unroll<kTokens>(BITTERN_STEP(token) {
    const __m256i start = _mm256_set1_epi32(-act_sums[token.value]);
    Store(out + token.value * out_stride, start);
    Store(out + token.value * out_stride + 8, start);
  });
  for (size_t b = 0; b < num_blocks; ++b, tile += kBlockBytes) {
    __m256i narrow[kTokens][2];
    Unroll<kTokens>(BITTERN_STEP(token) {
      narrow[token.value][0] = narrow[token.value][1] = _mm256_setzero_si256();
    });
    for (size_t step = 0; step < kSteps; ++step) {
      const uint8_t* q = tile + step * kStepBytes;
      _mm_prefetch(reinterpret_cast<const char*>(q + kPrefetchBytes), _MM_HINT_T0);
      const __m256i bytes[2] = {Load(q), Load(q + 32)};
      const size_t at = (b * (kBlock / 4) + step) * kStride;
      Unroll<4>(BITTERN_STEP(field) {
        constexpr int kShift = 6 - 2 * static_cast<int>(field.value);
        AddField<kTokens, kShift>(bytes, acts, at + field.value * kSteps * kStride, narrow);
      });
    }
    Unroll<kTokens>(BITTERN_STEP(token) {
      int32_t* sums = out + token.value * out_stride;
      Store(sums, Widen(Load(sums), narrow[token.value][0]));
      Store(sums + 8, Widen(Load(sums + 8), narrow[token.value][1]));
    });
  }
}

/// One tile times kTokens vectors, rows of their own; out: of the first of them.
template <size_t kTokens>
void MultiplyFew(const FewArgs& args, const uint8_t* tile, size_t first_token, int32_t* out) {
  Vectors<kTokens, 4> vectors = {{}, args.act_sums + first_token, out, args.out_stride};
  Unroll<kTokens>(BITTERN_STEP(token) {
    vectors.acts[token.value] = args.acts + (first_token + token.value) * args.act_stride;
  });
  MultiplyTile(tile, args.num_blocks, vectors);
}

}  // namespace
}  // namespace bittern::kernels

#include "kernels/tile16/few.inc"

namespace bittern::kernels {
namespace {

/// One tile times kTokens neighbours of a panel.
template <size_t kTokens>
void Multiply(const uint8_t* tile, size_t num_blocks, const int8_t* panel, const int32_t* act_sums,
              int32_t* out, size_t out_stride) {
  Vectors<kTokens, 4 * kPanelTokens> vectors = {{}, act_sums, out, out_stride};
  Unroll<kTokens>(BITTERN_STEP(token) { vectors.acts[token.value] = panel + token.value * 4; });
  MultiplyTile(tile, num_blocks, vectors);
}

using MultiplyFn = void (*)(const uint8_t*, size_t, const int8_t*, const int32_t*, int32_t*,
                            size_t);
constexpr size_t kTokensAtOnce = 4;
constexpr MultiplyFn kMultiply[kTokensAtOnce] = {Multiply<1>, Multiply<2>, Multiply<3>,
                                                 Multiply<4>};

/// A tile is unpacked in registers, again for every four tokens: spread into bytes in memory it
/// would leave the first-level cache (docs/performance-log.md, "A few sequences").
void Gemm(const uint8_t* tiles, size_t num_tiles, size_t num_blocks, const int8_t* panels,
          const int32_t* act_sums, size_t num_tokens, int32_t* out, size_t out_stride,
          uint8_t* /*scratch*/) {
  for (size_t t = 0; t < num_tiles; ++t) {
    const uint8_t* tile = tiles + t * num_blocks * kBlockBytes;
    for (size_t token = 0; token < num_tokens; token += kTokensAtOnce) {
      const size_t left = num_tokens - token;
      const size_t count = left < kTokensAtOnce ? left : kTokensAtOnce;
      const int8_t* panel = panels + token / kPanelTokens * kPanelTokens * num_blocks * kBlock +
                            token % kPanelTokens * 4;
      kMultiply[count - 1](tile, num_blocks, panel, act_sums + token,
                           out + token * out_stride + t * kRows, out_stride);
    }
  }
}

/// Joins the sums of a vector's digits over a group, for half of the rows.
template <size_t kDigits>
inline __m256i SumOf(const __m256i (*digits)[2], size_t half, int32_t act_sum) {
  const __m256i sum = Widen(_mm256_set1_epi32(-act_sum), digits[kDigits - 1][half]);
  if constexpr (kDigits == 1) return sum;
  return _mm256_add_epi32(
      sum, _mm256_madd_epi16(digits[0][half], _mm256_set1_epi16(int16_t{kDigitBase})));
}

/// Adds a group's sums, scaled, to eight rows' floats: in two products and a sum, none fused.
inline __m256 AddGroup(__m256 total, __m256i sum, const float* weight_scales, float act_scale) {
  const __m256 scaled =
      _mm256_mul_ps(_mm256_mul_ps(_mm256_cvtepi32_ps(sum), _mm256_loadu_ps(weight_scales)),
                    _mm256_set1_ps(act_scale));
  return _mm256_add_ps(total, scaled);
}

/// A block times the digits of a vector: narrow[group][digit][half of the rows]. at: where the
/// block's activations lie in each of them.
template <size_t kDigits>
[[gnu::always_inline]] inline void AddBlock(const uint8_t* block, const int8_t* const* acts,
                                            size_t at, size_t stride,
                                            __m256i narrow[2][kDigits][2]) {
  Unroll<kDigits>(BITTERN_STEP(d) {
    narrow[0][d.value][0] = narrow[0][d.value][1] = _mm256_setzero_si256();
    narrow[1][d.value][0] = narrow[1][d.value][1] = _mm256_setzero_si256();
  });
  for (size_t step = 0; step < kSteps; ++step, at += stride) {
    const uint8_t* q = block + step * kStepBytes;
    _mm_prefetch(reinterpret_cast<const char*>(q + kPrefetchBytes), _MM_HINT_T0);
    const __m256i bytes[2] = {Load(q), Load(q + 32)};
    Unroll<4>(BITTERN_STEP(field) {
      constexpr int kShift = 6 - 2 * static_cast<int>(field.value);
      AddField<kDigits, kShift>(bytes, acts, at + field.value * kSteps * stride,
                                narrow[field.value / 2]);
    });
  }
}

/// One vector. Weights are unpacked once for all of its digits, and a broadcast serves sixteen
/// rows: the sums of a block fill half of the registers.
template <size_t kDigits>
void GemvDigits(const GroupedArgs* g) {
  const size_t stride = g->act_stride, second = (g->scales_per_block - 1) * kRows;
  const int8_t* const acts[2] = {g->act, g->low};
  const uint8_t* p = g->tiles;
  const float* scales = g->weight_scales;
  for (size_t t = 0; t < g->num_tiles; ++t) {
    __m256 totals[2] = {_mm256_setzero_ps(), _mm256_setzero_ps()};
    for (size_t b = 0; b < g->num_blocks; ++b, p += kBlockBytes, scales += kRows + second) {
      __m256i narrow[2][kDigits][2];
      AddBlock<kDigits>(p, acts, b * (kBlock / 4) * stride, stride, narrow);
      Unroll<4>(BITTERN_STEP(i) {
        constexpr size_t kGroup = i.value / 2, kHalf = i.value % 2;
        const size_t group = 2 * b + kGroup;
        const __m256i sum = SumOf<kDigits>(narrow[kGroup], kHalf, g->act_sums[group]);
        totals[kHalf] = AddGroup(totals[kHalf], sum, scales + kGroup * second + 8 * kHalf,
                                 g->act_scales[group]);
      });
    }
    _mm256_storeu_ps(g->out + t * kRows, totals[0]);
    _mm256_storeu_ps(g->out + t * kRows + 8, totals[1]);
  }
}

void GemvGrouped(const GroupedArgs* g) { g->low == nullptr ? GemvDigits<1>(g) : GemvDigits<2>(g); }

/// Adds block b of a tile times kTokens tokens. The block's two groups take turns, because the sums
/// of one fill the registers as in MultiplyTile. The rows' floats stay in memory. scales: of the
/// first group; those of the second group are `second` further. acts: each token's digits in turn.
template <size_t kTokens, size_t kDigits>
inline void AddBlockGrouped(const GroupedGemmArgs* g, const uint8_t* tile, size_t b,
                            const int8_t* const* acts, const float* scales, size_t second,
                            const GroupedToken* tokens, size_t first_row) {
  const size_t stride = g->act_stride;
  Unroll<2>(BITTERN_STEP(group) {
    constexpr int kShift = 6 - 4 * static_cast<int>(group.value);
    __m256i narrow[kTokens * kDigits][2];
    Unroll<kTokens * kDigits>(
        BITTERN_STEP(v) { narrow[v.value][0] = narrow[v.value][1] = _mm256_setzero_si256(); });
    size_t at = (b * (kBlock / 4) + 2 * group.value * kSteps) * stride;
    for (size_t step = 0; step < kSteps; ++step, at += stride) {
      const uint8_t* q = tile + step * kStepBytes;
      _mm_prefetch(reinterpret_cast<const char*>(q + kPrefetchBytes), _MM_HINT_T0);
      const __m256i bytes[2] = {Load(q), Load(q + 32)};
      AddField<kTokens * kDigits, kShift>(bytes, acts, at, narrow);
      AddField<kTokens * kDigits, kShift - 2>(bytes, acts, at + kSteps * stride, narrow);
    }
    Unroll<kTokens>(BITTERN_STEP(token) {
      const GroupedToken& of = tokens[token.value];
      Unroll<2>(BITTERN_STEP(half) {
        float* out = of.out + first_row + 8 * half.value;
        const float* of_rows = scales + group.value * second + 8 * half.value;
        const size_t i = 2 * b + group.value;
        const __m256i sum =
            SumOf<kDigits>(narrow + token.value * kDigits, half.value, of.act_sums[i]);
        _mm256_storeu_ps(out, AddGroup(_mm256_loadu_ps(out), sum, of_rows, of.act_scales[i]));
      });
    });
  });
}

/// One tile times kTokens tokens, whose digits are vectors of their own. scales: of its first
/// block.
template <size_t kTokens, size_t kDigits>
void MultiplyGrouped(const GroupedGemmArgs* g, const uint8_t* tile, const float* scales,
                     const GroupedToken* tokens, size_t first_row) {
  const size_t second = (g->scales_per_block - 1) * kRows;
  const int8_t* acts[kTokens * kDigits];
  Unroll<kTokens>(BITTERN_STEP(token) {
    acts[token.value * kDigits] = tokens[token.value].act;
    if constexpr (kDigits > 1) acts[token.value * kDigits + 1] = tokens[token.value].low;
    float* out = tokens[token.value].out + first_row;
    _mm256_storeu_ps(out, _mm256_setzero_ps());
    _mm256_storeu_ps(out + 8, _mm256_setzero_ps());
  });
  for (size_t b = 0; b < g->num_blocks; ++b, tile += kBlockBytes, scales += kRows + second) {
    AddBlockGrouped<kTokens, kDigits>(g, tile, b, acts, scales, second, tokens, first_row);
  }
}

using GroupedFn = void (*)(const GroupedGemmArgs*, const uint8_t*, const float*,
                           const GroupedToken*, size_t);
constexpr GroupedFn kMultiplyGrouped[kTokensAtOnce] = {
    MultiplyGrouped<1, 1>, MultiplyGrouped<2, 1>, MultiplyGrouped<3, 1>, MultiplyGrouped<4, 1>};
constexpr GroupedFn kMultiplyDigits[kTokensAtOnce / 2] = {MultiplyGrouped<1, 2>,
                                                          MultiplyGrouped<2, 2>};

void GemmGrouped(const GroupedGemmArgs* g) {
  const bool digits = g->tokens[0].low != nullptr;
  const size_t at_once = digits ? kTokensAtOnce / 2 : kTokensAtOnce;
  const GroupedFn* multiply = digits ? kMultiplyDigits : kMultiplyGrouped;
  for (size_t t = 0; t < g->num_tiles; ++t) {
    const size_t block = t * g->num_blocks;
    for (size_t token = 0; token < g->num_tokens; token += at_once) {
      const size_t left = g->num_tokens - token;
      multiply[(left < at_once ? left : at_once) - 1](
          g, g->tiles + block * kBlockBytes, g->weight_scales + block * g->scales_per_block * kRows,
          g->tokens + token, t * kRows);
    }
  }
}

constexpr Tile16Ops kOps = {Gemv, Gemm, GemvGrouped, GemmGrouped};

}  // namespace

extern const KernelInfo k_tile16_avx2;
const KernelInfo k_tile16_avx2 = {.name = "tile16_avx2", .isa = Isa::avx2, .tile16 = &kOps};

}  // namespace bittern::kernels
