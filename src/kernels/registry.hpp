// SPDX-License-Identifier: Apache-2.0
// Which kernels this build has, which this CPU can run, and which are used.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "kernels/kernel.h"

namespace bittern::kernels {

/// All lines of kernels.def for this architecture, best first.
[[nodiscard]] std::span<const KernelInfo* const> AllKernels() noexcept;
/// All instruction sets of this architecture, best first; scalar is the last.
[[nodiscard]] std::span<const Isa> AllIsas() noexcept;
[[nodiscard]] std::string_view IsaName(Isa isa) noexcept;
/// True if this CPU (and operating system) can run code compiled for `isa`.
[[nodiscard]] bool Supports(Isa isa) noexcept;

/// The kernels in use: one table per operation.
struct Kernels {
  const KernelInfo* tile16_info;
  const KernelInfo* float32_info;
  const KernelInfo* tl1_info;
  const KernelInfo* tl2_info;
  const KernelInfo* screen_info;
  const KernelInfo* sparse_info;
  const KernelInfo* tile48_info;

  [[nodiscard]] const Tile16Ops& tile16() const noexcept { return *tile16_info->tile16; }
  [[nodiscard]] const FloatOps& float32() const noexcept { return *float32_info->float32; }
  [[nodiscard]] const LutOps& tl1() const noexcept { return *tl1_info->tl1; }
  [[nodiscard]] const LutOps& tl2() const noexcept { return *tl2_info->tl2; }
  [[nodiscard]] const SparseOps& sparse() const noexcept { return *sparse_info->sparse; }
  [[nodiscard]] const Tile48Ops& tile48() const noexcept { return *tile48_info->tile48; }
  [[nodiscard]] const ScreenOps& screen() const noexcept { return *screen_info->screen; }
};

/// For each operation the first kernel whose ISA `usable` accepts.
[[nodiscard]] Kernels SelectKernels(bool (*usable)(Isa) = Supports) noexcept;

/// As SelectKernels, but obeys a forced ISA ("scalar", "avx2", ...; "": that of ForceIsa): kernels
/// of that ISA or, where an operation has none, of the best one below it. Error kInvalidArgument:
/// the name is unknown (the message lists the known ones) or this CPU cannot run it.
[[nodiscard]] Result<Kernels> SelectKernelsForced(std::string_view isa_name = "");

/// What SelectKernelsForced("") forces in this process; "" (the beginning): nothing. A program
/// calls it before it loads models, with what its user says; not beside other calls of this header.
/// The name is checked when it is used.
void ForceIsa(std::string_view isa_name);
/// What ForceIsa was last given.
[[nodiscard]] const std::string& ForcedIsa() noexcept;

}  // namespace bittern::kernels
