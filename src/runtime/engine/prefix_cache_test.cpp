// SPDX-License-Identifier: Apache-2.0
// The prefix cache against a plain list of everything it was given.
#include "runtime/engine/prefix_cache.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace bittern::runtime {
namespace {

model::ModelConfig SmallConfig() {
  model::ModelConfig config{};
  config.num_layers = config.num_heads = config.num_kv_heads = 1;
  config.head_dim = 16;
  return config;
}

std::vector<TokenId> Tokens(std::size_t count, TokenId first) {
  std::vector<TokenId> tokens(count);
  for (std::size_t i = 0; i < count; ++i) tokens[i] = first + static_cast<TokenId>(i % 50);
  return tokens;
}

/// A sequence that has run `tokens`.
model::KvSequence HasRun(model::KvPool* pool, std::size_t count) {
  model::KvSequence sequence(pool);
  EXPECT_TRUE(sequence.Reserve(static_cast<int>(count)));
  sequence.Extend(static_cast<int>(count));
  return sequence;
}

TEST(PrefixCache, FindsTheLongestKnownPrefixAndSharesItsPages) {
  auto pool = model::KvPool::Create(SmallConfig(), 16, model::KvType::kF16).value();
  PrefixCache cache(&pool, 16);
  const std::vector<TokenId> text = Tokens(700, 1);
  {
    const model::KvSequence sequence = HasRun(&pool, 700);
    cache.Insert(text, sequence);
  }
  EXPECT_EQ(pool.free_pages(), 13);
  EXPECT_EQ(cache.evictable_pages(), 3);
  std::vector<TokenId> other = text;
  other[600] = 999;
  model::KvSequence fresh(&pool);
  EXPECT_EQ(cache.Attach(other, 699, &fresh), 600);
  EXPECT_EQ(fresh.length(), 600);
  EXPECT_EQ(pool.free_pages(), 13);
  EXPECT_EQ(cache.evictable_pages(), 0);
  EXPECT_FALSE(cache.Evict());
  model::KvSequence limited(&pool);
  EXPECT_EQ(cache.Attach(text, 300, &limited), 300);
  EXPECT_NEAR(cache.stats().hit_rate(), 900.0 / 1400, 1e-9);
}

TEST(PrefixCache, GivesUpTheLeastRecentlyUsedLeafFirst) {
  auto pool = model::KvPool::Create(SmallConfig(), 4, model::KvType::kF16).value();
  PrefixCache cache(&pool, 4);
  cache.Insert(Tokens(512, 1), HasRun(&pool, 512));
  cache.Insert(Tokens(100, 500), HasRun(&pool, 100));
  {
    model::KvSequence again(&pool);
    EXPECT_EQ(cache.Attach(Tokens(512, 1), 511, &again), 511);
  }
  EXPECT_TRUE(cache.Evict());  // the short one
  model::KvSequence one(&pool), two(&pool);
  EXPECT_EQ(cache.Attach(Tokens(100, 500), 99, &one), 0);
  EXPECT_EQ(cache.Attach(Tokens(512, 1), 511, &two), 511);
}

TEST(PrefixCache, KeepsNothingWhereItMayNot) {
  auto pool = model::KvPool::Create(SmallConfig(), 4, model::KvType::kF16).value();
  PrefixCache cache(&pool, 0);
  cache.Insert(Tokens(300, 1), HasRun(&pool, 300));
  EXPECT_EQ(pool.free_pages(), 4);
}

TEST(PrefixCache, RandomTextsAreFoundAsFarAsAnyTextThatIsKept) {
  for (unsigned seed = 1; seed <= 10; ++seed) {
    std::mt19937 rng(seed);
    auto pool = model::KvPool::Create(SmallConfig(), 64, model::KvType::kF16).value();
    std::vector<std::vector<TokenId>> known;
    {
      PrefixCache cache(&pool, 64);
      for (int i = 0; i < 12; ++i) {
        // Texts of few tokens, so that prefixes are shared; no eviction at this size.
        std::vector<TokenId> text(1 + rng() % 600);
        const std::size_t same = known.empty() ? 0 : rng() % (known.back().size() + 1);
        for (std::size_t t = 0; t < text.size(); ++t) {
          text[t] = t < same ? known.back()[t] : static_cast<TokenId>(rng() % 3);
        }
        std::size_t expected = 0;
        for (const auto& other : known) {
          const auto end = std::ranges::mismatch(text, other).in1;
          expected = std::max(expected, static_cast<std::size_t>(end - text.begin()));
        }
        model::KvSequence sequence(&pool);
        const int found = cache.Attach(text, static_cast<int>(text.size()), &sequence);
        EXPECT_EQ(static_cast<std::size_t>(found), expected) << seed << " " << i;
        ASSERT_TRUE(sequence.Reserve(static_cast<int>(text.size()) - found));
        sequence.Extend(static_cast<int>(text.size()) - found);
        cache.Insert(text, sequence);
        known.push_back(text);
      }
      while (cache.Evict()) {
      }
      EXPECT_EQ(pool.free_pages(), 64);
    }
  }
}

}  // namespace
}  // namespace bittern::runtime
