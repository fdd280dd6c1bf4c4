// SPDX-License-Identifier: Apache-2.0
// The thread that steps the engine. Requests come in through a queue; what they give goes out
// through their callbacks, on this thread.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/result.hpp"
#include "runtime/engine/engine.hpp"

namespace bittern::serve {

class EngineLoop {
 public:
  /// `most_waiting`: requests beyond those that run at the same time.
  [[nodiscard]] static Result<std::unique_ptr<EngineLoop>> Start(
      std::shared_ptr<const runtime::LoadedModel> model, const runtime::EngineOptions& options,
      int most_waiting);
  EngineLoop(const EngineLoop&) = delete;
  EngineLoop& operator=(const EngineLoop&) = delete;
  /// Drops what has not ended.
  ~EngineLoop();

  /// Room for so many requests, which Submit must then be given; false: the queue is full. Any
  /// thread.
  [[nodiscard]] bool Reserve(std::size_t count);
  /// on_done of each request is called once, also with an error of Engine::Submit. Any thread.
  void Submit(std::vector<runtime::Request> requests);

  /// Runs something between two steps, on the engine's thread. Dropped where the loop ends before.
  /// Any thread.
  void Do(std::function<void(runtime::Engine*)> task);

  /// Requests that have not ended. Any thread.
  [[nodiscard]] std::size_t active() const noexcept { return active_.load(); }
  /// As it was after the last step. Any thread.
  [[nodiscard]] runtime::EngineStats stats() const;
  [[nodiscard]] int context_length() const noexcept { return engine_.context_length(); }
  [[nodiscard]] int max_sequences() const noexcept { return max_sequences_; }
  [[nodiscard]] int num_threads() const noexcept { return engine_.num_threads(); }

 private:
  EngineLoop(runtime::Engine engine, int max_sequences, int most_waiting);
  void Run();
  void TakeIn(std::vector<runtime::Request> requests);

  runtime::Engine engine_;
  int max_sequences_, most_waiting_;
  std::atomic<std::size_t> active_{0};
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<runtime::Request> inbox_;  // the rest is guarded by mutex_
  std::vector<std::function<void(runtime::Engine*)>> tasks_ = {};
  runtime::EngineStats stats_ = {};
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace bittern::serve
