// SPDX-License-Identifier: Apache-2.0
// Tables across tokens (vlut/tables.inc) with AVX-512: 32 tokens are one register, sixteen are half
// of one.
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

namespace bittern::kernels {
namespace {

void Gemm(const VlutArgs* args) {
  args->num_tokens <= 16 ? Multiply<Lanes16, 1, 2>(*args) : Multiply<Lanes32, 1, 1>(*args);
}

constexpr VlutOps kOps = {.gemm = Gemm, .gain = 0.9f};

}  // namespace

extern const KernelInfo k_vlut_avx512vnni;
const KernelInfo k_vlut_avx512vnni = {
    .name = "vlut_avx512vnni", .isa = Isa::avx512vnni, .vlut = &kOps};

}  // namespace bittern::kernels
