// SPDX-License-Identifier: Apache-2.0
// The instruction sets of this architecture, one for each row of isa.def. Plain data only, as
// kernel.h.
#pragma once

#include <stdint.h>

#include "kernels/arch_select.inc"

namespace bittern::kernels {

enum class Isa : uint8_t {
#define ISA(name, test, flags) name,
#include "kernels/isa.def"
#undef ISA
};

}  // namespace bittern::kernels
