// SPDX-License-Identifier: Apache-2.0
#include "base/threads/team_size.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace bittern {
namespace {

/// A machine on paper: `busy` of `cpus` CPUs are shared half and half with other programs. A team
/// runs at the speed of its slowest thread; the scheduler gives it the free CPUs first.
struct Machine {
  int cpus, busy = 0;
  double seconds_alone = 0.1;  // of a pass by one thread
  bool others_sleep = false;   // while they wait for the slowest
  double now = 0;

  TeamPass Pass(int threads, std::uint32_t kind = 1, double work = 1) {
    const int free = cpus - busy;
    TeamPass pass = {.kind = kind, .begin = now, .seconds = 0, .busy = 0, .held_up = 0};
    double least_share = 1;
    for (int i = 0; i < threads; ++i) {
      double share = i < free ? 1 : 0.5;
      if (threads > cpus) share = static_cast<double>(cpus) / threads;
      pass.busy += others_sleep && i < free ? 0.6 : share;
      pass.held_up += share < kHeldUpShare;
      least_share = std::min(least_share, share);
    }
    pass.seconds = work * seconds_alone / threads / least_share;
    now += pass.seconds;
    return pass;
  }
};

/// Runs passes for `seconds`; the seconds they would have taken with every CPU free, for each.
double Work(Machine& machine, TeamSize& size, double seconds) {
  const double end = machine.now + seconds;
  double work = 0;
  while (machine.now < end) {
    size.Record(machine.Pass(size.Next()));
    work += machine.seconds_alone / machine.cpus;
  }
  return work / seconds;
}

/// The same beside others on `busy` CPUs.
double WorkBeside(int busy, Machine& machine, TeamSize& size, double seconds) {
  machine.busy = busy;
  return Work(machine, size, seconds);
}

TEST(TeamSize, AllThreadsWhileNobodyIsHeldUp) {
  Machine machine = {.cpus = 4};
  TeamSize size(4);
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(size.Next(), 4);
    size.Record(machine.Pass(4));
  }
}

TEST(TeamSize, LeavesABusyCpuAloneWhereThatIsFaster) {
  Machine machine = {.cpus = 8, .busy = 1};
  TeamSize size(8);
  Work(machine, size, 1);
  // Seven of eight CPUs would be 0.875, and all eight threads at the pace of the slowest 0.5.
  EXPECT_GT(Work(machine, size, 30), 0.85);
}

TEST(TeamSize, FindsTheWayPastSeveralBusyCpus) {
  Machine machine = {.cpus = 16, .busy = 3};
  TeamSize size(16);
  Work(machine, size, 2);
  EXPECT_GT(Work(machine, size, 30), 0.78);  // 13 of 16: 0.81
}

TEST(TeamSize, SleepersAreNotTakenForThoseHeldUp) {
  Machine machine = {.cpus = 16, .busy = 3, .others_sleep = true};
  TeamSize size(16);
  Work(machine, size, 1);
  EXPECT_EQ(size.Next(), 13);
}

TEST(TeamSize, ComesBackWhenTheOthersAreGone) {
  Machine machine = {.cpus = 8};
  TeamSize size(8);
  WorkBeside(2, machine, size, 20);
  EXPECT_LT(size.Next(), 8);
  WorkBeside(0, machine, size, 5);
  EXPECT_GT(Work(machine, size, 5), 0.999);
  EXPECT_EQ(size.Next(), 8);
  WorkBeside(1, machine, size, 1);
  EXPECT_EQ(size.Next(), 7);
}

TEST(TeamSize, ClimbsBackStepByStepWhenSomeAreGone) {
  Machine machine = {.cpus = 8};
  TeamSize size(8);
  WorkBeside(3, machine, size, 20);
  WorkBeside(1, machine, size, 20);
  EXPECT_GT(Work(machine, size, 30), 0.85);  // 7 of 8
}

TEST(TeamSize, KeepsAllWhereEveryCpuIsShared) {
  Machine machine = {.cpus = 2, .busy = 2, .seconds_alone = 0.04};
  TeamSize size(2);
  Work(machine, size, 5);
  EXPECT_GT(Work(machine, size, 60), 0.49);  // never much below the 0.5 of both
}

TEST(TeamSize, TooManyThreadsBecomeAsManyAsCpus) {
  Machine machine = {.cpus = 2};
  TeamSize size(8);
  // On paper a team of eight at a quarter each is as fast as two; a real one waits for its slowest.
  while (machine.now < 3) {
    TeamPass pass = machine.Pass(size.Next());
    if (size.Next() > 2) pass.seconds *= 1.3;
    size.Record(pass);
  }
  EXPECT_EQ(size.Next(), 2);
}

TEST(TeamSize, ComparesOnlyPassesOfOneKind) {
  Machine machine = {.cpus = 2};
  TeamSize size(2);
  for (int i = 0; i < 500; ++i) {
    ASSERT_EQ(size.Next(), 2);
    // Every tenth pass is five times the work; held up or not says nothing about the others.
    TeamPass pass = i % 10 == 9 ? machine.Pass(size.Next(), 5, 5) : machine.Pass(size.Next());
    if (pass.kind == 5) pass.held_up = 2;
    size.Record(pass);
  }
  // An event that comes many times in a row is learnt from.
  machine.busy = 1;
  machine.seconds_alone = 0.01;
  for (int i = 0; i < 100; ++i) size.Record(machine.Pass(size.Next(), 5));
  machine.busy = 0;
  for (int i = 0; i < 1000; ++i) size.Record(machine.Pass(size.Next(), 5));
  EXPECT_EQ(size.Next(), 2);
}

TEST(TeamSize, OneThreadHasNoChoice) {
  Machine machine = {.cpus = 1, .busy = 1};
  TeamSize size(1);
  Work(machine, size, 5);
  EXPECT_EQ(size.Next(), 1);
}

}  // namespace
}  // namespace bittern
