// SPDX-License-Identifier: Apache-2.0
// Tables across tokens (vlut/tables.inc) without intrinsics: eight lanes that the compiler maps to
// whatever the machine has.
#include "kernels/kernel.h"
#include "kernels/unroll.inc"

namespace bittern::kernels {
namespace {

struct Lanes8 {
  static constexpr size_t kLanes = 8;
  using Vector = int16_t __attribute__((vector_size(16)));
  Vector v;
};

template <class V>
V Zero();
template <class V>
V Load(const void* p);

template <>
inline Lanes8 Zero<Lanes8>() {
  return {Lanes8::Vector{}};
}
template <>
inline Lanes8 Load<Lanes8>(const void* p) {
  Lanes8 x;
  __builtin_memcpy(&x, p, sizeof(x));
  return x;
}
inline void Store(void* p, Lanes8 x) { __builtin_memcpy(p, &x, sizeof(x)); }
inline Lanes8 Add(Lanes8 x, Lanes8 y) { return {x.v + y.v}; }
inline Lanes8 Sub(Lanes8 x, Lanes8 y) { return {x.v - y.v}; }

inline void AddTo(int32_t* sums, Lanes8 x) {
  for (size_t i = 0; i < Lanes8::kLanes; ++i) sums[i] += x.v[i];
}

inline void AddScaled(float* totals, Lanes8 sums, float scale, const float* scales) {
  for (size_t i = 0; i < Lanes8::kLanes; ++i) {
    totals[i] += static_cast<float>(sums.v[i]) * scale * scales[i];
  }
}

inline int32_t Joined(const Lanes8& v, size_t pair) {
  return kDigitBase * v.v[2 * pair] + v.v[2 * pair + 1];
}
inline Lanes8 JoinLanes(Lanes8 a, Lanes8 b) {
  constexpr size_t kPairs = Lanes8::kLanes / 2;
  Lanes8 joined;
  for (size_t i = 0; i < kPairs; ++i) {
    joined.v[i] = static_cast<int16_t>(Joined(a, i));
    joined.v[kPairs + i] = static_cast<int16_t>(Joined(b, i));
  }
  return joined;
}
inline void AddJoined(float* totals, Lanes8 sums, float scale, const float* scales) {
  for (size_t i = 0; i < Lanes8::kLanes / 2; ++i) {
    totals[i] += static_cast<float>(Joined(sums, i)) * scale * scales[i];
  }
}

inline void LoadColumns(const int8_t* const* panels, size_t offset, Lanes8 (&columns)[4]) {
  for (size_t c = 0; c < 4; ++c) {
    for (size_t i = 0; i < Lanes8::kLanes; ++i) columns[c].v[i] = panels[0][offset + i * 4 + c];
  }
}

inline void MapStep(const uint8_t* bytes, size_t entry_bytes, uint16_t* offsets) {
  for (size_t i = 0; i < 64; ++i) {
    const unsigned b = bytes[i];
    const unsigned number = 27 * (b >> 6) + 9 * (b >> 4 & 3) + 3 * (b >> 2 & 3) + (b & 3);
    offsets[i] = static_cast<uint16_t>(number * entry_bytes);
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
                          .grouped_gain = 5.0f};

}  // namespace

extern const KernelInfo k_vlut_scalar;
const KernelInfo k_vlut_scalar = {.name = "vlut_scalar", .isa = Isa::scalar, .vlut = &kOps};

}  // namespace bittern::kernels
