// SPDX-License-Identifier: Apache-2.0
#include "base/threads/thread_pool.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <numeric>
#include <thread>
#include <vector>

namespace bittern {
namespace {

class ThreadPoolOfSize : public testing::TestWithParam<int> {};

TEST_P(ThreadPoolOfSize, RunsEveryIndexOnceAndSharesCoverTheRange) {
  auto pool = ThreadPool::Create(GetParam()).value();
  for (std::size_t count : {0u, 1u, 2u, 7u, 1000u}) {
    std::vector<std::atomic<int>> hits(count);
    std::atomic<int> members{0};
    pool.Run([&](Team& team) {
      members += 1 << (4 * team.index());
      const Range range = team.Share(count);
      for (std::size_t i = range.begin; i < range.end; ++i) ++hits[i];
    });
    for (auto& hit : hits) EXPECT_EQ(hit, 1);
    int expected = 0;
    for (int i = 0; i < GetParam(); ++i) expected += 1 << (4 * i);
    EXPECT_EQ(members, expected);
  }
}

TEST_P(ThreadPoolOfSize, BarrierOrdersWritesBeforeReads) {
  auto pool = ThreadPool::Create(GetParam()).value();
  const auto size = static_cast<std::size_t>(GetParam());
  std::vector<int> slots(size, 0);
  std::atomic<int> wrong{0};
  pool.Run([&](Team& team) {
    for (int round = 1; round <= 2000; ++round) {
      slots[static_cast<std::size_t>(team.index())] = round;
      team.Barrier();
      if (std::accumulate(slots.begin(), slots.end(), 0) != round * GetParam()) ++wrong;
      team.Barrier();
    }
  });
  EXPECT_EQ(wrong, 0);
}

TEST_P(ThreadPoolOfSize, BarrierThenIsDoneOnceBetweenBeforeAndAfter) {
  auto pool = ThreadPool::Create(GetParam()).value();
  std::vector<int> slots(static_cast<std::size_t>(GetParam()), 0);
  int sum = 0;  // of all slots, by one thread
  std::atomic<int> wrong{0};
  pool.Run([&](Team& team) {
    for (int round = 1; round <= 2000; ++round) {
      slots[static_cast<std::size_t>(team.index())] = round;
      team.BarrierThen([&] { sum += std::accumulate(slots.begin(), slots.end(), 0); });
      if (sum != GetParam() * round * (round + 1) / 2) ++wrong;
      team.Barrier();
    }
  });
  EXPECT_EQ(wrong, 0);
}

TEST_P(ThreadPoolOfSize, DealsEveryIndexOnce) {
  auto pool = ThreadPool::Create(GetParam()).value();
  for (std::size_t count : {0u, 1u, 2u, 7u, 100u, 1001u}) {
    for (std::size_t piece : {1u, 3u, 2000u}) {
      std::vector<std::atomic<int>> hits(count);
      std::atomic<int> too_large{0};
      pool.Run([&](Team& team) {
        for (int round = 0; round < 20; ++round) {
          team.Deal(count, piece, [&](Range range) {
            too_large += team.size() > 1 && range.end - range.begin > piece;
            for (std::size_t i = range.begin; i < range.end; ++i) ++hits[i];
          });
          team.Barrier();
        }
      });
      for (auto& hit : hits) ASSERT_EQ(hit, 20) << count << " by " << piece;
      EXPECT_EQ(too_large, 0);
    }
  }
}

TEST_P(ThreadPoolOfSize, AdaptiveRunsOfAnySizeDoAllTheWork) {
  auto pool = ThreadPool::Create(GetParam()).value();
  std::uint64_t threads = 0;
  for (int pass = 0; pass < 3000; ++pass) {
    std::vector<std::atomic<int>> hits(50);
    std::atomic<int> size{0}, members{0};
    pool.RunAdaptive(1, [&](Team& team) {
      size = team.size();
      ++members;
      for (int round = 0; round < 2; ++round) {
        team.Deal(hits.size(), 3, [&](Range range) {
          for (std::size_t i = range.begin; i < range.end; ++i) ++hits[i];
        });
        team.Barrier();
      }
    });
    for (auto& hit : hits) ASSERT_EQ(hit, 2);
    ASSERT_EQ(members, size);
    ASSERT_LE(size, GetParam());
    threads += static_cast<std::uint64_t>(size);
    if (pass % 100 == 0) {  // all of them in between
      std::atomic<int> all{0};
      pool.Run([&](Team&) { ++all; });
      ASSERT_EQ(all, GetParam());
    }
  }
  EXPECT_EQ(pool.pass_counts().passes, 3000u);
  EXPECT_EQ(pool.pass_counts().threads, threads);
}

INSTANTIATE_TEST_SUITE_P(Sizes, ThreadPoolOfSize, testing::Values(1, 2, 3, 7));

TEST(ThreadPool, WhoeverIsFreeDoesWhatOthersHaveNotBegun) {
  auto pool = ThreadPool::Create(2).value();
  std::atomic<int> done{0};
  std::atomic<bool> begun{false};
  std::vector<int> by(10, -1);
  pool.Run([&](Team& team) {
    while (team.index() == 1 && !begun.load()) std::this_thread::yield();
    team.Deal(by.size(), 1, [&](Range range) {
      by[range.begin] = team.index();
      // The first thread sticks to its first piece until all others are done.
      if (range.begin == 0) {
        begun = true;
        while (done.load() < 9) std::this_thread::yield();
      } else {
        ++done;
      }
    });
  });
  const int slow = by[0];
  EXPECT_THAT(std::vector<int>(by.begin() + 1, by.end()), testing::Each(1 - slow));
}

TEST(ThreadPool, RefusesImpossibleSizes) {
  EXPECT_EQ(ThreadPool::Create(0).error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(ThreadPool::Create(5000).error().message, testing::HasSubstr("5000"));
}

TEST(ThreadPool, DefaultCountIsPositive) { EXPECT_GE(DefaultThreadCount(), 1); }

}  // namespace
}  // namespace bittern
