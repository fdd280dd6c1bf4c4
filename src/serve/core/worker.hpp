// SPDX-License-Identifier: Apache-2.0
// A thread that runs tasks one after the other.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace bittern::serve {

class Worker {
 public:
  Worker() : thread_([this] { Run(); }) {}
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  /// Drops tasks that have not begun.
  ~Worker() { Stop(); }

  /// Waits for the task that runs; what is posted later is dropped. By the owner.
  void Stop() {
    if (!thread_.joinable()) return;
    {
      const std::scoped_lock lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_one();
    thread_.join();
  }

  /// Any thread.
  void Post(std::function<void()> task) {
    {
      const std::scoped_lock lock(mutex_);
      tasks_.push_back(std::move(task));
    }
    wake_.notify_one();
  }

 private:
  void Run() {
    for (;;) {
      std::function<void()> task;
      {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [&] { return stopping_ || !tasks_.empty(); });
        if (stopping_) return;
        task = std::move(tasks_.front());
        tasks_.pop_front();
      }
      task();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> tasks_ = {};
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace bittern::serve
