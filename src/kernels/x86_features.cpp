// SPDX-License-Identifier: Apache-2.0
// One row per feature: where CPUID says it, and which registers the system must keep for it.
#include "kernels/x86_features.hpp"

#if defined(__x86_64__)
#include <cpuid.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#endif

namespace bittern::kernels {

#if defined(__x86_64__)
namespace {

enum Register { kEax, kEbx, kEcx, kEdx };
// Bits of XCR0.
constexpr std::uint32_t kNoState = 0, kAvxState = 0x6, kAvx512State = 0xE6;

struct FeatureRow {
  std::string_view name;
  unsigned leaf, subleaf;
  Register in;
  unsigned bit;
  std::uint32_t state;
};

constexpr FeatureRow kFeatures[] = {
    {"ssse3", 1, 0, kEcx, 9, kNoState},          {"sse4.1", 1, 0, kEcx, 19, kNoState},
    {"fma", 1, 0, kEcx, 12, kAvxState},          {"f16c", 1, 0, kEcx, 29, kAvxState},
    {"avx2", 7, 0, kEbx, 5, kAvxState},          {"avxvnni", 7, 1, kEax, 4, kAvxState},
    {"avx512f", 7, 0, kEbx, 16, kAvx512State},   {"avx512dq", 7, 0, kEbx, 17, kAvx512State},
    {"avx512bw", 7, 0, kEbx, 30, kAvx512State},  {"avx512vl", 7, 0, kEbx, 31, kAvx512State},
    {"avx512vbmi", 7, 0, kEcx, 1, kAvx512State}, {"avx512vnni", 7, 0, kEcx, 11, kAvx512State},
};

using Registers = std::array<unsigned, 4>;

/// Zeros where the CPU has no such leaf.
Registers CpuId(unsigned leaf, unsigned subleaf) noexcept {
  Registers found = {};
  if (subleaf > 0 && CpuId(leaf, 0)[kEax] < subleaf) return {};
  if (__get_cpuid_count(leaf, subleaf, &found[kEax], &found[kEbx], &found[kEcx], &found[kEdx]) ==
      0) {
    return {};
  }
  return found;
}

/// XCR0: the registers that the system keeps for a thread.
std::uint32_t KeptState() noexcept {
  constexpr unsigned kOsxsave = 27;
  if ((CpuId(1, 0)[kEcx] >> kOsxsave & 1) == 0) return 0;
  std::uint32_t low = 0;
  std::uint32_t high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

bool Detect(const FeatureRow& row, std::uint32_t kept) noexcept {
  return (CpuId(row.leaf, row.subleaf)[row.in] >> row.bit & 1) != 0 &&
         (kept & row.state) == row.state;
}

}  // namespace

bool X86Has(std::string_view feature) noexcept {
  static const auto found = [] {
    std::array<bool, std::size(kFeatures)> all = {};
    const std::uint32_t kept = KeptState();
    std::ranges::transform(kFeatures, all.begin(),
                           [&](const FeatureRow& row) { return Detect(row, kept); });
    return all;
  }();
  const auto* const row = std::ranges::find(kFeatures, feature, &FeatureRow::name);
  return row != std::end(kFeatures) && found[static_cast<std::size_t>(row - kFeatures)];
}
#else
bool X86Has(std::string_view /*feature*/) noexcept { return false; }
#endif

}  // namespace bittern::kernels
