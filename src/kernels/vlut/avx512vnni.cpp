// SPDX-License-Identifier: Apache-2.0
// Tables across tokens (vlut/tables.inc) with AVX-512: 32 tokens are one register, sixteen are half
// of one. Lookups are limited by loads and vpdpbusd by the multiplier, so some of the rows are
// taken by tables and the others by products, a few instructions of each in turn: a core then does
// both at the same time.
#include <immintrin.h>

#include "kernels/kernel.h"
#include "kernels/unroll.inc"
#include "kernels/vlut/x86_256.inc"

namespace bittern::kernels {
namespace {

struct Lanes32 {
  static constexpr size_t kLanes = 32;
  __m512i v;
};

template <>
inline Lanes32 Zero<Lanes32>() {
  return {_mm512_setzero_si512()};
}
template <>
inline Lanes32 Load<Lanes32>(const void* p) {
  return {_mm512_loadu_si512(p)};
}
inline void Store(void* p, Lanes32 x) { _mm512_storeu_si512(p, x.v); }
inline Lanes32 Add(Lanes32 x, Lanes32 y) { return {_mm512_add_epi16(x.v, y.v)}; }
inline Lanes32 Sub(Lanes32 x, Lanes32 y) { return {_mm512_sub_epi16(x.v, y.v)}; }

inline void AddTo(int32_t* sums, Lanes32 x) {
  const __m512i low = _mm512_cvtepi16_epi32(_mm512_castsi512_si256(x.v));
  const __m512i high = _mm512_cvtepi16_epi32(_mm512_extracti64x4_epi64(x.v, 1));
  _mm512_storeu_si512(sums, _mm512_add_epi32(_mm512_loadu_si512(sums), low));
  _mm512_storeu_si512(sums + 16, _mm512_add_epi32(_mm512_loadu_si512(sums + 16), high));
}

inline void AddScaled(float* totals, __m256i sums, __m512 scale, const float* scales) {
  const __m512 scaled =
      _mm512_mul_ps(_mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_cvtepi16_epi32(sums)), scale),
                    _mm512_loadu_ps(scales));
  _mm512_storeu_ps(totals, _mm512_add_ps(_mm512_loadu_ps(totals), scaled));
}
inline void AddScaled(float* totals, Lanes32 sums, float scale, const float* scales) {
  const __m512 of_row = _mm512_set1_ps(scale);
  AddScaled(totals, _mm512_castsi512_si256(sums.v), of_row, scales);
  AddScaled(totals + 16, _mm512_extracti64x4_epi64(sums.v, 1), of_row, scales + 16);
}

inline __m512i Joined(Lanes32 v) {
  return _mm512_madd_epi16(v.v, _mm512_set1_epi32(1 << 16 | kDigitBase));
}
inline Lanes32 JoinLanes(Lanes32 a, Lanes32 b) {
  const __m512i order = _mm512_set_epi64(7, 5, 3, 1, 6, 4, 2, 0);
  return {_mm512_permutexvar_epi64(order, _mm512_packs_epi32(Joined(a), Joined(b)))};
}
inline void AddJoined(float* totals, Lanes32 sums, float scale, const float* scales) {
  const __m512 scaled =
      _mm512_mul_ps(_mm512_mul_ps(_mm512_cvtepi32_ps(Joined(sums)), _mm512_set1_ps(scale)),
                    _mm512_loadu_ps(scales));
  _mm512_storeu_ps(totals, _mm512_add_ps(_mm512_loadu_ps(totals), scaled));
}

inline __m512i TwoPanels(const int8_t* first, const int8_t* second) {
  return _mm512_inserti64x4(_mm512_castsi256_si512(Load<Lanes16>(first).v), Load<Lanes16>(second).v,
                            1);
}

/// As Column of sixteen lanes.
template <int kByte>
inline Lanes32 Column(__m512i first, __m512i second) {
  const auto extend = [](__m512i x) {
    return _mm512_srai_epi32(_mm512_slli_epi32(x, 24 - 8 * kByte), 24);
  };
  const __m512i order = _mm512_set_epi64(7, 5, 3, 1, 6, 4, 2, 0);
  return {_mm512_permutexvar_epi64(order, _mm512_packs_epi32(extend(first), extend(second)))};
}

