// SPDX-License-Identifier: Apache-2.0
#include "serve/core/engine_loop.hpp"

#include <utility>

namespace bittern::serve {

Result<std::unique_ptr<EngineLoop>> EngineLoop::Start(
    std::shared_ptr<const runtime::LoadedModel> model, const runtime::EngineOptions& options,
    int most_waiting) {
  auto engine = BITTERN_TRY(runtime::Engine::Create(std::move(model), options));
  return std::unique_ptr<EngineLoop>(
      new EngineLoop(std::move(engine), options.max_sequences, most_waiting));
}

EngineLoop::EngineLoop(runtime::Engine engine, int max_sequences, int most_waiting)
    : engine_(std::move(engine)), max_sequences_(max_sequences), most_waiting_(most_waiting) {
  stats_ = engine_.stats();
  thread_ = std::thread([this] { Run(); });
}

EngineLoop::~EngineLoop() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

bool EngineLoop::Reserve(std::size_t count) {
  const auto room = static_cast<std::size_t>(max_sequences_ + most_waiting_);
  const std::scoped_lock lock(mutex_);
  if (active_.load() + count > room) return false;
  active_ += count;
  return true;
}

void EngineLoop::Submit(std::vector<runtime::Request> requests) {
  {
    const std::scoped_lock lock(mutex_);
    for (runtime::Request& request : requests) inbox_.push_back(std::move(request));
  }
  wake_.notify_one();
}

void EngineLoop::Do(std::function<void(runtime::Engine*)> task) {
  {
    const std::scoped_lock lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  wake_.notify_one();
}

runtime::EngineStats EngineLoop::stats() const {
  const std::scoped_lock lock(mutex_);
  return stats_;
}

void EngineLoop::TakeIn(std::vector<runtime::Request> requests) {
  for (runtime::Request& request : requests) {
    const auto on_done = [this, done = std::move(request.on_done)](runtime::Completion completion) {
      --active_;
      done(std::move(completion));
    };
    request.on_done = on_done;
    if (auto id = engine_.Submit(std::move(request)); !id.has_value()) {
      on_done({0, tl::unexpected(std::move(id).error()), {}});
    }
  }
}

void EngineLoop::Run() {
  bool busy = false;
  for (;;) {
    std::vector<runtime::Request> fresh;
    std::vector<std::function<void(runtime::Engine*)>> tasks;
    {
      std::unique_lock lock(mutex_);
      stats_ = engine_.stats();
      if (!busy) wake_.wait(lock, [&] { return stopping_ || !inbox_.empty() || !tasks_.empty(); });
      if (stopping_) return;
      std::swap(fresh, inbox_);
      std::swap(tasks, tasks_);
    }
    for (const auto& task : tasks) task(&engine_);
    TakeIn(std::move(fresh));
    busy = engine_.Step();
  }
}

}  // namespace bittern::serve
