// SPDX-License-Identifier: Apache-2.0
// Part of each test program that runs kernels: the library asks no environment, so this forces the
// instruction set that BITTERN_ISA names before main begins.
#include <cstdlib>

#include "kernels/instruction_sets.hpp"

namespace {

[[maybe_unused]] const bool forced = [] {
  const char* const name = std::getenv("BITTERN_ISA");
  bittern::kernels::ForceIsa(name == nullptr ? "" : name);
  return true;
}();

}  // namespace
