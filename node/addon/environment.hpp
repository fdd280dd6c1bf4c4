// SPDX-License-Identifier: Apache-2.0
// The addon's state for one environment of Node.js: the main thread, or a worker. There is no other
// state, so any number of environments may load the addon. When an environment ends, its jobs are
// cancelled and waited for before anything that they use goes.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <unordered_map>

#include "job.hpp"

namespace bittern::node {

/// Kinds of handles that JavaScript may hold.
enum class Kind : std::uint8_t { kModel, kSequence, kSampler, kEngine };

/// Frees a handle of the library. Any thread.
void FreeHandle(Kind kind, void* handle) noexcept;

/// Frees handles on a thread of its own: that of a sequence waits for the calls of its forks.
class Reaper {
 public:
  Reaper() = default;
  Reaper(const Reaper&) = delete;
  Reaper& operator=(const Reaper&) = delete;
  /// Frees what is left.
  ~Reaper();
  void Free(Kind kind, void* handle) noexcept;

 private:
  void Run() noexcept;

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::pair<Kind, void*>> queue_;
  bool stop_ = false;
  std::thread thread_;  // from the first handle on
};

/// Made, used and destroyed by the loop, but for Wake().
class Environment {
 public:
  /// Makes the environment's state. False where an exception is pending.
  static bool Create(napi_env env);
  /// Null where Create() has failed.
  static Environment* Of(napi_env env);

  explicit Environment(napi_env env) : env_(env) {}
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;
  ~Environment();

  /// Heavy jobs of this environment that run at the same time.
  static constexpr int kMostHeavy = 4;

  /// Starts a job, or has it wait for its turn: [promise, number]. Null where an exception is
  /// pending.
  napi_value Start(std::unique_ptr<Job> job);
  /// Cancels a job that has not ended; other numbers are passed over.
  void Cancel(std::uint64_t number);
  /// Frees handles, until the environment ends.
  [[nodiscard]] std::weak_ptr<Reaper> reaper() const noexcept { return reaper_; }
  /// Has the loop look at the job of that number, if it is not settled by then. Any thread, with
  /// the job's mutex held.
  void Wake(std::uint64_t number) noexcept;

 private:
  static void OnWake(napi_env env, napi_value function, void* context, void* data);
  static void OnClose(napi_env env, void* data, void* hint);

  /// The news of a job for its listener.
  struct Told {
    std::string text = {};
    std::vector<std::int32_t> ids = {};
    std::string parts = {};
    double progress = -1;
  };

  void Look(Job* job);
  void Tell(Job* job, const Told& told);
  void Settle(Job* job);
  void StopAll() noexcept;
  void Begin(Job* job);
  void BeginWaiting();
  void EndWaiting(Job* job);
  void LeavePlace(Job* job);

  napi_env env_;
  napi_threadsafe_function wake_ = nullptr;
  std::unordered_map<std::uint64_t, std::unique_ptr<Job>> jobs_;
  std::deque<Job*> waiting_;  // heavy ones, in the order in which they came
  int heavy_ = 0;             // whose threads run
  std::uint64_t next_ = 1;
  std::shared_ptr<Reaper> reaper_;  // null once the environment ends
};

/// An Error with `status`, `hint` and the message. Null where an exception is pending.
napi_value MakeError(napi_env env, bittern_status status, const std::string& message,
                     const std::string& hint);

}  // namespace bittern::node
