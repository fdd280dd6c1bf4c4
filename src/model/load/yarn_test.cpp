// SPDX-License-Identifier: Apache-2.0
// YaRN: its frequencies, and the keys of a file that ask for it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "model/load/load_for_test.hpp"
#include "model/weights.hpp"

namespace bittern::model {
namespace {

using load_test::Load;
using load_test::Why;
using testing::HasSubstr;

/// The keys of Ternary Bonsai 1.7B.
SmallModel WithYarn() {
  SmallModel small("qwen3");  // a head has 128 elements
  small.rope_theta = 1e6f;
  small.texts["qwen3.rope.scaling.type"] = "yarn";
  small.keys["rope.scaling.factor"] = 4;
  small.keys["rope.scaling.original_context_length"] = 8192;
  return small;
}

// The expected numbers were computed in Python by the formula of transformers
// (modeling_rope_utils.py).
TEST(ModelLoad, YarnStretchesByThePlaceOfAPair) {
  const auto loaded = Load(WithYarn());
  ASSERT_TRUE(loaded.model) << loaded.model.error().message;
  EXPECT_DOUBLE_EQ(loaded.model->config().rope_scaling.magnitude, 1.138629436111989);
  const std::vector<double>& frequencies = loaded.model->weights().inv_freq;
  constexpr std::pair<std::size_t, double> kExpected[] = {{0, 1.0},
                                                          {20, 0.011570259484946489},
                                                          {25, 0.0029322011772711177},
                                                          {30, 0.0006567333714077245},
                                                          {33, 0.00023701240816514175},
                                                          {34, 0.0001623454078940528},
                                                          {63, 3.102344401879299e-07}};
  for (const auto& [pair, expected] : kExpected) {
    EXPECT_NEAR(frequencies[pair], expected, expected * 1e-12) << pair;
  }
}

TEST(ModelLoad, YarnIsCheckedByName) {
  SmallModel small = WithYarn();
  for (const char* key : {"rope.scaling.yarn_log_multiplier", "rope.scaling.yarn_ext_factor",
                          "rope.scaling.yarn_attn_factor"}) {
    small = WithYarn();
    small.keys[key] = 2;
    EXPECT_THAT(Why(small), HasSubstr(std::string("qwen3.") + key));
  }
  for (const char* key : {"rope.scaling.factor", "rope.scaling.original_context_length"}) {
    small = WithYarn();
    small.keys.erase(key);
    EXPECT_THAT(Why(small), HasSubstr(std::string("qwen3.") + key));
  }
  small = WithYarn();
  small.keys["rope.scaling.yarn_beta_slow"] = 64;
  EXPECT_THAT(Why(small), HasSubstr("yarn_beta_fast"));
  small.keys["rope.scaling.yarn_beta_slow"] = 0;
  EXPECT_THAT(Why(small), HasSubstr("yarn_beta_slow"));
}

}  // namespace
}  // namespace bittern::model
