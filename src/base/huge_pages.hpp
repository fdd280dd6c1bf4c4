// SPDX-License-Identifier: Apache-2.0
// Huge pages without waiting for them. Where the page cache fills a machine's memory, the system
// must move pages about for each huge page, some milliseconds long. So a buffer is given huge pages
// at once only where they lie ready. The others wait, and get them once the first tokens are out.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <thread>

namespace bittern {

/// Wishes for huge pages in fresh memory, which begins at such a page's border; or AwaitHugePages,
/// where too few lie ready. Any thread.
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
  long process_;
  std::thread thread_;  // the last member: it uses the others
};

}  // namespace bittern
