// SPDX-License-Identifier: Apache-2.0
// A job is work that JavaScript asked for, with its promise. Each job has a thread of its own. It
// does not use libuv's pool of four threads: four long texts there would stop every file access and
// name look-up of the process. Jobs that run the network or compile a request take turns
// (Environment::kMostHeavy): each needs memory, and all share the same CPUs.
//
// "The loop" is the thread of the job's environment, the one that runs its JavaScript.
#pragma once

#define NAPI_VERSION 8
#include <node_api.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "bittern/bittern.h"

namespace bittern::node {

class Environment;

/// Owns a result of the library. One thread at a time.
class Result {
 public:
  Result() = default;
  explicit Result(bittern_result* result) : result_(result) {}
  Result(const Result&) = delete;
  Result& operator=(const Result&) = delete;
  Result(Result&& other) noexcept : result_(other.Release()) {}
  Result& operator=(Result&& other) noexcept {
    bittern_result_free(result_);
    result_ = other.Release();
    return *this;
  }
  ~Result() { bittern_result_free(result_); }
  bittern_result** out() noexcept { return &result_; }
  [[nodiscard]] const bittern_result* get() const noexcept { return result_; }

 private:
  bittern_result* Release() noexcept {
    bittern_result* const released = result_;
    result_ = nullptr;
    return released;
  }
  bittern_result* result_ = nullptr;
};

/// Made, settled and destroyed by the loop.
class Job {
 public:
  Job() = default;
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  // -- set by the loop before the job starts --
  /// The work, on the job's thread. With `ends_later`, another thread calls End() once the work is
  /// BITTERN_OK; that may be at any time.
  std::function<bittern_status(Job&)> work;
  /// Makes the value of the promise; by the loop. A null: an exception is pending.
  std::function<napi_value(napi_env, Job&)> value;
  /// Ends the call that runs, beside cancelled(); by any thread, any number of times, also before
  /// and after the call.
  std::function<void()> cancel;
  bool ends_later = false;
  /// Its thread works hard: it may have to wait until threads of others have ended.
  bool heavy = false;
  /// A function of JavaScript that gets texts or shares of progress; may be null.
  napi_ref listener = nullptr;
  /// Objects that must live as long as the job.
  std::vector<napi_ref> kept;

  // -- for the work --
  Result result;
  [[nodiscard]] bool cancelled() const noexcept { return cancelled_.load(); }
  /// Hands new text to the listener, 250 times a second at most: text that comes sooner waits for
  /// what comes next, so that the loop does not take the time of a fast model's threads. True where
  /// the job goes on.
  bool PutText(const char* text, std::size_t size) noexcept;
  /// Hands the share that is done to the listener, the newest one. True where the job goes on.
  bool PutProgress(double done) noexcept;
  /// For a work that notices cancelled() itself: returns its status.
  bittern_status Cancelled();
  /// Ends the job; with an error, that of this thread's last call. Once.
  void End(bittern_status status) noexcept;
  /// The callbacks of bittern.h, with a Job as `user`.
  static std::int32_t OnText(void* user, const char* text, std::size_t size);
  static std::int32_t OnProgress(void* user, double done);

 private:
  friend class Environment;

  void Run() noexcept;
  /// No other thread will touch it any more, but to end.
  [[nodiscard]] bool Ended() noexcept;
  void Signal() noexcept;  // with mutex_ held

  Environment* environment_ = nullptr;
  bool has_place_ = false;  // among the heavy ones; used by the loop
  std::uint64_t number_ = 0;
  napi_deferred deferred_ = nullptr;
  std::thread thread_;
  std::atomic<bool> thread_ended_ = false;
  std::atomic<bool> cancelled_ = false;

  std::mutex mutex_;               // of what follows; held for moments only
  std::string text_;               // whole characters that the listener has not got yet
  std::vector<std::int32_t> ids_;  // the tokens of that text
  std::string parts_;              // what bittern_text_part told of it: JSON objects, with commas
  std::chrono::steady_clock::time_point told_;  // when text last had the loop come
  double progress_ = -1;
  bool signalled_ = false;  // the loop will come
  bool ended_ = false;
  bittern_status status_ = BITTERN_OK;
  std::string message_, hint_;
};

}  // namespace bittern::node
