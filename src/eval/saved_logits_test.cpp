// SPDX-License-Identifier: Apache-2.0
#include "eval/saved_logits.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "eval/log_sum_exp.hpp"

namespace bittern::eval {
namespace {

constexpr SavedShape kShape{.window = 4, .vocab = 5, .windows = 2};

std::filesystem::path WriteSaved(const std::string& bytes) {
  const auto path = std::filesystem::path(testing::TempDir()) / "saved_logits";
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

std::string Saved(std::span<const std::vector<float>> rows) {
  const std::vector<TokenId> tokens = {0, 1, 2, 3, 4, 3, 2, 1};
  std::string bytes = SavedHeader(kShape, tokens);
  for (const auto& logits : rows) {
    std::vector<std::uint16_t> row(kShape.row_words());
    PackLogits(logits, row);
    bytes.append(reinterpret_cast<const char*>(row.data()), 2 * row.size());
  }
  return bytes;
}

const std::vector<std::vector<float>> kRows = {{1, 2, 3, -4, 0.5f}, {0, 0, 0, 0, 0}};

TEST(SavedLogits, WhatIsSavedComesBack) {
  ASSERT_EQ(kShape.rows(), 1u);  // of four tokens the last is scored
  ASSERT_EQ(kShape.row_words(), 10u);
  const auto saved = SavedLogits::Open(WriteSaved(Saved(kRows)));
  ASSERT_TRUE(saved) << saved.error().message;
  EXPECT_EQ(saved->shape().windows, 2);
  EXPECT_EQ(saved->tokens()[4], 4);
  for (std::size_t i = 0; i < 2; ++i) {
    const Divergence same = DivergenceOf(kRows[i], 2, saved->Row(i, 0));
    EXPECT_NEAR(same.kl, 0, 6e-5);  // half a step of (7 nats / 65535)
    EXPECT_NEAR(same.base_nats, ScoreOf(kRows[i], 2).nats, 2e-4);
    EXPECT_NEAR(same.p_change, 0, 1e-4);
    EXPECT_TRUE(same.same_top);
  }
}

TEST(SavedLogits, DivergenceIsThatOfItsDefinition) {
  const auto saved = SavedLogits::Open(WriteSaved(Saved(kRows)));
  ASSERT_TRUE(saved);
  const std::vector<float> other = {2, 1, 0, -1, 3};
  const Divergence found = DivergenceOf(other, 2, saved->Row(0, 0));
  const double sum_a = LogSumExp(kRows[0]), sum_b = LogSumExp(other);
  double kl = 0;
  for (std::size_t i = 0; i < other.size(); ++i) {
    const double a = kRows[0][i] - sum_a, b = other[i] - sum_b;
    kl += std::exp(a) * (a - b);
  }
  EXPECT_NEAR(found.kl, kl, 1e-3);
  EXPECT_FALSE(found.same_top);
  EXPECT_NEAR(found.p_change, std::exp(-sum_b) - std::exp(3 - sum_a), 1e-3);
}

TEST(SavedLogits, BrokenFilesAreRefused) {
  const std::string whole = Saved(kRows);
  EXPECT_FALSE(SavedLogits::Open(WriteSaved("GGUF" + whole)));
  EXPECT_FALSE(SavedLogits::Open(WriteSaved(whole.substr(0, whole.size() - 1))));
  EXPECT_FALSE(SavedLogits::Open(WriteSaved(whole.substr(0, 19))));
  EXPECT_FALSE(SavedLogits::Open(WriteSaved(whole + "x")));
  std::string huge = whole;
  for (std::size_t at = 8; at < 20; ++at) huge[at] = '\x7f';
  EXPECT_FALSE(SavedLogits::Open(WriteSaved(huge)));
  EXPECT_FALSE(SavedLogits::Open("no such file"));
}

}  // namespace
}  // namespace bittern::eval
