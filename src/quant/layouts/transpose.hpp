// SPDX-License-Identifier: Apache-2.0
// Transpositions in vectors of 16 bytes, which every CPU has, in the notation of gcc and clang.
// kernels/sparse/tiles.inc has a shuffle of its own: objects of an instruction set share no
// function.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace bittern::quant {

typedef std::uint8_t Bytes16 __attribute__((vector_size(16)));
typedef std::uint32_t Words4 __attribute__((vector_size(16)));

/// The elements kElements of `a` followed by `b`.
template <int... kElements, class Vector>
inline Vector Shuffle(Vector a, Vector b) noexcept {
#if __has_builtin(__builtin_shufflevector)
  return __builtin_shufflevector(a, b, kElements...);
#else
  return __builtin_shuffle(a, b, Vector{kElements...});  // g++ 11
#endif
}

inline void InterleaveHalves(Bytes16 a, Bytes16 b, Bytes16* low, Bytes16* high) noexcept {
  *low = Shuffle<0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23>(a, b);
  *high = Shuffle<8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31>(a, b);
}
inline void InterleaveHalves(Words4 a, Words4 b, Words4* low, Words4* high) noexcept {
  *low = Shuffle<0, 4, 1, 5>(a, b);
  *high = Shuffle<2, 6, 3, 7>(a, b);
}

/// A square of as many rows as a vector has elements, columns for rows. Row i and the one half of
/// the rows further on are interleaved; log2(rows) times that is the transposition.
template <class Vector, std::size_t kRows>
inline void Transpose(std::array<Vector, kRows>* rows) noexcept {
  static_assert(kRows * sizeof(rows->front()[0]) == sizeof(Vector));
  for (std::size_t done = 1; done < kRows; done *= 2) {
    std::array<Vector, kRows> next;
    for (std::size_t i = 0; i < kRows / 2; ++i) {
      InterleaveHalves((*rows)[i], (*rows)[i + kRows / 2], &next[2 * i], &next[2 * i + 1]);
    }
    *rows = next;
  }
}

template <class Vector>
inline Vector LoadVector(const void* from) noexcept {
  Vector vector;
  std::memcpy(&vector, from, sizeof(vector));
  return vector;
}

}  // namespace bittern::quant
