// SPDX-License-Identifier: Apache-2.0
// An engine that any thread may give requests to. They wait in a queue, which the next step empties
// first. Steps are taken by a thread of its own (Start) or by its callers (Step); what requests
// give goes out through their callbacks, on the thread that steps.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "base/result.hpp"
#include "runtime/engine/engine.hpp"

namespace bittern::runtime {

class EngineThread {
 public:
  /// Errors: those of Engine::Create.
  [[nodiscard]] static Result<std::unique_ptr<EngineThread>> Create(
      std::shared_ptr<const LoadedModel> model, const EngineOptions& options);
  EngineThread(const EngineThread&) = delete;
  EngineThread& operator=(const EngineThread&) = delete;
  /// Stop().
  ~EngineThread();

  /// Starts the thread. `owner`, if any, lives during each step, so that a callback may give it up.
  /// Once. Throws std::system_error where no thread can be had.
  void Start(std::optional<std::weak_ptr<const void>> owner = {});
  /// Ends the thread after the step that it is in and waits for that, unless this is that thread.
  /// Requests that have not ended are dropped. Any thread.
  void Stop();
  /// One step. False if nothing is left to do. REQUIRES: Start was not called. One thread at a
  /// time.
  bool Step();

  /// Counts `count` requests that Submit will be given, if no more than `most` would then be
  /// active. Any thread.
  [[nodiscard]] bool Reserve(std::size_t count, std::size_t most);
  /// Queues reserved requests. on_done of each is called once, also with an error of
  /// Engine::Submit. Any thread.
  void Submit(std::vector<Request> requests);
  /// Runs something between two steps, on the thread that steps. Dropped where that ends before.
  /// Any thread.
  void Do(std::function<void(Engine*)> task);

  /// Requests that have been reserved and have not ended. Any thread.
  [[nodiscard]] std::size_t active() const noexcept;
  /// As it was after the last step or end of a request; requests in the queue count as waiting.
  /// Any thread.
  [[nodiscard]] EngineStats stats() const;
  [[nodiscard]] int context_length() const noexcept;
  [[nodiscard]] int max_sequences() const noexcept;
  [[nodiscard]] int num_threads() const noexcept;

 private:
  struct State;
  explicit EngineThread(std::shared_ptr<State> state) : state_(std::move(state)) {}
  static void Run(std::shared_ptr<State> state, std::optional<std::weak_ptr<const void>> owner);

  std::shared_ptr<State> state_;  // shared with the thread, which may outlive this object
  std::mutex thread_mutex_;
  std::thread thread_;
};

}  // namespace bittern::runtime
