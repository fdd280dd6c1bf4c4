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

/// The kernels in use. For each operation, tile16 for one: tile16_info, and its functions,
/// tile16().
struct Kernels {
#define OPERATION(operation, Table, what) \
  const KernelInfo* operation##_info;     \
  [[nodiscard]] const Table& operation() const noexcept { return *operation##_info->operation; }
#include "kernels/operations.def"
#undef OPERATION
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
