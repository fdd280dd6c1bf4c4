// SPDX-License-Identifier: Apache-2.0
// The system may give huge pages or not; either way no byte changes, and the list comes to its end.
#include "base/memory/huge_pages.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <memory>

#include "base/os/memory.hpp"

namespace bittern {
namespace {

constexpr std::size_t kHugeSize = std::size_t{2} << 20, kFourPages = 4 * kHugeSize;

/// Memory that begins at a huge page's border.
class Pages {
 public:
  Pages() : base_(static_cast<std::byte*>(os::TakePages(kFourPages + kHugeSize))) {
    const auto address = reinterpret_cast<std::uintptr_t>(base_);
    data_ = base_ + (kHugeSize - address % kHugeSize) % kHugeSize;
  }
  ~Pages() { os::GivePages(base_, kFourPages + kHugeSize); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  [[nodiscard]] std::byte* data() const { return data_; }

 private:
  std::byte *base_, *data_;
};

TEST(HugePages, EveryPageComesOnceAndKeepsItsBytes) {
  const Pages pages;
  for (std::size_t i = 0; i < kFourPages; i += 4096)
    pages.data()[i] = static_cast<std::byte>(i >> 12);
  AwaitHugePages(pages.data(), kFourPages);
  EXPECT_EQ(BytesAwaitingHugePages(), kFourPages);
  int made = 0;
  while (MakeNextHugePage()) ++made;
  EXPECT_EQ(made, 4);
  EXPECT_EQ(BytesAwaitingHugePages(), 0u);
  for (std::size_t i = 0; i < kFourPages; i += 4096) {
    ASSERT_EQ(pages.data()[i], static_cast<std::byte>(i >> 12)) << i;
  }
  ForgetHugePages(pages.data());
}

TEST(HugePages, MemoryGivenBackWaitsNoMore) {
  const Pages first, second;
  AwaitHugePages(first.data(), kFourPages);
  AwaitHugePages(second.data(), kFourPages);
  ForgetHugePages(first.data());
  EXPECT_EQ(BytesAwaitingHugePages(), kFourPages);
  ForgetHugePages(second.data());
  EXPECT_FALSE(MakeNextHugePage());
}

// After a load no thread makes huge pages any more.
TEST(HugePages, OnlyWhatIsLoadedWaits) {
  const Pages pages;
  WishOrAwaitHugePages(pages.data(), kFourPages);
  EXPECT_EQ(BytesAwaitingHugePages(), 0u);
  {
    const HugePagesMayWait loading;
    WishOrAwaitHugePages(pages.data(), kFourPages);  // waits or not: as much as lies ready
  }
  ForgetHugePages(pages.data());
  WishOrAwaitHugePages(pages.data(), kFourPages);
  EXPECT_EQ(BytesAwaitingHugePages(), 0u);
}

TEST(HugePages, AThreadMakesThem) {
  const Pages pages;
  for (std::size_t i = 0; i < kFourPages; i += 4096) pages.data()[i] = std::byte{7};
  AwaitHugePages(pages.data(), kFourPages);
  {
    const HugePageMaker maker(std::chrono::milliseconds(0));
    for (int i = 0; i < 2000 && BytesAwaitingHugePages() != 0; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
  EXPECT_EQ(BytesAwaitingHugePages(), 0u);
  EXPECT_EQ(pages.data()[kFourPages - 4096], std::byte{7});
  ForgetHugePages(pages.data());
}

TEST(HugePages, AThreadEndsBeforeItBegins) {
  const Pages pages;
  AwaitHugePages(pages.data(), kFourPages);
  {
    const HugePageMaker maker(std::chrono::hours(1));
  }
  EXPECT_EQ(BytesAwaitingHugePages(), kFourPages);
  ForgetHugePages(pages.data());
}

// A child may give back a model that its parent has loaded.
TEST(HugePages, AChildDoesNotWaitForItsParentsThread) {
  const Pages pages;
  AwaitHugePages(pages.data(), kFourPages);
  {
    const auto maker = std::make_unique<HugePageMaker>(std::chrono::hours(1));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // so that it waits
    EXPECT_EXIT(
        {
          maker->~HugePageMaker();
          ForgetHugePages(pages.data());
          std::_Exit(BytesAwaitingHugePages() == 0 ? 3 : 4);
        },
        testing::ExitedWithCode(3), "");
  }
  ForgetHugePages(pages.data());
}

}  // namespace
}  // namespace bittern
