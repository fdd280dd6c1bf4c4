// SPDX-License-Identifier: Apache-2.0
// Lookup gemv over triples with NEON. The loop and the bound of its sums are in tl2/parts.inc.
#include "kernels/lut/neon.inc"

#include "kernels/tl2/parts.inc"

namespace bittern::kernels {
extern const KernelInfo k_tl2_neon;
const KernelInfo k_tl2_neon = {.name = "tl2_neon", .isa = Isa::neon, .tl2 = &kOps};
}  // namespace bittern::kernels
