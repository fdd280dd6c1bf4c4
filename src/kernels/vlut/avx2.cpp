// SPDX-License-Identifier: Apache-2.0
// Tables across tokens (vlut/tables.inc) with AVX2: sixteen tokens are one register, so 32 tokens
// are two loads from neighbouring places for one offset.
#include <immintrin.h>

#include "kernels/kernel.h"
#include "kernels/unroll.inc"
#include "kernels/vlut/x86_256.inc"
// after what it needs
#include "kernels/vlut/tables.inc"
// after that
#include "kernels/vlut/grouped.inc"

namespace bittern::kernels {
namespace {

constexpr VlutOps kOps = {.gemm = GemmBy<Lanes16>,
                          .gemm_grouped = GemmGroupedBy<Lanes16, Lanes16>,
                          .gain = 1.3f,
                          .grouped_gain = 1.5f};

}  // namespace

extern const KernelInfo k_vlut_avx2;
const KernelInfo k_vlut_avx2 = {.name = "vlut_avx2", .isa = Isa::avx2, .vlut = &kOps};

}  // namespace bittern::kernels
