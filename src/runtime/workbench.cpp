// SPDX-License-Identifier: Apache-2.0
// All idle workbenches of the process lie on one shelf, so that one handler of fork() can clear it.
#include "runtime/workbench.hpp"

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include "base/threads/process_fork.hpp"

namespace bittern::runtime {
namespace {

struct Idle {
  const Workbenches* owner;
  std::unique_ptr<Workbench> bench;
};

/// Under ProcessMutex<Shelf>.
struct Shelf {
  std::vector<Idle> idle;
};

Shelf& TheShelf();

/// In a child process the threads of the benches do not exist. To destroy a bench would be to wait
/// for them, so the memory is left alone.
void ForgetInChild() {
  Shelf& shelf = TheShelf();
  for (Idle& idle : shelf.idle) static_cast<void>(idle.bench.release());
  shelf.idle.clear();
}

/// Never destroyed: other threads may still give benches back while the process ends.
Shelf& TheShelf() {
  static Shelf* const shelf = [] {
    WatchForks(nullptr, nullptr, &ForgetInChild);
    return new Shelf;
  }();
  return *shelf;
}

std::ptrdiff_t MostIdle(int num_threads) {
  return std::max(1, 2 * UsableCpuCount() / std::max(1, num_threads));
}

}  // namespace

Result<std::unique_ptr<Workbench>> Workbench::Create(const model::Model& model,
                                                     const WorkbenchSize& size) {
  auto threads = BITTERN_TRY(ThreadPool::Create(size.num_threads));
  auto state = BITTERN_TRY(model::ForwardState::Create(model, size.max_tokens, size.max_positions,
                                                       size.num_threads, size.screen_vectors));
  return std::unique_ptr<Workbench>(new Workbench{size, std::move(threads), std::move(state)});
}

Workbenches::~Workbenches() {
  std::vector<Idle> mine;  // destroyed without the lock
  Shelf& shelf = TheShelf();
  const std::lock_guard lock(ProcessMutex<Shelf>());
  const auto others = std::partition(shelf.idle.begin(), shelf.idle.end(),
                                     [this](const Idle& idle) { return idle.owner != this; });
  std::move(others, shelf.idle.end(), std::back_inserter(mine));
  shelf.idle.erase(others, shelf.idle.end());
}

/// The one that came last is taken first: its memory is warm.
Result<std::unique_ptr<Workbench>> Workbenches::Take(const model::Model& model,
                                                     const WorkbenchSize& size) {
  {
    Shelf& shelf = TheShelf();
    const std::lock_guard lock(ProcessMutex<Shelf>());
    for (auto idle = shelf.idle.rbegin(); idle != shelf.idle.rend(); ++idle) {
      if (idle->owner != this || idle->bench->size != size) continue;
      auto bench = std::move(idle->bench);
      shelf.idle.erase(std::next(idle).base());
      return bench;
    }
  }
  return Workbench::Create(model, size);
}

void Workbenches::GiveBack(std::unique_ptr<Workbench> bench) noexcept {
  try {
    Shelf& shelf = TheShelf();
    const std::lock_guard lock(ProcessMutex<Shelf>());
    const auto alike = std::ranges::count_if(shelf.idle, [&](const Idle& idle) {
      return idle.owner == this && idle.bench->size == bench->size;
    });
    if (alike < MostIdle(bench->size.num_threads)) shelf.idle.push_back({this, std::move(bench)});
  } catch (...) {  // no memory for the list: the bench goes
  }
}

}  // namespace bittern::runtime
