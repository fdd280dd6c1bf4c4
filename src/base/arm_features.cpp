// SPDX-License-Identifier: Apache-2.0
#include "base/arm_features.hpp"

#if defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#elif defined(__aarch64__) && defined(__APPLE__)
#include <sys/sysctl.h>

#include <cstddef>
#endif

namespace bittern {

#if defined(__aarch64__) && defined(__linux__)
ArmFeatures DetectArmFeatures() noexcept {
  // Bits of the kernel's interface (Documentation/arch/arm64/elf_hwcaps.rst); spelt out, since
  // old headers lack the second.
  constexpr unsigned long kDotProduct = 1UL << 20;  // HWCAP_ASIMDDP
  constexpr unsigned long kInt8Matrix = 1UL << 13;  // HWCAP2_I8MM
  return {(getauxval(AT_HWCAP) & kDotProduct) != 0, (getauxval(AT_HWCAP2) & kInt8Matrix) != 0};
}
#elif defined(__aarch64__) && defined(__APPLE__)
namespace {
bool HasFeature(const char* name) noexcept {
  int value = 0;
  std::size_t size = sizeof(value);
  return sysctlbyname(name, &value, &size, nullptr, 0) == 0 && value != 0;
}
}  // namespace

ArmFeatures DetectArmFeatures() noexcept {
  return {HasFeature("hw.optional.arm.FEAT_DotProd"), HasFeature("hw.optional.arm.FEAT_I8MM")};
}
#else
ArmFeatures DetectArmFeatures() noexcept { return {false, false}; }
#endif

}  // namespace bittern
