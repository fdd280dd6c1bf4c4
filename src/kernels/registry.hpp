// SPDX-License-Identifier: Apache-2.0
// The kernels that this build has, and those that are used.
#pragma once

#include <span>
#include <string_view>

#include "base/result.hpp"
#include "kernels/instruction_sets.hpp"
#include "kernels/kernel.h"

namespace bittern::kernels {

/// All lines of kernels.def for this architecture, best first.
[[nodiscard]] std::span<const KernelInfo* const> AllKernels() noexcept;

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

}  // namespace bittern::kernels
