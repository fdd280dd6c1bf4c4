// SPDX-License-Identifier: Apache-2.0
// Ternary products that leave zeros out, with NEON's dot product: neon.inc.
#include "kernels/sparse/neon.inc"

namespace bittern::kernels {

extern const KernelInfo k_sparse_neondot;
const KernelInfo k_sparse_neondot = {
    .name = "sparse_neondot", .isa = Isa::neondot, .sparse = &kOps};

}  // namespace bittern::kernels
