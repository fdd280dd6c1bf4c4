// SPDX-License-Identifier: Apache-2.0
// The instruction sets of this build, those this CPU can run, and the one a user forces.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "kernels/isa.h"

namespace bittern::kernels {

/// All instruction sets of this architecture, best first; scalar is the last.
[[nodiscard]] std::span<const Isa> AllIsas() noexcept;
[[nodiscard]] std::string_view IsaName(Isa isa) noexcept;
/// True if this CPU (and operating system) can run code compiled for `isa`.
[[nodiscard]] bool Supports(Isa isa) noexcept;

/// The instruction set that SelectKernelsForced("") (registry.hpp) forces in this process; "" (the
/// beginning): none. A program calls it before it loads models, with the choice of its user; not
/// beside other calls of this header. The name is checked when it is used.
void ForceIsa(std::string_view isa_name);
/// The name that ForceIsa was last given.
[[nodiscard]] const std::string& ForcedIsa() noexcept;

struct Kernels;  // registry.hpp

/// A kernel that was chosen, for those who only tell of it.
struct ChosenKernel {
  std::string_view name;  ///< "tile16_avx2"
  Isa isa;
};
/// The kernel of an operation of operations.def, "tile16" for one.
[[nodiscard]] ChosenKernel KernelOf(const Kernels& kernels, std::string_view operation) noexcept;
/// The instruction set that ternary matrices use in this process. Error as SelectKernelsForced.
[[nodiscard]] Result<std::string> IsaInUse();

}  // namespace bittern::kernels
