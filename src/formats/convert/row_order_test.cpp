// SPDX-License-Identifier: Apache-2.0
#include "formats/convert/row_order.hpp"

#include <gtest/gtest.h>

#include <numeric>

namespace bittern::formats {
namespace {

TEST(RowOrder, LiteralVectors) {
  // A head of 6: row i and row i + 3 become neighbours.
  const auto to = RowPermutation(RowOrder::kHalves, RowOrder::kNeighbours, 12, 6);
  ASSERT_TRUE(to);
  EXPECT_EQ(*to, (std::vector<std::uint32_t>{0, 3, 1, 4, 2, 5, 6, 9, 7, 10, 8, 11}));
  const auto back = RowPermutation(RowOrder::kNeighbours, RowOrder::kHalves, 12, 6);
  ASSERT_TRUE(back);
  EXPECT_EQ(*back, (std::vector<std::uint32_t>{0, 2, 4, 1, 3, 5, 6, 8, 10, 7, 9, 11}));
}

TEST(RowOrder, ThereAndBackIsNothing) {
  const auto to = *RowPermutation(RowOrder::kHalves, RowOrder::kNeighbours, 640, 128);
  const auto back = *RowPermutation(RowOrder::kNeighbours, RowOrder::kHalves, 640, 128);
  for (std::uint32_t row = 0; row < 640; ++row) EXPECT_EQ(to[back[row]], row);
}

TEST(RowOrder, RefusesWhatAreNoHeads) {
  EXPECT_FALSE(RowPermutation(RowOrder::kHalves, RowOrder::kNeighbours, 12, 5));
  EXPECT_FALSE(RowPermutation(RowOrder::kHalves, RowOrder::kNeighbours, 12, 3));
  EXPECT_FALSE(RowPermutation(RowOrder::kHalves, RowOrder::kNeighbours, 12, 0));
  EXPECT_FALSE(RowPermutation(RowOrder::kHalves, RowOrder::kNeighbours, 10, 4));
  EXPECT_TRUE(RowPermutation(RowOrder::kHalves, RowOrder::kHalves, 10, 0));  // nothing to do
}

TEST(RowOrder, WhatFilesSay) {
  Metadata llama, hugging_face, bitnet, odd;
  const auto text = [](std::string_view value) { return MetaValue{MetaType::kString, value}; };
  ASSERT_TRUE(llama.Add("general.architecture", text("llama")));
  EXPECT_EQ(*RowOrderOf(llama), RowOrder::kNeighbours);
  ASSERT_TRUE(hugging_face.Add("general.architecture", text("llama")));
  ASSERT_TRUE(hugging_face.Add("bittern.rope_pairing", text("neox")));
  EXPECT_EQ(*RowOrderOf(hugging_face), RowOrder::kHalves);
  ASSERT_TRUE(bitnet.Add("general.architecture", text("bitnet-b1.58")));
  EXPECT_EQ(*RowOrderOf(bitnet), RowOrder::kHalves);
  ASSERT_TRUE(odd.Add("bittern.rope_pairing", text("both")));
  EXPECT_FALSE(RowOrderOf(odd));
}

TEST(RowOrder, OnlyQAndKHaveOne) {
  EXPECT_TRUE(HasRowOrder("blk.0.attn_q.weight"));
  EXPECT_TRUE(HasRowOrder("blk.17.attn_k.weight"));
  EXPECT_FALSE(HasRowOrder("blk.0.attn_v.weight"));
  EXPECT_FALSE(HasRowOrder("blk.0.attn_q_norm.weight"));
}

}  // namespace
}  // namespace bittern::formats
