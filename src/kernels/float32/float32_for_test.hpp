// SPDX-License-Identifier: Apache-2.0
// The base of tests that run once with each kernel of float operations.
#pragma once

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "kernels/registry.hpp"

namespace bittern::kernels {

inline std::vector<const KernelInfo*> FloatKernels() {
  std::vector<const KernelInfo*> kernels;
  for (const KernelInfo* kernel : AllKernels()) {
    if (kernel->float32 != nullptr) kernels.push_back(kernel);
  }
  return kernels;
}

class FloatKernelTest : public testing::TestWithParam<const KernelInfo*> {
 protected:
  void SetUp() override {
    if (!Supports(GetParam()->isa)) GTEST_SKIP() << "this CPU lacks " << GetParam()->name;
  }
  const FloatOps& ops() { return *GetParam()->float32; }
};

inline std::string FloatKernelName(const testing::TestParamInfo<const KernelInfo*>& info) {
  return info.param->name;
}

inline std::vector<float> NormalFloats(std::size_t size, std::uint32_t seed) {
  std::mt19937 rng(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(size);
  for (float& value : values) value = normal(rng);
  return values;
}

}  // namespace bittern::kernels
