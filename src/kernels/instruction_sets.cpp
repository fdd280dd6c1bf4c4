// SPDX-License-Identifier: Apache-2.0
#include "kernels/instruction_sets.hpp"

#include "base/os/cpus.hpp"
#include "kernels/x86_features.hpp"

namespace bittern::kernels {

namespace {

constexpr Isa kIsas[] = {
#define ISA(name, test, flags) Isa::name,
#include "kernels/isa.def"
#undef ISA
};

constexpr std::string_view kIsaNames[] = {
#define ISA(name, test, flags) #name,
#include "kernels/isa.def"
#undef ISA
};

std::string& ForcedName() {
  static std::string name;
  return name;
}

}  // namespace

std::span<const Isa> AllIsas() noexcept { return kIsas; }
std::string_view IsaName(Isa isa) noexcept { return kIsaNames[static_cast<std::size_t>(isa)]; }

bool Supports(Isa isa) noexcept {
#if defined(__x86_64__)
#define HAS(feature) X86Has(feature)
#elif defined(__aarch64__)
  static const os::ArmFeatures arm = os::DetectArmFeatures();
#define ARM_HAS(feature) arm.feature
#endif
  switch (isa) {
#define ISA(name, test, flags) \
  case Isa::name:              \
    return test;
#include "kernels/isa.def"
#undef ISA
  }
  return false;
}

void ForceIsa(std::string_view isa_name) { ForcedName() = isa_name; }
const std::string& ForcedIsa() noexcept { return ForcedName(); }

}  // namespace bittern::kernels
