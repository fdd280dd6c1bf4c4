// SPDX-License-Identifier: Apache-2.0
// Lookup gemv over pairs with SSE4.1. The loop and the bound of its sums are in tl1/parts.inc.
#include "kernels/lut/sse41.inc"

#include "kernels/tl1/parts.inc"

namespace bittern::kernels {
extern const KernelInfo k_tl1_sse41;
const KernelInfo k_tl1_sse41 = {.name = "tl1_sse41", .isa = Isa::sse41, .tl1 = &kOps};
}  // namespace bittern::kernels
