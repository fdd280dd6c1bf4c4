// SPDX-License-Identifier: Apache-2.0
// The kernels of layers with a recurrent state: on every instruction set the bits of loops as they
// are written in kernel.h.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "base/guarded_buffer_for_test.hpp"
#include "kernels/float32/float32_for_test.hpp"
#include "kernels/float32/fma_for_test.hpp"

namespace bittern::kernels {
namespace {

class Recurrent : public FloatKernelTest {};

TEST_P(Recurrent, ConvIsTheWrittenOne) {
  for (const std::size_t size : {1u, 15u, 16u, 17u, 100u, 256u}) {
    for (const std::size_t taps : {1u, 2u, 4u, 9u}) {
      const auto inputs = NormalFloats(taps * size, 21), weights = NormalFloats(taps * size, 22);
      std::vector<const float*> rows;
      for (std::size_t tap = 0; tap < taps; ++tap) rows.push_back(&inputs[tap * size]);
      GuardedBuffer<float> got(size), want(size), sums(size);
      ConvArgs args{.rows = rows.data(),
                    .weights = weights.data(),
                    .num_taps = taps,
                    .size = size,
                    .out = got.data()};
      ops().conv_silu(&args);
      for (std::size_t i = 0; i < size; ++i) {
        float sum = 0;
        for (std::size_t tap = 0; tap < taps; ++tap) {
          sum = Fma(rows[tap][i], weights[tap * size + i], sum);
        }
        sums.data()[i] = sum;
      }
      const std::vector<float> ones(size, 1.0f);
      ops().silu_mul(sums.data(), ones.data(), size, want.data());
      for (std::size_t i = 0; i < size; ++i) ASSERT_EQ(got.data()[i], want.data()[i]) << i;
    }
  }
}

/// The rule as it is written, in float with the fused steps of the contract.
void PlainDeltaRule(const DeltaArgs& args) {
  for (std::size_t t = 0; t < args.num_tokens; ++t) {
    const float* q = args.queries + t * args.stride;
    const float* k = args.keys + t * args.stride;
    for (std::size_t v = 0; v < args.value_dim; ++v) {
      float known = 0, out = 0;
      for (std::size_t i = 0; i < args.key_dim; ++i) {
        float& s = args.state[i * args.value_dim + v];
        s *= args.decays[t * args.gate_stride];
        known = Fma(s, k[i], known);
      }
      const float change =
          (args.values[t * args.stride + v] - known) * args.rates[t * args.gate_stride];
      for (std::size_t i = 0; i < args.key_dim; ++i) {
        float& s = args.state[i * args.value_dim + v];
        s = Fma(k[i], change, s);
        out = Fma(s, q[i], out);
      }
      args.out[t * args.out_stride + v] = out;
    }
  }
}

TEST_P(Recurrent, DeltaRuleIsTheWrittenOne) {
  for (const std::size_t value_dim : {16u, 32u, 48u, 80u, 128u}) {
    for (const std::size_t key_dim : {1u, 16u, 33u, 128u}) {
      constexpr std::size_t kTokens = 5;
      const std::size_t stride = 2 * key_dim + value_dim;
      const auto rows = NormalFloats(kTokens * stride, 11);
      const auto start = NormalFloats(key_dim * value_dim, 12);
      const std::vector<float> gates = {0.5f, 0.1f, 1, 0, 0.25f, 0.9f, 0.75f, 1, 0.875f, 0.3f};
      std::vector<float> got(start), want(start);
      GuardedBuffer<float> got_out(kTokens * value_dim), want_out(kTokens * value_dim);
      DeltaArgs args{.state = got.data(),
                     .queries = rows.data(),
                     .keys = rows.data() + key_dim,
                     .values = rows.data() + 2 * key_dim,
                     .stride = stride,
                     .decays = gates.data(),
                     .rates = gates.data() + 1,
                     .gate_stride = 2,
                     .out = got_out.data(),
                     .out_stride = value_dim,
                     .num_tokens = kTokens,
                     .key_dim = key_dim,
                     .value_dim = value_dim};
      ops().delta_rule(&args);
      args.state = want.data();
      args.out = want_out.data();
      PlainDeltaRule(args);
      ASSERT_EQ(got, want) << key_dim << " x " << value_dim;
      for (std::size_t i = 0; i < kTokens * value_dim; ++i) {
        ASSERT_EQ(got_out.data()[i], want_out.data()[i]) << key_dim << " x " << value_dim;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Recurrent, testing::ValuesIn(FloatKernels()), FloatKernelName);

}  // namespace
}  // namespace bittern::kernels
