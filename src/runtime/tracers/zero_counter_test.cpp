// SPDX-License-Identifier: Apache-2.0
#include "runtime/tracers/zero_counter.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "formats/architecture.hpp"

namespace bittern::runtime {
namespace {

using model::TracePoint;

template <class T>
std::span<const std::byte> Bytes(const std::vector<T>& values) {
  return std::as_bytes(std::span(values));
}

TEST(ZeroCounter, CountsShutGatesAndZeroInputs) {
  model::ModelConfig config{};
  config.num_layers = 2;
  config.intermediate_size = 4;
  config.traits = formats::FindArchitecture("bitnet-b1.58");
  ASSERT_NE(config.traits, nullptr);
  ZeroCounter counter(config);
  const std::vector<float> gates = {1, 0, -2, 3}, normed = {0, 0, 0, 0};
  const std::vector<std::int8_t> first = {0, 5}, second = {0, -1};  // in two parts
  for (int position = 0; position < 3; ++position) {
    counter.OnValues({0, 1, TracePoint::kGate, position}, Bytes(gates));
    counter.OnValues({0, 1, TracePoint::kAct, position}, Bytes(normed));
    counter.OnValues({0, 1, TracePoint::kFfnSubNorm, position}, Bytes(normed));
    counter.OnValues({0, 1, TracePoint::kFfnSubNorm, position}, Bytes(first));
    counter.OnValues({0, 1, TracePoint::kFfnSubNorm, position}, Bytes(second));
    counter.OnValues({0, 1, TracePoint::kFfnSubNorm, position},
                     Bytes(std::vector<float>{0}));  // scale
  }
  counter.OnValues({0, -1, TracePoint::kHead, 0}, Bytes(gates));
  EXPECT_EQ(counter.layers()[0].gates, 0u);
  EXPECT_EQ(counter.layers()[1].gates, 12u);
  EXPECT_EQ(counter.layers()[1].zero_gates, 6u);
  EXPECT_EQ(counter.layers()[1].inputs, 12u);
  EXPECT_EQ(counter.layers()[1].zero_inputs, 6u);
}

}  // namespace
}  // namespace bittern::runtime
