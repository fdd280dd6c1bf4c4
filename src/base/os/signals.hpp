// SPDX-License-Identifier: Apache-2.0
// How a program is told to end: signals, or what a console sends. Handlers run at any time, on a
// thread of their own where the system does it that way, and touch lock-free atomics only.
#pragma once

#include <atomic>
#include <functional>
#include <string_view>
#include <thread>

namespace bittern::os {

/// From now on everything that ends the process from outside (Ctrl-C, a closed terminal, SIGTERM
/// and the like) calls `clean_up` first; what is ignored stays so. The process then ends as it
/// would have. Called once, before other threads start.
void CleanUpAtEnd(void (*clean_up)() noexcept);

/// Writes to standard error, from such a function too. What cannot be written is lost.
void WriteErrorInHandler(std::string_view text) noexcept;

/// From now on the first Ctrl-C calls `on_interrupt`; the next one ends the process as above.
void CatchInterrupt(void (*on_interrupt)() noexcept);
/// Ctrl-C ends the process again.
void ReleaseInterrupt();

/// Threads that start while this lives take only the signals of their own faults and of a profiler.
/// All other signals go to threads of the program, whose handlers expect to run there.
class SignalsBlocked {
 public:
  SignalsBlocked() noexcept;
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;
  ~SignalsBlocked();

 private:
  struct Saved {
    alignas(16) unsigned char bytes[128];
  } saved_;
};

/// Ctrl-C and the system's wish that a server end, as calls of a function. Made before other
/// threads start, which then do not see these signals.
class EndWishes {
 public:
  EndWishes();
  EndWishes(const EndWishes&) = delete;
  EndWishes& operator=(const EndWishes&) = delete;
  ~EndWishes();
  /// Calls `on_wish` for each wish, on a thread of its own, until Stop. False from it: the process
  /// ends as it would have without this object.
  void Start(std::function<bool()> on_wish);
  void Stop();

 private:
  void Watch(const std::function<bool()>& on_wish);
  std::atomic<bool> over_{false};
  std::thread thread_;
};

}  // namespace bittern::os
