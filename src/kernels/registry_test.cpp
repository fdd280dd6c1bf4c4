// SPDX-License-Identifier: Apache-2.0
// The promises of kernels.def and operations.def to each other.
#include "kernels/registry.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace bittern::kernels {
namespace {

/// The operations that a line of kernels.def has a table of.
std::set<std::string> OperationsOf(const KernelInfo& kernel) {
  std::set<std::string> names;
#define OPERATION(operation, Table, what) \
  if (kernel.operation != nullptr) names.insert(#operation);
#include "kernels/operations.def"
#undef OPERATION
  return names;
}

TEST(Registry, EveryOperationHasAScalarKernel) {
  const Kernels scalar = SelectKernels([](Isa isa) { return isa == Isa::scalar; });
#define OPERATION(operation, Table, what)                    \
  ASSERT_NE(scalar.operation##_info, nullptr) << #operation; \
  EXPECT_STREQ(scalar.operation##_info->name, #operation "_scalar");
#include "kernels/operations.def"
#undef OPERATION
}

TEST(Registry, EveryKernelHasTheTableOfItsOperation) {
  ASSERT_FALSE(AllKernels().empty());
  for (const KernelInfo* kernel : AllKernels()) {
    const std::set<std::string> operations = OperationsOf(*kernel);
    ASSERT_EQ(operations.size(), 1u) << kernel->name;
    EXPECT_EQ(*operations.begin() + "_" + std::string(IsaName(kernel->isa)), kernel->name);
  }
}

}  // namespace
}  // namespace bittern::kernels
