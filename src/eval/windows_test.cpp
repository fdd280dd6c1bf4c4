// SPDX-License-Identifier: Apache-2.0
#include "eval/windows.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

namespace bittern::eval {
namespace {

using ::testing::Each;

std::vector<Window> Cut(std::size_t tokens, WindowMethod method, int size, int stride = 0) {
  return CutWindows(tokens, {.method = method, .size = size, .stride = stride}).value();
}

// llama.cpp: n_chunk = tokens / n_ctx, first = n_ctx / 2, n_ctx - first - 1 tokens count.
TEST(Windows, ChunksAreThoseOfLlamaPerplexity) {
  for (const std::size_t size : {2, 3, 8, 512}) {
    const auto windows = Cut(5 * size + 1, WindowMethod::kChunks, static_cast<int>(size));
    ASSERT_EQ(windows.size(), 5u);
    for (std::size_t i = 0; i < windows.size(); ++i) {
      EXPECT_EQ(windows[i].begin, i * size);
      EXPECT_EQ(windows[i].end, (i + 1) * size);
      const std::size_t first = size / 2;
      EXPECT_EQ(windows[i].num_scored(), std::max<std::size_t>(size - first - 1, 1));
      EXPECT_TRUE(windows[i].starts_with_bos);
    }
  }
}

// llama.cpp: n_ctx grows by stride / 2, n_chunk = ceil((tokens - n_ctx) / stride), the logits
// n_ctx - stride - 1 .. n_ctx - 2 predict the tokens after them.
TEST(Windows, StridedAreThoseOfLlamaPerplexity) {
  for (const std::size_t tokens : {1000, 1001, 1015, 1016, 1017}) {
    const std::size_t size = 100 + 32 / 2, stride = 32;
    const auto windows = Cut(tokens, WindowMethod::kStrided, 100, 32);
    ASSERT_EQ(windows.size(), (tokens - size + stride - 1) / stride);
    for (std::size_t i = 0; i < windows.size(); ++i) {
      EXPECT_EQ(windows[i].begin, i * stride);
      EXPECT_EQ(windows[i].end, i * stride + size);
      EXPECT_EQ(windows[i].first_scored, i * stride + size - stride);
      EXPECT_LE(windows[i].end, tokens);
    }
  }
}

TEST(Windows, EveryTokenIsScoredOnce) {
  for (const std::size_t tokens : {2, 3, 10, 31, 32, 33, 64, 65, 100}) {
    for (const int size : {2, 5, 32}) {
      for (int stride = 0; stride <= size; ++stride) {
        std::vector<int> scored(tokens);
        for (const Window& window : Cut(tokens, WindowMethod::kEveryToken, size, stride)) {
          EXPECT_LE(window.end - window.begin, static_cast<std::size_t>(size) + 1);
          EXPECT_GT(window.first_scored, window.begin);
          EXPECT_FALSE(window.starts_with_bos);
          for (std::size_t i = window.first_scored; i < window.end; ++i) ++scored[i];
        }
        EXPECT_EQ(scored[0], 0);
        scored.erase(scored.begin());
        EXPECT_THAT(scored, Each(1)) << tokens << " " << size << " " << stride;
      }
    }
  }
}

TEST(Windows, NoMoreThanAskedFor) {
  WindowOptions options{.size = 10, .most = 3};
  EXPECT_EQ(CutWindows(100, options).value().size(), 3u);
  options.most = 0;
  EXPECT_EQ(CutWindows(100, options).value().size(), 0u);
}

TEST(Windows, ShortTextsAndBadOptionsAreRefused) {
  EXPECT_FALSE(CutWindows(9, {.size = 10}));
  EXPECT_FALSE(CutWindows(1, {.method = WindowMethod::kEveryToken}));
  EXPECT_FALSE(CutWindows(100, {.size = 1}));
  EXPECT_FALSE(CutWindows(100, {.size = 10, .stride = 11}));
  EXPECT_FALSE(CutWindows(100, {.method = WindowMethod::kStrided, .size = 10, .stride = 1}));
  EXPECT_FALSE(CutWindows(11, {.method = WindowMethod::kStrided, .size = 10, .stride = 2}));
}

TEST(Windows, AnItemBeginsWithBosWhereThatIsWanted) {
  std::vector<TokenId> tokens(20);
  std::iota(tokens.begin(), tokens.end(), 100);
  const Window window{4, 10, 7, true};
  EXPECT_EQ(ItemOf(window, tokens, 1).tokens, (std::vector<TokenId>{1, 105, 106, 107, 108, 109}));
  EXPECT_EQ(ItemOf(window, tokens, -1).tokens[0], 104);
  EXPECT_EQ(ItemOf(window, tokens, 1).first_scored, 3u);
}

}  // namespace
}  // namespace bittern::eval
