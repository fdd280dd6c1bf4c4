// SPDX-License-Identifier: Apache-2.0
// Tables across tokens (vlut/tables.inc) with SSE4.1: eight tokens are one register.
#include <smmintrin.h>
#include <tmmintrin.h>

#include "kernels/kernel.h"
#include "kernels/unroll.inc"

namespace bittern::kernels {
namespace {

struct Lanes8 {
  static constexpr size_t kLanes = 8;
  __m128i v;
};

template <class V>
V Zero();
template <class V>
V Load(const void* p);

template <>
inline Lanes8 Zero<Lanes8>() {
  return {_mm_setzero_si128()};
}
template <>
inline Lanes8 Load<Lanes8>(const void* p) {
  return {_mm_loadu_si128(static_cast<const __m128i*>(p))};
}
inline void Store(void* p, Lanes8 x) { _mm_storeu_si128(static_cast<__m128i*>(p), x.v); }
inline Lanes8 Add(Lanes8 x, Lanes8 y) { return {_mm_add_epi16(x.v, y.v)}; }
inline Lanes8 Sub(Lanes8 x, Lanes8 y) { return {_mm_sub_epi16(x.v, y.v)}; }

inline void AddTo(int32_t* sums, Lanes8 x) {
  auto* to = reinterpret_cast<__m128i*>(sums);
  const __m128i low = _mm_cvtepi16_epi32(x.v), high = _mm_cvtepi16_epi32(_mm_srli_si128(x.v, 8));
  _mm_storeu_si128(to, _mm_add_epi32(_mm_loadu_si128(to), low));
  _mm_storeu_si128(to + 1, _mm_add_epi32(_mm_loadu_si128(to + 1), high));
}

inline void AddScaled(float* totals, __m128i sums, __m128 scale, const float* scales) {
  const __m128 scaled = _mm_mul_ps(_mm_mul_ps(_mm_cvtepi32_ps(_mm_cvtepi16_epi32(sums)), scale),
                                   _mm_loadu_ps(scales));
  _mm_storeu_ps(totals, _mm_add_ps(_mm_loadu_ps(totals), scaled));
}
inline void AddScaled(float* totals, Lanes8 sums, float scale, const float* scales) {
  const __m128 of_row = _mm_set1_ps(scale);
  AddScaled(totals, sums.v, of_row, scales);
  AddScaled(totals + 4, _mm_srli_si128(sums.v, 8), of_row, scales + 4);
}

inline __m128i Joined(Lanes8 v) {
  return _mm_madd_epi16(v.v, _mm_set1_epi32(1 << 16 | kDigitBase));
}
inline Lanes8 JoinLanes(Lanes8 a, Lanes8 b) { return {_mm_packs_epi32(Joined(a), Joined(b))}; }
inline void AddJoined(float* totals, Lanes8 sums, float scale, const float* scales) {
  const __m128 scaled = _mm_mul_ps(_mm_mul_ps(_mm_cvtepi32_ps(Joined(sums)), _mm_set1_ps(scale)),
                                   _mm_loadu_ps(scales));
  _mm_storeu_ps(totals, _mm_add_ps(_mm_loadu_ps(totals), scaled));
}

/// Byte kByte of each token's four, sign extended.
template <int kByte>
inline Lanes8 Column(__m128i first, __m128i second) {
  const auto extend = [](__m128i x) {
    return _mm_srai_epi32(_mm_slli_epi32(x, 24 - 8 * kByte), 24);
  };
  return {_mm_packs_epi32(extend(first), extend(second))};
}

inline void LoadColumns(const int8_t* const* panels, size_t offset, Lanes8 (&columns)[4]) {
  const __m128i first = Load<Lanes8>(panels[0] + offset).v;
  const __m128i second = Load<Lanes8>(panels[0] + offset + 16).v;
  columns[0] = Column<0>(first, second);
  columns[1] = Column<1>(first, second);
  columns[2] = Column<2>(first, second);
  columns[3] = Column<3>(first, second);
}

/// The number of an entry is 27 a + 9 b (from the upper half of a byte) + 3 c + d (from the lower).
inline void MapStep(const uint8_t* bytes, size_t entry_bytes, uint16_t* offsets) {
  const __m128i upper = _mm_setr_epi8(0, 9, 18, 0, 27, 36, 45, 0, 54, 63, 72, 0, 0, 0, 0, 0);
  const __m128i lower = _mm_setr_epi8(0, 1, 2, 0, 3, 4, 5, 0, 6, 7, 8, 0, 0, 0, 0, 0);
  const __m128i half = _mm_set1_epi8(15);
  const __m128i scale = _mm_set1_epi16(static_cast<int16_t>(entry_bytes));
  for (size_t i = 0; i < 64; i += 16) {
    const __m128i codes = Load<Lanes8>(bytes + i).v;
    const __m128i high = _mm_and_si128(_mm_srli_epi16(codes, 4), half);
    const __m128i number = _mm_add_epi8(_mm_shuffle_epi8(upper, high),
                                        _mm_shuffle_epi8(lower, _mm_and_si128(codes, half)));
    Store(offsets + i, Lanes8{_mm_mullo_epi16(_mm_cvtepu8_epi16(number), scale)});
    Store(offsets + i + 8,
          Lanes8{_mm_mullo_epi16(_mm_cvtepu8_epi16(_mm_srli_si128(number, 8)), scale)});
  }
}

}  // namespace
}  // namespace bittern::kernels

#include "kernels/vlut/tables.inc"
// after that
#include "kernels/vlut/grouped.inc"

namespace bittern::kernels {
namespace {

constexpr VlutOps kOps = {.gemm = GemmBy<Lanes8>,
                          .gemm_grouped = GemmGroupedBy<Lanes8, Lanes8>,
                          .gain = 2.0f,
                          .grouped_gain = 2.0f};

}  // namespace

extern const KernelInfo k_vlut_sse41;
const KernelInfo k_vlut_sse41 = {.name = "vlut_sse41", .isa = Isa::sse41, .vlut = &kOps};

}  // namespace bittern::kernels
