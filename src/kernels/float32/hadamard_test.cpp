// SPDX-License-Identifier: Apache-2.0
// The Walsh-Hadamard transform: on every instruction set the bits of its steps as they are written
// in hadamard.inc, and near the matrix of its definition.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "base/guarded_buffer_for_test.hpp"
#include "kernels/float32/float32_for_test.hpp"

namespace bittern::kernels {
namespace {

class HadamardTest : public FloatKernelTest {};

std::vector<float> Signs(std::size_t size, std::size_t block) {
  const auto scale = static_cast<float>(1 / std::sqrt(static_cast<double>(block)));
  std::mt19937 rng(7);
  std::vector<float> signs(size);
  for (float& sign : signs) sign = rng() % 2 == 0 ? scale : -scale;
  return signs;
}

/// The steps, one pair at a time.
void PlainSteps(std::vector<float>* x, std::size_t block) {
  for (std::size_t distance = 1; distance < block; distance *= 2) {
    for (std::size_t i = 0; i < x->size(); ++i) {
      if ((i & distance) != 0) continue;
      const float a = (*x)[i], b = (*x)[i + distance];
      (*x)[i] = a + b;
      (*x)[i + distance] = a - b;
    }
  }
}

constexpr std::size_t kBlocks[] = {16, 32, 64, 128, 256, 512, 1024, 4096};

TEST_P(HadamardTest, StepsAreTheWrittenOnes) {
  for (const std::size_t block : kBlocks) {
    const std::size_t size = 3 * block;
    const auto x = NormalFloats(size, 1), signs = Signs(size, block);
    GuardedBuffer<float> got(size);
    ops().hadamard(x.data(), signs.data(), size, block, got.data());
    std::vector<float> want(size);
    for (std::size_t i = 0; i < size; ++i) want[i] = x[i] * signs[i];
    PlainSteps(&want, block);
    for (std::size_t i = 0; i < size; ++i) ASSERT_EQ(got.data()[i], want[i]) << block << ", " << i;

    ops().hadamard_inverse(x.data(), signs.data(), size, block, got.data());
    want = x;
    PlainSteps(&want, block);
    for (std::size_t i = 0; i < size; ++i) {
      ASSERT_EQ(got.data()[i], want[i] * signs[i]) << block << ", " << i;
    }
  }
}

TEST_P(HadamardTest, IsTheMatrixOfTheDefinition) {
  for (const std::size_t block : kBlocks) {
    const auto x = NormalFloats(block, 2), signs = Signs(block, block);
    std::vector<float> got(block);
    ops().hadamard(x.data(), signs.data(), block, block, got.data());
    for (const std::size_t row : {std::size_t{0}, std::size_t{1}, std::size_t{5}, block - 2}) {
      double sum = 0;
      for (std::size_t c = 0; c < block; ++c) {
        const double product = static_cast<double>(x[c]) * static_cast<double>(signs[c]);
        sum += std::popcount(row & c) % 2 == 0 ? product : -product;
      }
      EXPECT_NEAR(got[row], sum, 1e-5) << block << ", " << row;
    }
  }
}

TEST_P(HadamardTest, TheInverseUndoesItInPlace) {
  for (const std::size_t block : kBlocks) {
    const std::size_t size = 2 * block;
    const auto x = NormalFloats(size, 3), signs = Signs(size, block);
    std::vector<float> turned = x;
    ops().hadamard(turned.data(), signs.data(), size, block, turned.data());
    ops().hadamard_inverse(turned.data(), signs.data(), size, block, turned.data());
    for (std::size_t i = 0; i < size; ++i) ASSERT_NEAR(turned[i], x[i], 1e-5) << block;
  }
}

INSTANTIATE_TEST_SUITE_P(All, HadamardTest, testing::ValuesIn(FloatKernels()), FloatKernelName);

}  // namespace
}  // namespace bittern::kernels
