// SPDX-License-Identifier: Apache-2.0
// The base of tests that run once with each kernel of float operations.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "base/guarded_buffer_for_test.hpp"
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

inline const FloatOps& Scalar() {
  return *SelectKernels([](Isa isa) { return isa == Isa::scalar; }).float32_info->float32;
}

inline constexpr std::size_t kLengths[] = {1, 2, 15, 16, 17, 31, 32, 33, 64, 100, 256, 2560, 6912};

/// Normal numbers; or numbers of wildly different size with zeros, subnormals and huge ones.
inline std::vector<float> RandomFloats(std::size_t n, std::uint32_t seed, bool wild) {
  std::mt19937 rng(seed);
  std::normal_distribution<float> normal;
  std::uniform_int_distribution<int> exponent(-149, 60);
  std::vector<float> out(n);
  for (auto& x : out) {
    x = normal(rng);
    if (wild) x = rng() % 8 == 0 ? 0.0f : std::ldexp(x, exponent(rng));
  }
  return out;
}

template <class T>
struct Guarded : GuardedBuffer<T> {
  explicit Guarded(const std::vector<T>& from) : GuardedBuffer<T>(from.size()) {
    std::copy(from.begin(), from.end(), this->data());
  }
};

}  // namespace bittern::kernels
