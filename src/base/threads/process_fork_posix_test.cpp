// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <thread>

#include "base/threads/forked_child_for_test.hpp"
#include "base/threads/process_fork.hpp"

namespace bittern {
namespace {

struct Counted {
  std::mutex mutex;
  int count = 0;
};

TEST(ProcessFork, AChildHasCopiesOfItsOwn) {
  OfProcess<Counted> counted;
  counted.get().count = 5;
  const int generation = ProcessGeneration();
  std::atomic<bool> locked = false, forked = false;
  std::thread holder([&] {
    const std::lock_guard lock(counted.get().mutex);
    locked = true;
    while (!forked) std::this_thread::yield();
  });
  while (!locked) std::this_thread::yield();
  EXPECT_EQ(InForkedChild([&] {
              const std::lock_guard lock(counted.get().mutex);
              counted.get().count += 2;
              return 10 * (ProcessGeneration() - generation) + counted.get().count;
            }),
            12);
  forked = true;
  holder.join();
  EXPECT_EQ(counted.get().count, 5);
  EXPECT_EQ(ProcessGeneration(), generation);
}

TEST(ProcessFork, WaitsForLocksOfMoments) {
  std::atomic<bool> stop = false, locked = false;
  std::thread busy([&] {
    while (!stop) {
      const std::lock_guard lock(ProcessMutex<Counted>());
      locked = true;
      std::this_thread::yield();
    }
  });
  while (!locked) std::this_thread::yield();
  const auto child = [] {
    const std::lock_guard lock(ProcessMutex<Counted>());
    return 0;
  };
  for (int i = 0; i < 20; ++i) EXPECT_EQ(InForkedChild(child), 0);
  stop = true;
  busy.join();
}

}  // namespace
}  // namespace bittern
