// SPDX-License-Identifier: Apache-2.0
// Features of an x86-64 CPU, asked of the CPU itself: run-time libraries of compilers differ in
// __builtin_cpu_supports (zig's finds nothing). Any thread.
#pragma once

#include <string_view>

namespace bittern::kernels {

/// Whether the CPU has a feature, under gcc's name for it ("avx2"), and the system keeps its
/// registers. False for a name without a row in x86_features.cpp, and on other CPUs.
[[nodiscard]] bool X86Has(std::string_view feature) noexcept;

}  // namespace bittern::kernels
