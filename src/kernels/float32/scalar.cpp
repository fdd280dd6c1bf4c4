// SPDX-License-Identifier: Apache-2.0
// Float operations without intrinsics. Vec is the numerics contract spelt out: sixteen floats,
// each operation lane by lane, one rounding each. The operations themselves are in ops.inc.
#include "kernels/kernel.h"

namespace bittern::kernels {
namespace {

constexpr Isa kIsa = Isa::scalar;
constexpr size_t kDotRows = 4, kScoreBlocks = 2, kFewRows = 4;
constexpr size_t kMixVectors = 1, kMixPositions = 32;

struct Vec {
  float lane[16];
};

inline uint32_t Bits(float x) {
  uint32_t bits;
  __builtin_memcpy(&bits, &x, 4);
  return bits;
}
inline float FromBits(uint32_t bits) {
  float x;
  __builtin_memcpy(&x, &bits, 4);
  return x;
}

/// a * b + c with one rounding, on CPUs that cannot. The product of two floats is exact in
/// double; the sum is rounded to odd there (53 >= 24 + 2 bits), so rounding it to float gives
/// what a fused instruction gives. (Boldo and Melquiond, "Emulation of FMA", 2008.) No branch,
/// so that compilers may take lanes together.
inline float Fused(float a, float b, float c) {
  const double product = static_cast<double>(a) * static_cast<double>(b);
  const double addend = static_cast<double>(c);
  const double sum = product + addend, shadow = sum - product;
  const double error = (product - (sum - shadow)) + (addend - shadow);
  uint64_t bits, error_bits;
  __builtin_memcpy(&bits, &sum, 8);
  __builtin_memcpy(&error_bits, &error, 8);
  const uint64_t inexact = (error > 0) | (error < 0);  // 0 for NaN
  const uint64_t away = (bits ^ error_bits) >> 63;     // the sum was rounded away from zero
  bits = (bits - (away & inexact)) | inexact;          // cut off, then odd
  double odd;
  __builtin_memcpy(&odd, &bits, 8);
  return static_cast<float>(odd);
}

template <class Function>
inline Vec Each(Function function) {
  Vec out;
  for (size_t i = 0; i < 16; ++i) out.lane[i] = function(i);
  return out;
}

inline Vec Set1(float x) {
  return Each([=](size_t) { return x; });
}
inline Vec Load(const float* p) {
  return Each([=](size_t i) { return p[i]; });
}
inline Vec LoadPart(const float* p, size_t n) {
  return Each([=](size_t i) { return i < n ? p[i] : 0.0f; });
}
inline void Store(float* p, Vec v) {
  for (size_t i = 0; i < 16; ++i) p[i] = v.lane[i];
}
inline void StorePart(float* p, Vec v, size_t n) {
  for (size_t i = 0; i < n && i < 16; ++i) p[i] = v.lane[i];
}
inline Vec Add(const Vec& a, const Vec& b) {
  return Each([&](size_t i) { return a.lane[i] + b.lane[i]; });
}
inline Vec Sub(const Vec& a, const Vec& b) {
  return Each([&](size_t i) { return a.lane[i] - b.lane[i]; });
}
inline Vec Mul(const Vec& a, const Vec& b) {
  return Each([&](size_t i) { return a.lane[i] * b.lane[i]; });
}
inline Vec Div(const Vec& a, const Vec& b) {
  return Each([&](size_t i) { return a.lane[i] / b.lane[i]; });
}
inline Vec Fma(const Vec& a, const Vec& b, const Vec& c) {
  return Each([&](size_t i) { return Fused(a.lane[i], b.lane[i], c.lane[i]); });
}
// As x86: the second operand where either is NaN.
inline Vec Max(const Vec& a, const Vec& b) {
  return Each([&](size_t i) { return a.lane[i] > b.lane[i] ? a.lane[i] : b.lane[i]; });
}
inline Vec Min(const Vec& a, const Vec& b) {
  return Each([&](size_t i) { return a.lane[i] < b.lane[i] ? a.lane[i] : b.lane[i]; });
}
inline Vec Abs(const Vec& a) {
  return Each([&](size_t i) { return FromBits(Bits(a.lane[i]) & 0x7fffffffu); });
}
/// 2^n for integral n in [-126, 127].
inline Vec PowerOfTwo(const Vec& n) {
  return Each([&](size_t i) {
    return FromBits(static_cast<uint32_t>(static_cast<int32_t>(n.lane[i]) + 127) << 23);
  });
}
/// x where keep[i] >= 0, else 0.
inline Vec ZeroWhereNegative(const Vec& x, const Vec& keep) {
  return Each([&](size_t i) { return keep.lane[i] >= 0 ? x.lane[i] : 0.0f; });
}

inline float HalfToFloat(uint16_t half) {
  const uint32_t sign = (half & 0x8000u) << 16, rest = half & 0x7fffu;
  if (rest >= 0x7c00u) {  // infinity or NaN, made quiet
    return FromBits(sign | 0x7f800000u | (rest > 0x7c00u ? 0x400000u : 0) | (rest & 0x3ffu) << 13);
  }
  if (rest >= 0x400u) return FromBits(sign | ((rest << 13) + (112u << 23)));
  return FromBits(sign | Bits(static_cast<float>(rest) * 0x1p-24f));
}
inline uint16_t FloatToHalf(float x) {  // |x| <= 65504: callers saturate
  const uint32_t bits = Bits(x), sign = bits >> 16 & 0x8000u, rest = bits & 0x7fffffffu;
  if (rest < 0x38800000u) {
    return static_cast<uint16_t>(sign | (Bits(FromBits(rest) + 0.5f) - 0x3f000000u));
  }
  return static_cast<uint16_t>(sign | (rest - 0x38000000u + 0xfffu + (rest >> 13 & 1)) >> 13);
}

inline Vec LoadHalf(const uint16_t* p) {
  return Each([=](size_t i) { return HalfToFloat(p[i]); });
}
inline Vec LoadBfloat(const uint16_t* p) {
  return Each([=](size_t i) { return FromBits(static_cast<uint32_t>(p[i]) << 16); });
}
inline void StoreHalf(uint16_t* p, const Vec& v) {
  for (size_t i = 0; i < 16; ++i) p[i] = FloatToHalf(v.lane[i]);
}
inline Vec LoadInt32(const int32_t* p) {
  return Each([=](size_t i) { return static_cast<float>(p[i]); });
}
inline Vec LoadInt8(const int8_t* p) {
  return Each([=](size_t i) { return static_cast<float>(p[i]); });
}
/// Stores integral lanes in [-128, 127].
inline void StoreInt8(int8_t* p, const Vec& v) {
  for (size_t i = 0; i < 16; ++i) p[i] = static_cast<int8_t>(v.lane[i]);
}

inline float ReduceAdd(Vec v) {
  for (size_t width = 8; width >= 1; width /= 2) {
    for (size_t i = 0; i < width; ++i) v.lane[i] += v.lane[i + width];
  }
  return v.lane[0];
}
inline float ReduceMax(Vec v) {
  for (size_t width = 8; width >= 1; width /= 2) {
    for (size_t i = 0; i < width; ++i) {
      v.lane[i] = v.lane[i] > v.lane[i + width] ? v.lane[i] : v.lane[i + width];
    }
  }
  return v.lane[0];
}
/// Lane i of the result is lane i ^ kDistance (1, 2, 4 or 8) of v.
template <size_t kDistance>
inline Vec SwapLanes(const Vec& v) {
  return Each([&](size_t i) { return v.lane[i ^ kDistance]; });
}
inline void Prefetch(const void*) {}

}  // namespace
}  // namespace bittern::kernels

#include "kernels/float32/ops.inc"

namespace bittern::kernels {
extern const KernelInfo k_float32_scalar;
const KernelInfo k_float32_scalar = {.name = "float32_scalar", .isa = kIsa, .float32 = &kOps};
}  // namespace bittern::kernels
