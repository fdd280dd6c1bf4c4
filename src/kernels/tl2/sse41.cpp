// SPDX-License-Identifier: Apache-2.0
// Lookup gemv over triples with SSE4.1. The loop and the bound of its sums are in tl2/parts.inc.
#include "kernels/lut/sse41.inc"

#include "kernels/tl2/parts.inc"

namespace bittern::kernels {
extern const KernelInfo k_tl2_sse41;
const KernelInfo k_tl2_sse41 = {.name = "tl2_sse41", .isa = Isa::sse41, .tl2 = &kOps};
}  // namespace bittern::kernels
