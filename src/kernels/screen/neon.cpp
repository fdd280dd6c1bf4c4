// SPDX-License-Identifier: Apache-2.0
// The coarse scan of the screened head with NEON as every 64-bit ARM has it: neon.inc.
#include "kernels/screen/neon.inc"

namespace bittern::kernels {

extern const KernelInfo k_screen_neon;
const KernelInfo k_screen_neon = {.name = "screen_neon", .isa = Isa::neon, .screen = &kOps};

}  // namespace bittern::kernels
