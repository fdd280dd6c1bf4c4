// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "base/threads/process_fork.hpp"

namespace bittern {
namespace {

/// Runs `work` in a child process, which has ten seconds. Its exit code; -1: it did not end.
template <class Work>
int InForkedChild(const Work& work) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(10);
    _exit(work());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

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
