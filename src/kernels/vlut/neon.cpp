// SPDX-License-Identifier: Apache-2.0
// Tables across tokens (vlut/tables.inc) with NEON: eight tokens are one register. It needs no dot
// product, so cores that lack one (Cortex-A53, A72) gain most.
#include <arm_neon.h>

#include "kernels/kernel.h"
#include "kernels/unroll.inc"

namespace bittern::kernels {
namespace {

struct Lanes8 {
  static constexpr size_t kLanes = 8;
  int16x8_t v;
};

template <class V>
V Zero();
template <class V>
V Load(const void* p);

template <>
inline Lanes8 Zero<Lanes8>() {
  return {vdupq_n_s16(0)};
}
template <>
inline Lanes8 Load<Lanes8>(const void* p) {
  return {vreinterpretq_s16_u8(vld1q_u8(static_cast<const uint8_t*>(p)))};
}
inline void Store(void* p, Lanes8 x) {
  vst1q_u8(static_cast<uint8_t*>(p), vreinterpretq_u8_s16(x.v));
}
inline Lanes8 Add(Lanes8 x, Lanes8 y) { return {vaddq_s16(x.v, y.v)}; }
inline Lanes8 Sub(Lanes8 x, Lanes8 y) { return {vsubq_s16(x.v, y.v)}; }

inline void AddTo(int32_t* sums, Lanes8 x) {
  vst1q_s32(sums, vaddw_s16(vld1q_s32(sums), vget_low_s16(x.v)));
  vst1q_s32(sums + 4, vaddw_s16(vld1q_s32(sums + 4), vget_high_s16(x.v)));
}

inline void AddScaled(float* totals, int16x4_t sums, float scale, const float* scales) {
  const float32x4_t scaled =
      vmulq_f32(vmulq_n_f32(vcvtq_f32_s32(vmovl_s16(sums)), scale), vld1q_f32(scales));
  vst1q_f32(totals, vaddq_f32(vld1q_f32(totals), scaled));
}
inline void AddScaled(float* totals, Lanes8 sums, float scale, const float* scales) {
  AddScaled(totals, vget_low_s16(sums.v), scale, scales);
  AddScaled(totals + 4, vget_high_s16(sums.v), scale, scales + 4);
}

inline int32x4_t Joined(Lanes8 v) {
  constexpr int16_t kBases[4] = {kDigitBase, 1, kDigitBase, 1};
  const int16x4_t bases = vld1_s16(kBases);
  return vpaddq_s32(vmull_s16(vget_low_s16(v.v), bases), vmull_s16(vget_high_s16(v.v), bases));
}
inline Lanes8 JoinLanes(Lanes8 a, Lanes8 b) {
  return {vcombine_s16(vmovn_s32(Joined(a)), vmovn_s32(Joined(b)))};
}
inline void AddJoined(float* totals, Lanes8 sums, float scale, const float* scales) {
  const float32x4_t scaled =
      vmulq_f32(vmulq_n_f32(vcvtq_f32_s32(Joined(sums)), scale), vld1q_f32(scales));
  vst1q_f32(totals, vaddq_f32(vld1q_f32(totals), scaled));
}

inline void LoadColumns(const int8_t* const* panels, size_t offset, Lanes8 (&columns)[4]) {
  const int8x8x4_t bytes = vld4_s8(panels[0] + offset);
  for (size_t c = 0; c < 4; ++c) columns[c].v = vmovl_s8(bytes.val[c]);
}

/// The number of an entry is 27 a + 9 b (from the upper half of a byte) + 3 c + d (from the lower).
inline void MapStep(const uint8_t* bytes, size_t entry_bytes, uint16_t* offsets) {
  constexpr uint8_t kUpper[16] = {0, 9, 18, 0, 27, 36, 45, 0, 54, 63, 72, 0, 0, 0, 0, 0};
  constexpr uint8_t kLower[16] = {0, 1, 2, 0, 3, 4, 5, 0, 6, 7, 8, 0, 0, 0, 0, 0};
  const uint8x16_t upper = vld1q_u8(kUpper), lower = vld1q_u8(kLower);
  const uint16x8_t scale = vdupq_n_u16(static_cast<uint16_t>(entry_bytes));
  for (size_t i = 0; i < 64; i += 16) {
    const uint8x16_t codes = vld1q_u8(bytes + i);
    const uint8x16_t number = vaddq_u8(vqtbl1q_u8(upper, vshrq_n_u8(codes, 4)),
                                       vqtbl1q_u8(lower, vandq_u8(codes, vdupq_n_u8(15))));
    vst1q_u16(offsets + i, vmulq_u16(vmovl_u8(vget_low_u8(number)), scale));
    vst1q_u16(offsets + i + 8, vmulq_u16(vmovl_u8(vget_high_u8(number)), scale));
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
                          .gain = 1.5f,
                          .grouped_gain = 1.5f};

}  // namespace

extern const KernelInfo k_vlut_neon;
const KernelInfo k_vlut_neon = {.name = "vlut_neon", .isa = Isa::neon, .vlut = &kOps};

}  // namespace bittern::kernels
