// SPDX-License-Identifier: Apache-2.0
// Huge pages of weights, without waiting for them. The system may have to move other pages about
// for a huge page, which takes milliseconds. So weights get huge pages at once only where these lie
// ready. The others wait, and get them after the first tokens.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <thread>

namespace bittern {

/// While one exists, memory that its thread takes may wait for huge pages. The thread then starts a
/// HugePageMaker. Not nested.
class HugePagesMayWait {
 public:
  HugePagesMayWait() noexcept;
  HugePagesMayWait(const HugePagesMayWait&) = delete;
  HugePagesMayWait& operator=(const HugePagesMayWait&) = delete;
  ~HugePagesMayWait();
};

/// Asks for huge pages in fresh memory, which begins at the border of one. Where HugePagesMayWait
/// and too few lie ready, AwaitHugePages instead. Any thread.
void WishOrAwaitHugePages(std::byte* data, std::size_t bytes) noexcept;
/// Notes memory for MakeNextHugePage. Any thread.
void AwaitHugePages(std::byte* data, std::size_t bytes) noexcept;
/// To be called before that memory is given back. Any thread.
void ForgetHugePages(const std::byte* data) noexcept;
/// Makes one more huge page of memory that waits for it. False where none waits, or where the
/// system has refused too often. Any thread.
bool MakeNextHugePage() noexcept;
/// Bytes that wait.
[[nodiscard]] std::size_t BytesAwaitingHugePages() noexcept;

/// A thread of the lowest priority that makes huge pages of all that waits, after a while, and
/// ends. One at a time is enough.
class HugePageMaker {
 public:
  explicit HugePageMaker(std::chrono::milliseconds after);
  HugePageMaker(const HugePageMaker&) = delete;
  HugePageMaker& operator=(const HugePageMaker&) = delete;
  /// Within the time of one page. In a child of this process, which has no such thread, at once.
  ~HugePageMaker();

 private:
  void Run(std::chrono::milliseconds after);

  std::atomic<bool> ended_ = false;
  int generation_;      // of the process that has the thread
  std::thread thread_;  // the last member: it uses the others
};

}  // namespace bittern
