// SPDX-License-Identifier: Apache-2.0
// Pages are counted right whatever sequences do to each other, and what one sequence writes no
// other one sees.
#include "model/kv_pool.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <random>

namespace bittern::model {
namespace {

ModelConfig SmallConfig() {
  ModelConfig config{};
  config.num_layers = 2;
  config.num_heads = 4;
  config.num_kv_heads = 2;
  config.head_dim = 24;  // values are padded to 32
  return config;
}

/// A sequence beside a plain list of what it should hold.
struct Written {
  KvSequence sequence;
  std::vector<std::uint16_t> marks;  // one for each position
};

std::size_t PlaceOf(const KvSequence& sequence, std::size_t position) {
  const auto page = static_cast<std::size_t>(kPagePositions);
  return sequence.blocks()[position / page] * page + position % page;
}

/// The places of one position's key and value in one head; value elements d of 24.
std::uint16_t* Key(KvPool* pool, int layer, int head, std::size_t place, std::size_t d) {
  return reinterpret_cast<std::uint16_t*>(pool->keys(layer, head)) + (place / 16 * 24 + d) * 16 +
         place % 16;
}
std::uint16_t* Value(KvPool* pool, int layer, int head, std::size_t place, std::size_t d) {
  return reinterpret_cast<std::uint16_t*>(pool->values(layer, head)) + place * 32 + d;
}

void Write(KvPool* pool, Written* written, std::uint16_t mark) {
  const std::size_t place = PlaceOf(written->sequence, written->marks.size());
  for (int layer = 0; layer < 2; ++layer) {
    for (int head = 0; head < 2; ++head) {
      for (std::size_t d = 0; d < 24; ++d) {
        *Key(pool, layer, head, place, d) = mark;
        *Value(pool, layer, head, place, d) = mark;
      }
    }
  }
  written->marks.push_back(mark);
  written->sequence.Extend(1);
}

void ExpectHolds(KvPool* pool, const Written& written) {
  for (std::size_t p = 0; p < written.marks.size(); ++p) {
    const std::size_t place = PlaceOf(written.sequence, p);
    for (const std::size_t d : {0u, 23u}) {
      ASSERT_EQ(*Key(pool, 1, 1, place, d), written.marks[p]) << p;
      ASSERT_EQ(*Value(pool, 1, 1, place, d), written.marks[p]) << p;
      ASSERT_EQ(*Key(pool, 0, 1, place, d), written.marks[p]) << p;
    }
  }
}

TEST(KvPool, PagesComeInARowAndReturn) {
  KvPool pool = KvPool::Create(SmallConfig(), 4, KvType::kF16).value();
  {
    KvSequence sequence(&pool);
    EXPECT_TRUE(sequence.Reserve(600));
    EXPECT_EQ(std::vector<std::uint32_t>(sequence.pages().begin(), sequence.pages().end()),
              (std::vector<std::uint32_t>{0, 1, 2}));
    sequence.Extend(600);
    EXPECT_FALSE(sequence.Reserve(425));  // two pages, one is left
    EXPECT_EQ(pool.free_pages(), 1);
    EXPECT_TRUE(sequence.Reserve(424));
    sequence.Truncate(256);
    EXPECT_EQ(pool.free_pages(), 3);
  }
  EXPECT_EQ(pool.free_pages(), 4);
}

TEST(KvPool, AForkCopiesOnlyTheLastPartialPageAndOnlyWhenItWrites) {
  KvPool pool = KvPool::Create(SmallConfig(), 8, KvType::kF16).value();
  Written first{KvSequence(&pool), {}};
  ASSERT_TRUE(first.sequence.Reserve(300));
  for (int i = 0; i < 300; ++i) Write(&pool, &first, static_cast<std::uint16_t>(i + 1));
  Written second{first.sequence.Fork(300), first.marks};
  EXPECT_EQ(pool.free_pages(), 6);
  EXPECT_EQ(second.sequence.PagesNeeded(1), 1);
  ASSERT_TRUE(second.sequence.Reserve(1));
  EXPECT_EQ(pool.free_pages(), 5);
  EXPECT_EQ(first.sequence.PagesNeeded(1), 0);  // no other sequence sees its last page
  Write(&pool, &second, 7000);
  ASSERT_TRUE(first.sequence.Reserve(1));
  Write(&pool, &first, 8000);
  ExpectHolds(&pool, first);
  ExpectHolds(&pool, second);
}

TEST(KvPool, RandomForksWritesAndTruncationsNeverShowThroughAndLeakNothing) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    std::mt19937 rng(seed);
    const auto below = [&](std::size_t n) { return static_cast<std::size_t>(rng()) % n; };
    KvPool pool = KvPool::Create(SmallConfig(), 12, KvType::kF16).value();
    std::vector<Written> all;
    std::uint16_t mark = 1;
    for (int step = 0; step < 200; ++step) {
      const std::size_t choice = below(10);
      if (all.empty() || choice == 0) {
        all.push_back({KvSequence(&pool), {}});
      } else if (choice == 1) {
        Written& from = all[below(all.size())];
        const std::size_t length = below(from.marks.size() + 1);
        Written fork{from.sequence.Fork(static_cast<int>(length)), from.marks};
        fork.marks.resize(length);
        all.push_back(std::move(fork));
      } else if (choice == 2) {
        all.erase(all.begin() + static_cast<std::ptrdiff_t>(below(all.size())));
      } else if (choice == 3) {
        Written& one = all[below(all.size())];
        const std::size_t length = below(one.marks.size() + 1);
        one.sequence.Truncate(static_cast<int>(length));
        one.marks.resize(length);
      } else {
        Written& one = all[below(all.size())];
        const std::size_t count = 1 + below(200);
        const int needed = one.sequence.PagesNeeded(static_cast<int>(count));
        const bool reserved = one.sequence.Reserve(static_cast<int>(count));
        EXPECT_EQ(reserved, needed <= pool.free_pages() + (reserved ? needed : 0));
        for (std::size_t i = 0; reserved && i < count; ++i) Write(&pool, &one, mark++);
      }
      if (step % 20 == 19) {
        for (const Written& one : all) ExpectHolds(&pool, one);
      }
    }
    all.clear();
    EXPECT_EQ(pool.free_pages(), 12) << seed;
  }
}

}  // namespace
}  // namespace bittern::model
