// SPDX-License-Identifier: Apache-2.0
#include "kernels/registry.hpp"

#include <fmt/format.h>

namespace bittern::kernels {

#define KERNEL(operation, isa) extern const KernelInfo k_##operation##_##isa;
#include "kernels/kernels.def"
#undef KERNEL

namespace {

constexpr const KernelInfo* kKernels[] = {
#define KERNEL(operation, isa) &k_##operation##_##isa,
#include "kernels/kernels.def"
#undef KERNEL
};

std::string KnownIsas() {
  std::string names;
  for (Isa isa : AllIsas()) {
    names += fmt::format("{}{}{}", names.empty() ? "" : ", ", IsaName(isa),
                         Supports(isa) ? "" : " (not on this CPU)");
  }
  return names;
}

/// Chooses the kernel for the operations it has that none was chosen for yet.
void TakeIfFirst(const KernelInfo* kernel, Kernels* chosen) {
#define OPERATION(operation, Table, what) \
  if (kernel->operation != nullptr && !chosen->operation##_info) chosen->operation##_info = kernel;
#include "kernels/operations.def"
#undef OPERATION
}

}  // namespace

std::span<const KernelInfo* const> AllKernels() noexcept { return kKernels; }

Kernels SelectKernels(bool (*usable)(Isa)) noexcept {
  Kernels chosen{};
  for (const KernelInfo* kernel : kKernels) {
    if (!usable(kernel->isa)) continue;
    TakeIfFirst(kernel, &chosen);
  }
  return chosen;  // complete: registry_test checks that every operation has a scalar kernel
}

Result<Kernels> SelectKernelsForced(std::string_view isa_name) {
  if (isa_name.empty()) isa_name = ForcedIsa();
  if (isa_name.empty()) return SelectKernels();
  for (Isa limit : AllIsas()) {
    if (IsaName(limit) != isa_name) continue;
    if (!Supports(limit)) break;
    Kernels chosen{};
    for (const KernelInfo* kernel : kKernels) {  // rows of isa.def go from best to scalar
      if (kernel->isa < limit || !Supports(kernel->isa)) continue;
      TakeIfFirst(kernel, &chosen);
    }
    return chosen;
  }
  return Fail(ErrorCode::kInvalidArgument,
              fmt::format("isa={}: unknown here or not supported by this CPU; "
                          "instruction sets of this build: {}",
                          isa_name, KnownIsas()));
}

ChosenKernel KernelOf(const Kernels& kernels, std::string_view operation) noexcept {
  const KernelInfo* found = kernels.float32_info;
#define OPERATION(name, Table, what) \
  if (operation == #name) found = kernels.name##_info;
#include "kernels/operations.def"
#undef OPERATION
  return {found->name, found->isa};
}

Result<std::string> IsaInUse() {
  const Kernels kernels = BITTERN_TRY(SelectKernelsForced());
  return std::string(IsaName(kernels.tile16_info->isa));
}

}  // namespace bittern::kernels
