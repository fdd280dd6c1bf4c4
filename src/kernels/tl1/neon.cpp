// SPDX-License-Identifier: Apache-2.0
// Lookup gemv over pairs with NEON. The loop and the bound of its sums are in tl1/parts.inc.
#include "kernels/lut/neon.inc"

#include "kernels/tl1/parts.inc"

namespace bittern::kernels {
extern const KernelInfo k_tl1_neon;
const KernelInfo k_tl1_neon = {.name = "tl1_neon", .isa = Isa::neon, .tl1 = &kOps};
}  // namespace bittern::kernels
