// SPDX-License-Identifier: Apache-2.0
// The default thread count: physical cores that this process may use, by affinity and quota.
#include <algorithm>
#include <thread>

#include "base/os/cpus.hpp"
#include "base/threads/thread_pool.hpp"

namespace bittern {
namespace {

/// `count`, or what the C++ library knows, within the quota and the pool's limits.
int Limited(int count) {
  if (count == 0) count = static_cast<int>(std::thread::hardware_concurrency());
  const int quota = os::CpuQuota();
  if (quota > 0 && quota < count) count = quota;
  return std::clamp(count, 1, ThreadPool::kMaxThreads);
}

}  // namespace

int UsableCpuCount() noexcept { return Limited(os::CountCpus().cpus); }
int DefaultThreadCount() noexcept { return Limited(os::CountCpus().cores); }

}  // namespace bittern
