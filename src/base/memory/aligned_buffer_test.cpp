// SPDX-License-Identifier: Apache-2.0
#include "base/memory/aligned_buffer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace bittern {
namespace {

TEST(AlignedBuffer, IsZeroedAndAligned) {
  for (const std::size_t size : {0u, 1u, 100u, 5u << 20}) {
    auto buffer = AlignedBuffer<std::uint8_t>::Create(size, "a test").value();
    EXPECT_EQ(buffer.size(), size);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % 64, 0u);
    EXPECT_EQ(std::count(buffer.data(), buffer.data() + size, 0),
              static_cast<std::ptrdiff_t>(size));
  }
}

TEST(AlignedBuffer, SizesThatOverflowAreErrors) {
  constexpr std::size_t kMost = std::numeric_limits<std::size_t>::max();
  HugeArena arena;
  for (const std::size_t size : {kMost, kMost / 4 + 2, kMost / 8}) {
    const auto own = AlignedBuffer<std::uint64_t>::Create(size, "a test");
    const auto part = AlignedBuffer<std::uint64_t>::CreateIn(arena, size, "a test");
    ASSERT_FALSE(own.has_value());
    ASSERT_FALSE(part.has_value());
    EXPECT_EQ(own.error().code, ErrorCode::kOutOfMemory);
    EXPECT_EQ(part.error().message, own.error().message);
  }
}

TEST(HugeArena, OnDiskItHoldsWhatIsWrittenAndTheRestGoesToMemory) {
  const std::string folder = std::filesystem::temp_directory_path().string();
  constexpr std::size_t kPart = 3u << 20;
  std::vector<AlignedBuffer<std::uint8_t>> parts;
  {
    HugeArena arena = HugeArena::CreateOnDisk(folder, 2 * kPart + 1).value();
    for (std::size_t p = 0; p < 4; ++p) {  // the third and the fourth do not fit
      parts.push_back(AlignedBuffer<std::uint8_t>::CreateIn(arena, kPart, "a test").value());
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(parts[p].data()) % 4096, 0u);
      EXPECT_EQ(std::count(parts[p].data(), parts[p].data() + kPart, 0),
                static_cast<std::ptrdiff_t>(kPart));
      std::fill_n(parts[p].data(), kPart, static_cast<std::uint8_t>(p + 1));
      ASSERT_TRUE(arena.WriteOut());
    }
  }
  for (std::size_t p = 0; p < 4; ++p) {
    EXPECT_EQ(std::count(parts[p].data(), parts[p].data() + kPart, p + 1),
              static_cast<std::ptrdiff_t>(kPart));
  }
}

TEST(HugeArena, PartsAreApartAndOutliveTheArena) {
  std::vector<AlignedBuffer<std::uint8_t>> parts;
  {
    std::optional<HugeArena> arena(std::in_place);
    for (const std::size_t size : {3u << 20, 1u, 0u, 4096u, 70u << 20, 15u << 20, 16u << 20,
                                   16u << 20, 16u << 20, 7u << 20, 16u << 20}) {
      parts.push_back(AlignedBuffer<std::uint8_t>::CreateIn(*arena, size, "a test").value());
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(parts.back().data()) % 4096, 0u);
      for (std::size_t i = 0; i < size; i += 4096) ASSERT_EQ(parts.back()[i], 0);
    }
  }
  for (std::size_t p = 0; p < parts.size(); ++p) {
    std::fill_n(parts[p].data(), parts[p].size(), static_cast<std::uint8_t>(p + 1));
  }
  for (std::size_t p = 0; p < parts.size(); ++p) {
    const auto here = static_cast<std::ptrdiff_t>(parts[p].size());
    EXPECT_EQ(std::count(parts[p].data(), parts[p].data() + parts[p].size(), p + 1), here);
  }
  const auto moved = std::move(parts[0]);
  parts.clear();
  EXPECT_EQ(moved[moved.size() - 1], 1);
}

}  // namespace
}  // namespace bittern
