// SPDX-License-Identifier: Apache-2.0
// Ternary gemv and gemm with NEON's dot product (most ARM cores since 2018). Operations and their
// bounds are in neon_dot.inc, the loops in parts.inc.
#include "kernels/kernel.h"
#include "kernels/tile16/neon_dot.inc"

namespace bittern::kernels {
namespace {
constexpr size_t kTokensAtOnce = 4;  // 16 sums, 4 parts of codes and one of activations
constexpr size_t kFewParts = 4;      // 16 sums, 4 parts of bytes, 4 of codes, one of activations
}  // namespace
}  // namespace bittern::kernels

#include "kernels/tile16/parts.inc"
#include "kernels/tile16/parts_few.inc"
#include "kernels/tile16/parts_gemm.inc"
#include "kernels/tile16/parts_grouped.inc"

namespace bittern::kernels {
namespace {
constexpr Tile16Ops kOps = {Gemv, Gemm, GemvGrouped, GemmGrouped};
}  // namespace
extern const KernelInfo k_tile16_neondot;
const KernelInfo k_tile16_neondot = {
    .name = "tile16_neondot", .isa = Isa::neondot, .tile16 = &kOps};
}  // namespace bittern::kernels
