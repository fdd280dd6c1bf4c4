// SPDX-License-Identifier: Apache-2.0
// a * b + c, rounded once: the CPU's instruction where there is one, else the C library's function.
// The libraries of Windows compilers round it twice.
#pragma once

#include <cmath>

#include "kernels/x86_features.hpp"

namespace bittern::kernels {

#if defined(__x86_64__)
__attribute__((target("fma"))) inline float InstructionFma(float a, float b, float c) {
  return __builtin_fmaf(a, b, c);
}
#else
inline float InstructionFma(float a, float b, float c) { return std::fmaf(a, b, c); }
#endif

inline float Fma(float a, float b, float c) {
  static const bool has_instruction = X86Has("fma");
  return has_instruction ? InstructionFma(a, b, c) : std::fmaf(a, b, c);
}

}  // namespace bittern::kernels
