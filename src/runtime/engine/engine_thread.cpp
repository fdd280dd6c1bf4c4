// SPDX-License-Identifier: Apache-2.0
// The state is shared with the thread, since a callback of the thread may destroy the engine's
// owner.
#include "runtime/engine/engine_thread.hpp"

#include <utility>

namespace bittern::runtime {

struct EngineThread::State {
  State(Engine made, int sequences)
      : engine(std::move(made)), max_sequences(sequences), stats(engine.stats()) {}

  /// Takes what has come in and runs a step. False if nothing is left to do.
  bool Step();
  void TakeIn(std::vector<Request> requests);
  /// Tells other threads how things stand.
  void Publish() {
    const std::lock_guard lock(mutex);
    stats = engine.stats();
  }

  Engine engine;  // of the thread that steps
  const int max_sequences;
  std::atomic<std::size_t> active{0};
  mutable std::mutex mutex;  // of what follows; held for moments only
  std::condition_variable wake;
  std::vector<Request> inbox = {};
  std::vector<std::function<void(Engine*)>> tasks = {};
  EngineStats stats;
  bool stopping = false;
};

/// Submits requests. `active` was counted up by Reserve before; on_done counts it down, also for a
/// request that the engine refuses. The statistics are published before on_done, so that its
/// receiver does not read that the request still runs.
void EngineThread::State::TakeIn(std::vector<Request> requests) {
  for (Request& request : requests) {
    const auto on_done = [this, done = std::move(request.on_done)](Completion completion) {
      --active;
      Publish();
      if (done) done(std::move(completion));
    };
    request.on_done = on_done;
    if (auto id = engine.Submit(std::move(request)); !id.has_value()) {
      on_done({.id = 0, .result = tl::unexpected(std::move(id).error()), .timings = {}});
    }
  }
}

/// Runs tasks before requests, outside the mutex: callers wait for the mutex for moments only.
bool EngineThread::State::Step() {
  std::vector<Request> fresh;
  std::vector<std::function<void(Engine*)>> due;
  {
    const std::lock_guard lock(mutex);
    std::swap(fresh, inbox);
    std::swap(due, tasks);
  }
  for (const auto& task : due) task(&engine);
  TakeIn(std::move(fresh));
  const bool more = engine.Step();
  Publish();
  const std::lock_guard lock(mutex);
  return more || !inbox.empty() || !tasks.empty();
}

Result<std::unique_ptr<EngineThread>> EngineThread::Create(std::shared_ptr<const LoadedModel> model,
                                                           const EngineOptions& options) {
  auto engine = BITTERN_TRY(Engine::Create(std::move(model), options));
  return std::unique_ptr<EngineThread>(
      new EngineThread(std::make_shared<State>(std::move(engine), options.max_sequences)));
}

EngineThread::~EngineThread() { Stop(); }

void EngineThread::Start(std::optional<std::weak_ptr<const void>> owner) {
  const std::lock_guard lock(thread_mutex_);
  thread_ = std::thread(&EngineThread::Run, state_, std::move(owner));
}

/// Called by the thread itself (a callback destroyed the owner) it cannot join, so it detaches.
void EngineThread::Stop() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->stopping = true;
  }
  state_->wake.notify_all();
  const std::lock_guard lock(thread_mutex_);
  if (!thread_.joinable()) return;
  if (thread_.get_id() == std::this_thread::get_id()) {
    thread_.detach();  // Run holds the state
  } else {
    thread_.join();
  }
}

/// The thread: sleeps while there is nothing to do, ends on `stopping` or when the owner is gone.
/// It holds the owner during a step, so that callbacks find it alive.
void EngineThread::Run(std::shared_ptr<State> state,
                       std::optional<std::weak_ptr<const void>> owner) {
  bool busy = false;
  for (;;) {
    {
      std::unique_lock lock(state->mutex);
      const auto called = [&] {
        return state->stopping || !state->inbox.empty() || !state->tasks.empty();
      };
      if (!busy) state->wake.wait(lock, called);
      if (state->stopping) return;
    }
    std::shared_ptr<const void> alive;
    if (owner) {
      alive = owner->lock();
      if (!alive) return;
    }
    busy = state->Step();
  }
}

bool EngineThread::Step() { return state_->Step(); }

bool EngineThread::Reserve(std::size_t count, std::size_t most) {
  std::size_t active = state_->active.load();
  while (active + count <= most) {
    if (state_->active.compare_exchange_weak(active, active + count)) return true;
  }
  return false;
}

void EngineThread::Submit(std::vector<Request> requests) {
  {
    const std::lock_guard lock(state_->mutex);
    for (Request& request : requests) state_->inbox.push_back(std::move(request));
  }
  state_->wake.notify_one();
}

void EngineThread::Do(std::function<void(Engine*)> task) {
  {
    const std::lock_guard lock(state_->mutex);
    state_->tasks.push_back(std::move(task));
  }
  state_->wake.notify_one();
}

std::size_t EngineThread::active() const noexcept { return state_->active.load(); }

EngineStats EngineThread::stats() const {
  const std::lock_guard lock(state_->mutex);
  EngineStats stats = state_->stats;
  stats.waiting += state_->inbox.size();
  return stats;
}

int EngineThread::context_length() const noexcept { return state_->engine.context_length(); }
int EngineThread::max_sequences() const noexcept { return state_->max_sequences; }
int EngineThread::num_threads() const noexcept { return state_->engine.num_threads(); }

}  // namespace bittern::runtime
