// SPDX-License-Identifier: Apache-2.0
// The coarse scan of the screened head with NEON's dot product: neon.inc.
#include "kernels/screen/neon.inc"

namespace bittern::kernels {

extern const KernelInfo k_screen_neondot;
const KernelInfo k_screen_neondot = {
    .name = "screen_neondot", .isa = Isa::neondot, .screen = &kOps};

}  // namespace bittern::kernels