inline void LoadColumns(const int8_t* const* panels, size_t offset, Lanes32 (&columns)[4]) {
  const __m512i first = TwoPanels(panels[0] + offset, panels[1] + offset);
  const __m512i second = TwoPanels(panels[2] + offset, panels[3] + offset);
  columns[0] = Column<0>(first, second);
  columns[1] = Column<1>(first, second);
  columns[2] = Column<2>(first, second);
  columns[3] = Column<3>(first, second);
}

}  // namespace
}  // namespace bittern::kernels

#include "kernels/vlut/tables.inc"
// after that
#include "kernels/vlut/grouped.inc"

namespace bittern::kernels {
namespace {

constexpr size_t kPair = 2;  // tiles that share the broadcast of an activation
// Rows by tables beside the 16 products of a pair and four columns. A row takes about 8 cycles and
// the products 16 without the other, which is the ratio at which both end together.
constexpr size_t kRowsBeside = 2;
constexpr size_t kUnitSums = kPair * kRows * kPanelTokens;

inline __m512i Broadcast4(const int8_t* act) {
  int32_t word;
  __builtin_memcpy(&word, act, 4);
  return _mm512_set1_epi32(word);
}

/// Bits 6 - 2 * kField and up of every byte: codes 0..2.
template <size_t kField>
inline __m512i Codes(__m512i bytes) {
  const __m512i field = kField == 3 ? bytes : _mm512_srli_epi16(bytes, 6 - 2 * kField);
  return _mm512_and_si512(field, _mm512_set1_epi8(3));
}

/// Rows by products, beside rows by tables. The work is cut into units: a pair of tiles times a
/// panel of tokens. Unit u is pair u / num_panels and panel u % num_panels. Every phase takes its
/// share of the units, one block of each.
class Products {
 public:
  /// args: of these rows. sums: int32[units][kUnitSums].
  Products(const VlutArgs& args, int32_t* sums)
      : args_(args),
        panels_(args),
        sums_(sums),
        num_panels_((args.num_tokens + kPanelTokens - 1) / kPanelTokens),
        num_units_(args.num_tiles / kPair * num_panels_) {
    // A code is a weight plus 1, so the sums begin with minus the sum of the activations.
    for (size_t panel = 0; panel < num_panels_ && num_units_ > 0; ++panel) {
      alignas(32) int32_t act_sums[kPanelTokens];
      SumPanel(panels_.of[panel], act_sums);
      for (size_t unit = panel; unit < num_units_; unit += num_panels_) {
        int32_t* of_unit = sums_ + unit * kUnitSums;
        for (size_t i = 0; i < kUnitSums; ++i) of_unit[i] = -act_sums[i / (kPair * kRows)];
      }
    }
  }

  template <class Rows>
  Rows Run(PhasePlace place, Rows rows) {
    const size_t end = num_units_ * (place.index + 1) / place.count;
    for (size_t unit = num_units_ * place.index / place.count; unit < end; ++unit) {
      constexpr size_t kRowsOfUnit = kSteps * 4 * kRowsBeside;
      if (rows.left < kRowsOfUnit) {
        RunUnit<0>(place.block, unit, rows);
      } else {
        rows = RunUnit<kRowsBeside>(place.block, unit, rows);
        rows.left -= kRowsOfUnit;
      }
    }
    return rows;
  }

  void Store() const {
    constexpr size_t kRowsOfPair = kPair * kRows;
    for (size_t unit = 0; unit < num_units_; ++unit) {
      const size_t first = unit % num_panels_ * kPanelTokens;
      for (size_t i = 0; i < kPanelTokens && first + i < args_.num_tokens; ++i) {
        __builtin_memcpy(
            args_.out + (first + i) * args_.out_stride + unit / num_panels_ * kRowsOfPair,
            sums_ + unit * kUnitSums + i * kRowsOfPair, kRowsOfPair * sizeof(int32_t));
      }
    }
  }

 private:
  void SumPanel(const int8_t* panel, int32_t* act_sums) const {
    __m256i sum = _mm256_setzero_si256();
    for (size_t quad = 0; quad < args_.num_blocks * (kBlock / 4); ++quad) {
      sum = _mm256_dpbusd_epi32(sum, _mm256_set1_epi8(1),
                                Load<Lanes16>(panel + quad * 4 * kPanelTokens).v);
    }
    _mm256_store_si256(reinterpret_cast<__m256i*>(act_sums), sum);
  }

