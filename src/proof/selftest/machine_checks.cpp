// SPDX-License-Identifier: Apache-2.0
// How fast the machine is, beside what is usual. A slow machine is not a broken one: the worst that
// is said here is "slow". One thread; measurements use a team.
#include <fmt/format.h>

#include "base/threads/thread_pool.hpp"
#include "kernels/registry.hpp"
#include "proof/selftest/check_list.hpp"
#include "runtime/tune/machine_probe.hpp"

namespace bittern::proof {
namespace {

// The least that machines of the last ten years do when nothing else runs.
constexpr double kUsualBytes = 5e9;          // per second, all threads
constexpr double kUsualMultiplyAdds = 1e10;  // per second and thread, by a vector kernel
constexpr double kUsualClock = 1.2e9;
constexpr double kLeastOfNominal = 0.6;  // a clock below is held down by heat, power or neighbours

CheckOutcome Bandwidth(int num_threads) {
  auto pool = ThreadPool::Create(num_threads);
  if (!pool) return Failed(pool.error());
  const auto rate = runtime::MeasureReadBandwidth(*pool, runtime::ProbeBytes());
  if (!rate) return Failed(rate.error());
  return {*rate < kUsualBytes ? CheckState::kSlow : CheckState::kOk,
          fmt::format("{:.1f} GB/s read by {} threads (usual: {:.0f} or more)", *rate / 1e9,
                      num_threads, kUsualBytes / 1e9)};
}

CheckOutcome Int8Rate(int num_threads) {
  auto pool = ThreadPool::Create(num_threads);
  if (!pool) return Failed(pool.error());
  const auto kernels = kernels::SelectKernelsForced();
  if (!kernels) return Failed(kernels.error());
  const auto rate = runtime::MeasureInt8Rate(*pool, *kernels);
  if (!rate) return Failed(rate.error());
  return {*rate < kUsualMultiplyAdds * num_threads ? CheckState::kSlow : CheckState::kOk,
          fmt::format("{:.0f} billion multiply-adds per second by {} on {} threads (usual: {:.0f} "
                      "or more)",
                      *rate / 1e9, kernels->tile16_info->name, num_threads,
                      kUsualMultiplyAdds * num_threads / 1e9)};
}

CheckOutcome Clock() {
  const double clock = runtime::MeasureClock();
  const double nominal = runtime::NominalClock().value_or(0);
  const bool slow = clock < kUsualClock || clock < kLeastOfNominal * nominal;
  return {slow ? CheckState::kSlow : CheckState::kOk,
          nominal > 0
              ? fmt::format("about {:.1f} GHz (nominal: {:.1f})", clock / 1e9, nominal / 1e9)
              : fmt::format("about {:.1f} GHz", clock / 1e9)};
}

}  // namespace

void CheckMachine(CheckList* list) {
  const int asked = list->options().num_threads;
  const int num_threads = asked > 0 ? asked : DefaultThreadCount();
  list->Run("machine", "clock", [] { return Clock(); });
  list->Run("machine", "memory bandwidth", [&] { return Bandwidth(num_threads); });
  list->Run("machine", "matrix kernel", [&] { return Int8Rate(num_threads); });
}

}  // namespace bittern::proof
