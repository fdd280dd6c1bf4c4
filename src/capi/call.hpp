// SPDX-License-Identifier: Apache-2.0
// The frame of every function of the C interface: no exception leaves it, and what failed is kept
// for the calling thread. Any thread.
#pragma once

#include <atomic>
#include <mutex>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "bittern/bittern.h"
#include "capi/handles.hpp"

namespace bittern::capi {

/// Keeps the error for bittern_error_message and returns its status.
bittern_status KeepError(const Error& error) noexcept;
/// The same for what was thrown; to be called while it is handled.
bittern_status KeepException() noexcept;

/// Runs `work`, which returns Result<void>.
template <class Work>
bittern_status Call(const Work& work) noexcept {
  try {
    const Result<void> done = work();
    return done ? BITTERN_OK : KeepError(done.error());
  } catch (...) {
    return KeepException();
  }
}

/// Error kInvalidArgument: NULL where a pointer is needed.
[[nodiscard]] Result<void> NeedPointer(const void* pointer, const char* name);
/// The same for an array that may be NULL where it has no elements.
[[nodiscard]] Result<void> NeedArray(const void* pointer, std::size_t count, const char* name);

/// A lock that a thread notices it holds already, for objects whose callbacks may call back.
class CheckedMutex {
 public:
  /// Waits for other threads. Error kBusy: this thread is inside.
  [[nodiscard]] Result<std::unique_lock<std::mutex>> Enter(const char* what);
  /// Marks this thread as the one inside, until it leaves.
  class Inside {
   public:
    Inside(CheckedMutex* alone, std::unique_lock<std::mutex> lock);
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;
    ~Inside();

   private:
    CheckedMutex* alone_;
    std::unique_lock<std::mutex> lock_;
  };
  [[nodiscard]] bool is_inside() const noexcept {
    return owner_.load(std::memory_order_relaxed) == std::this_thread::get_id();
  }

 private:
  std::mutex mutex_;
  std::atomic<std::thread::id> owner_{};
};

/// A result of a larger call.
class ResultObject : public Object {
 public:
  static constexpr int kKind = 2;
  static constexpr const char* kWhat = "a result";
  ResultObject() : Object(kKind) {}

  std::string text;
  std::vector<std::int32_t> ids;
  std::vector<float> floats;
  std::string json = "{}";
};

/// Puts a result into the table and gives its handle out.
void Give(std::shared_ptr<ResultObject> result, bittern_result** out);

}  // namespace bittern::capi
