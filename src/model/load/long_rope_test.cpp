// SPDX-License-Identifier: Apache-2.0
// LongRoPE, the alpha of Hunyuan and the scales of MiniCPM: what a file's keys and tensors make of
// them, and which are refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "model/load/load_for_test.hpp"
#include "model/weights.hpp"

namespace bittern::model {
namespace {

using load_test::Load;
using load_test::Why;
using testing::AllOf;
using testing::HasSubstr;

constexpr const char* kShort = "rope_factors_short.weight";
constexpr const char* kLong = "rope_factors_long.weight";

SmallModel WithLongRope() {
  SmallModel small("minicpm");
  small.AddLongRope();
  return small;
}

float FloatOf(const SmallModel& small, const char* name, std::size_t index) {
  float value;
  std::memcpy(&value, &small.tensors.at(name).data[index * 4], 4);
  return value;
}

TEST(ModelLoad, LongRopeDividesByTheFactorsOfItsContext) {
  for (const auto& [original, name, magnitude] :
       {std::tuple{0u, kShort, 1.0},  // the file names none: its own context of 64
        {64u, kShort, 1.0},
        {32u, kLong, std::sqrt(1 + std::log(2.0) / std::log(32.0))}}) {
    SmallModel small = WithLongRope();
    if (original != 0) small.keys["rope.scaling.original_context_length"] = original;
    const auto loaded = Load(small);
    ASSERT_TRUE(loaded.model) << loaded.model.error().message;
    EXPECT_NEAR(loaded.model->config().rope_scaling.magnitude, magnitude, 1e-12);
    const auto& frequencies = loaded.model->weights().inv_freq;
    for (std::size_t i = 0; i < frequencies.size(); ++i) {
      const double plain = std::pow(10000.0, -static_cast<double>(i) / 64);
      const double expected = plain / static_cast<double>(FloatOf(small, name, i));
      EXPECT_NEAR(frequencies[i], expected, expected * 1e-12) << i;
    }
  }
}

// The context of the run changes no factors; that of the model does.
TEST(ModelLoad, AShorterContextOfTheModelTakesTheShortFactors) {
  SmallModel small = WithLongRope();
  small.keys["rope.scaling.original_context_length"] = 32;
  const auto whole = Load(small), cut = Load(small, "minicpm.context_length=int:32");
  ASSERT_TRUE(whole.model && cut.model);
  EXPECT_NE(whole.model->weights().inv_freq, cut.model->weights().inv_freq);
}

TEST(ModelLoad, LongRopeIsCheckedByName) {
  for (const char* name : {kShort, kLong}) {
    SmallModel small = WithLongRope();
    small.tensors.erase(name);
    EXPECT_THAT(Why(small), AllOf(HasSubstr(name), HasSubstr("longrope")));
    small = WithLongRope();
    small.AddFloats(name, {63}, 0, 1);
    EXPECT_THAT(Why(small), AllOf(HasSubstr(name), HasSubstr("63")));
    for (const float factor : {0.0f, -1.0f, 1e-30f}) {
      small = WithLongRope();
      small.SetFloat(name, 5, factor);
      EXPECT_THAT(Why(small), AllOf(HasSubstr(name), HasSubstr("element 5"))) << factor;
    }
    small = WithLongRope();
    small.texts.clear();
    EXPECT_THAT(Why(small), AllOf(HasSubstr("rope_factors_"), HasSubstr("longrope")));
  }
  SmallModel small = WithLongRope();
  small.keys["rope.scaling.original_context_length"] = 1;
  EXPECT_THAT(Why(small), HasSubstr("minicpm.rope.scaling.original_context_length"));
  small = WithLongRope();
  small.float_keys["rope.scaling.attn_factor"] = NAN;
  EXPECT_THAT(Why(small), HasSubstr("minicpm.rope.scaling.attn_factor"));
}

TEST(ModelLoad, AnAlphaIsPartOfTheBase) {
  SmallModel small("hunyuan-dense");  // heads of 128
  const auto base = [&] { return Load(small).model.value().config().rope_theta; };
  EXPECT_EQ(base(), 10000);
  small.float_keys["rope.scaling.alpha"] = 0;
  EXPECT_EQ(base(), 10000);
  small.float_keys["rope.scaling.alpha"] = 1000;
  EXPECT_EQ(base(), 11158840);  // of the released files, which have the product
  for (const float alpha : {0.5f, -1.0f, 1e9f, NAN}) {
    small.float_keys["rope.scaling.alpha"] = alpha;
    EXPECT_THAT(Why(small), HasSubstr("hunyuan-dense.rope.scaling.alpha")) << alpha;
  }
}

TEST(ModelLoad, ScalesOfTheStreamAreNeeded) {
  for (const char* key : {"embedding_scale", "residual_scale", "logit_scale"}) {
    SmallModel small("minicpm");
    small.float_keys.erase(key);
    EXPECT_THAT(Why(small), AllOf(HasSubstr(std::string("minicpm.") + key + " is missing"),
                                  HasSubstr(std::string("override_kv=minicpm.") + key)));
    for (const float value : {0.0f, -1.0f, 1e9f, HUGE_VALF, NAN}) {
      small.float_keys[key] = value;
      EXPECT_THAT(Why(small), HasSubstr(std::string("minicpm.") + key)) << value;
    }
  }
}

}  // namespace
}  // namespace bittern::model
