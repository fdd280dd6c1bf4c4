// SPDX-License-Identifier: Apache-2.0
// The keys of rotated weights: each wrong one is named.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "model/load/load_for_test.hpp"
#include "model/weights.hpp"

namespace bittern::model {
namespace {

using load_test::Why;
using testing::AllOf;
using testing::HasSubstr;

TEST(ModelLoad, RotationIsCheckedByName) {
  const std::string p = "prism.hadamard.";
  const auto rotated = [] {
    SmallModel small("qwen35");
    small.Rotate(3);
    return small;
  };
  EXPECT_EQ(Why(rotated()), "loaded");
  const auto expect = [&](const char* key, const char* found, auto change) {
    SmallModel small = rotated();
    change(small);
    EXPECT_THAT(Why(small), AllOf(HasSubstr(p + key), HasSubstr(found)));
  };
  for (const std::uint32_t version : {0u, 3u}) {
    expect("version", "1 or 2", [&](SmallModel& m) { m.whole_keys[p + "version"] = version; });
  }
  for (const std::uint32_t block : {0u, 8u, 48u, 96u}) {
    expect("block_size", "power of two", [&](auto& m) { m.whole_keys[p + "block_size"] = block; });
  }
  expect("block_size", "not divide", [&](auto& m) { m.whole_keys[p + "block_size"] = 1024; });
  for (const char* key : {"transform", "axis", "sign_mode"}) {
    expect(key, "\"other\"", [&](auto& m) { m.texts[p + key] = "other"; });
    expect(key, "missing", [&](auto& m) { m.texts.erase(p + key); });
  }
  for (const char* key : {"version", "block_size"}) {
    expect(key, "missing", [&](auto& m) { m.whole_keys.erase(p + key); });
  }
  for (const char* key : {"sign_widths", "sign_values"}) {
    expect(key, "missing", [&](auto& m) { m.int_lists.erase(p + key); });
    expect(key, "expected", [&](auto& m) { m.int_lists[p + key].push_back(256); });
    expect(key, "expected", [&](auto& m) { m.int_lists[p + key].clear(); });
  }
  expect("sign_values", "element 7 is 0", [&](auto& m) { m.int_lists[p + "sign_values"][7] = 0; });
  expect("sign_widths", "expected", [&](auto& m) { m.int_lists[p + "sign_widths"][0] = -512; });
  for (const char* key : {"weight_names", "inverse_weight_names"}) {
    expect(key, "missing", [&](auto& m) { m.string_lists.erase(p + key); });
    expect(key, "\"output_norm.weight\"",
           [&](auto& m) { m.string_lists[p + key].push_back("output_norm.weight"); });
    expect(key, "missing", [&](auto& m) { m.string_lists[p + key].pop_back(); });
    expect(key, "twice",
           [&](auto& m) { m.string_lists[p + key].push_back(m.string_lists[p + key].front()); });
  }
  expect("tied_output", "expected true", [&](auto& m) { m.flags.erase(p + "tied_output"); });
  expect("tied_output", "has the tensor output.weight", [&](auto& m) {
    m.AddFloats("output.weight", {SmallModel::kHidden, SmallModel::kVocab}, 0.05f);
  });
  expect("tied_output", "lacks the tensor", [&](auto& m) {
    m.whole_keys[p + "version"] = 1;
    m.flags.erase(p + "tied_output");
  });
  expect("colour", "not known", [&](auto& m) { m.texts[p + "colour"] = "blue"; });
  SmallModel plain("llama");
  plain.Rotate(1);
  EXPECT_EQ(Why(plain), "loaded");
  plain.flags[p + "gdn_v_grouped"] = true;
  EXPECT_THAT(Why(plain), HasSubstr("gdn_v_grouped"));
}

}  // namespace
}  // namespace bittern::model
