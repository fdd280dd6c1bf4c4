// SPDX-License-Identifier: Apache-2.0
// Tile48 (tile48/avx512.inc) with AVX-512 VBMI: one shuffle of 64 bytes turns indices into triples
// of codes, and looks at the lower six bits only.
#include <immintrin.h>

#include "kernels/kernel.h"
#include "kernels/tile48/triples.inc"
#include "kernels/unroll.inc"

namespace bittern::kernels {
namespace {

inline __m512i Bytes(int value) { return _mm512_set1_epi8(static_cast<char>(value)); }

/// The triple of every index, twice: whatever bit 5 says.
struct Table {
  alignas(64) uint8_t triples[64];
};
constexpr Table MakeTable() {
  Table table = {};
  for (int i = 0; i < 64; ++i) {
    const int pair = kTriples[i & 15];
    table.triples[i] = static_cast<uint8_t>((i & kNegated) != 0 ? kNegateFrom - pair : pair);
  }
  return table;
}
constexpr Table kTable = MakeTable();

inline __m512i FromIndices(__m512i indices) {
  return _mm512_permutexvar_epi8(indices, _mm512_load_si512(kTable.triples));
}

}  // namespace
}  // namespace bittern::kernels

#include "kernels/tile48/avx512.inc"

namespace bittern::kernels {

extern const KernelInfo k_tile48_avx512vbmi;
const KernelInfo k_tile48_avx512vbmi = {
    .name = "tile48_avx512vbmi", .isa = Isa::avx512vbmi, .tile48 = &kOps};

}  // namespace bittern::kernels
