// SPDX-License-Identifier: Apache-2.0
// Ternary products that leave zeros out, with NEON as every 64-bit ARM has it: neon.inc.
#include "kernels/sparse/neon.inc"

namespace bittern::kernels {

extern const KernelInfo k_sparse_neon;
const KernelInfo k_sparse_neon = {.name = "sparse_neon", .isa = Isa::neon, .sparse = &kOps};

}  // namespace bittern::kernels
