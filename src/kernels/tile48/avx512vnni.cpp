// SPDX-License-Identifier: Apache-2.0
// Tile48 (tile48/avx512.inc) with AVX-512 VNNI alone: a shuffle within sixteen bytes turns pairs
// into triples of codes, a subtraction under mask negates them.
#include <immintrin.h>

#include "kernels/kernel.h"
#include "kernels/tile48/triples.inc"
#include "kernels/unroll.inc"

namespace bittern::kernels {
namespace {

inline __m512i Bytes(int value) { return _mm512_set1_epi8(static_cast<char>(value)); }

inline __m512i FromIndices(__m512i indices) {
  const __m512i table =
      _mm512_broadcast_i32x4(_mm_load_si128(reinterpret_cast<const __m128i*>(kTriples)));
  const __m512i triples = _mm512_shuffle_epi8(table, _mm512_and_si512(indices, Bytes(0x0f)));
  const __mmask64 negate = _mm512_test_epi8_mask(indices, Bytes(kNegated));
  return _mm512_mask_sub_epi8(triples, negate, Bytes(kNegateFrom), triples);
}

}  // namespace
}  // namespace bittern::kernels

#include "kernels/tile48/avx512.inc"

namespace bittern::kernels {

extern const KernelInfo k_tile48_avx512vnni;
const KernelInfo k_tile48_avx512vnni = {
    .name = "tile48_avx512vnni", .isa = Isa::avx512vnni, .tile48 = &kOps};

}  // namespace bittern::kernels
