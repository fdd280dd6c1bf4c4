// SPDX-License-Identifier: Apache-2.0
// One list for the process. Its lock is held while a page is made, so that no memory is given back
// meanwhile.
#include "base/memory/huge_pages.hpp"

#include <mutex>
#include <vector>

#include "base/os/memory.hpp"
#include "base/os/process.hpp"
#include "base/os/signals.hpp"
#include "base/threads/process_fork.hpp"

namespace bittern {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr std::size_t kSpare = std::size_t{64} << 20;  // that lies ready for others
constexpr int kMostRefused = 32;                       // one after the other

struct Waiting {
  std::byte* data;
  std::size_t bytes, done;
};

struct List {
  std::vector<Waiting> waiting;
  int refused = 0;
};

/// Never destroyed: buffers of static objects may be given back late.
List& TheList() {
  static List* const list = new List;
  return *list;
}

std::mutex& ListMutex() { return ProcessMutex<List>(); }

thread_local bool may_wait = false;

}  // namespace

HugePagesMayWait::HugePagesMayWait() noexcept { may_wait = true; }
HugePagesMayWait::~HugePagesMayWait() { may_wait = false; }

void WishOrAwaitHugePages(std::byte* data, std::size_t bytes) noexcept {
  if (may_wait && os::ReadyHugeBytes() < bytes + kSpare) return AwaitHugePages(data, bytes);
  os::WishHugePages(data, bytes);
}

void AwaitHugePages(std::byte* data, std::size_t bytes) noexcept {
  const std::scoped_lock lock(ListMutex());
  TheList().waiting.push_back({data, bytes, 0});
}

void ForgetHugePages(const std::byte* data) noexcept {
  const std::scoped_lock lock(ListMutex());
  std::erase_if(TheList().waiting, [&](const Waiting& one) { return one.data == data; });
}

bool MakeNextHugePage() noexcept {
  List& list = TheList();
  const std::scoped_lock lock(ListMutex());
  while (!list.waiting.empty()) {
    Waiting& next = list.waiting.front();
    if (next.bytes - next.done < kHugePage || list.refused >= kMostRefused) {
      os::WishHugePages(next.data, next.bytes);  // for pages that are touched later
      list.waiting.erase(list.waiting.begin());
      continue;
    }
    const bool made = os::MakeHugePage(next.data + next.done);
    next.done += kHugePage;
    list.refused = made ? 0 : list.refused + 1;
    return true;
  }
  list.refused = 0;
  return false;
}

std::size_t BytesAwaitingHugePages() noexcept {
  const std::scoped_lock lock(ListMutex());
  std::size_t bytes = 0;
  for (const Waiting& one : TheList().waiting) bytes += one.bytes - one.done;
  return bytes;
}

HugePageMaker::HugePageMaker(std::chrono::milliseconds after) : generation_(ProcessGeneration()) {
  const os::SignalsBlocked blocked;  // they belong to threads of the program
  thread_ = std::thread([this, after] { Run(after); });
}

HugePageMaker::~HugePageMaker() {
  if (generation_ != ProcessGeneration()) {
    thread_.detach();
    return;
  }
  ended_ = true;
  thread_.join();
}

/// Sleeps in short pieces rather than on a lock that a child of this process could never destroy.
void HugePageMaker::Run(std::chrono::milliseconds after) {
  constexpr std::chrono::milliseconds kPiece(5);
  os::YieldToAllOthers();
  const auto begin = std::chrono::steady_clock::now() + after;
  while (!ended_ && std::chrono::steady_clock::now() < begin) std::this_thread::sleep_for(kPiece);
  while (!ended_ && MakeNextHugePage()) {
  }
}

}  // namespace bittern