  /// A block of a unit, and kBeside rows by tables beside every 16 products.
  /// Inline, so that the place in the rows stays in registers.
  template <size_t kBeside, class Rows>
  [[gnu::always_inline]] inline Rows RunUnit(size_t block, size_t unit, Rows rows) {
    const size_t tile_bytes = args_.num_blocks * kBlockBytes;
    const uint8_t* bytes =
        args_.tiles + unit / num_panels_ * kPair * tile_bytes + block * kBlockBytes;
    const int8_t* act = panels_.of[unit % num_panels_] + block * kBlock * kPanelTokens;
    int32_t* kept = sums_ + unit * kUnitSums;
    __m512i sums[kPanelTokens][kPair];
    Unroll<kPanelTokens * kPair>(BITTERN_STEP(i) {
      sums[i.value / kPair][i.value % kPair] = _mm512_loadu_si512(kept + i.value * kRows);
    });
    for (size_t step = 0; step < kSteps; ++step, bytes += kStepBytes, act += 4 * kPanelTokens) {
      const __m512i first = _mm512_loadu_si512(bytes);
      const __m512i second = _mm512_loadu_si512(bytes + tile_bytes);
      Unroll<4>(BITTERN_STEP(field) {
        const __m512i codes[kPair] = {Codes<field.value>(first), Codes<field.value>(second)};
        const int8_t* quad = act + field.value * kSteps * 4 * kPanelTokens;
        Unroll<kPanelTokens>(BITTERN_STEP(token) {
          const __m512i a = Broadcast4(quad + 4 * token.value);
          Unroll<kPair>(BITTERN_STEP(t) {
            __m512i& sum = sums[token.value][t.value];
            sum = _mm512_dpbusd_epi32(sum, codes[t.value], a);
          });
        });
        Unroll<kBeside>(BITTERN_STEP(row) {
          static_cast<void>(row);
          rows.Next();
        });
      });
    }
    Unroll<kPanelTokens * kPair>(BITTERN_STEP(i) {
      _mm512_storeu_si512(kept + i.value * kRows, sums[i.value / kPair][i.value % kPair]);
    });
    return rows;
  }

  const VlutArgs args_;
  const Panels<kVlutTokens / kPanelTokens> panels_;
  int32_t* sums_;
  size_t num_panels_, num_units_;
};

/// How many of `tiles` are taken by products, so that every unit finds its rows beside it:
/// 16 (tiles - n) rows by tables = kRowsBeside * 32 rows * (n / 2 * panels / phases) units.
inline size_t TilesByProducts(size_t tiles, size_t panels, size_t together) {
  const size_t per_tile = kRowsBeside * 16 * panels * together / kSteps;
  return tiles * kRows / (per_tile + kRows) / kPair * kPair;
}

template <class V, size_t kTogether>
void MultiplyBoth(const VlutArgs& args) {
  const size_t panels = (args.num_tokens + kPanelTokens - 1) / kPanelTokens;
  VlutArgs by_products = args, by_tables = args;
  by_products.num_tiles = TilesByProducts(args.num_tiles, panels, kTogether);
  by_tables.num_tiles -= by_products.num_tiles;
  by_products.tiles += by_tables.num_tiles * args.num_blocks * kBlockBytes;
  by_products.out += by_tables.num_tiles * kRows;
  // Behind what the tables' rows need; the rest of a row's share is larger than its sums.
  auto* sums = reinterpret_cast<int32_t*>(args.scratch + VlutScratch(by_tables.num_tiles));
  Products products(by_products, sums);
  Multiply<V, 1, kTogether, Products&>(by_tables, products);
  products.Store();
}

void Gemm(const VlutArgs* args) {
  args->num_tokens <= 16 ? MultiplyBoth<Lanes16, 2>(*args) : MultiplyBoth<Lanes32, 1>(*args);
}

constexpr VlutOps kOps = {.gemm = Gemm,
                          .gemm_grouped = GemmGroupedBy<Lanes16, Lanes32>,
                          .gain = 1.3f,
                          .grouped_gain = 1.0f};

}  // namespace

extern const KernelInfo k_vlut_avx512vnni;
const KernelInfo k_vlut_avx512vnni = {
    .name = "vlut_avx512vnni", .isa = Isa::avx512vnni, .vlut = &kOps};

}  // namespace bittern::kernels
