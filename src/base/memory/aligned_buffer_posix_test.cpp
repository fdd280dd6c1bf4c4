// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "base/memory/aligned_buffer.hpp"
#include "base/os/memory.hpp"

namespace bittern {
namespace {

TEST(HugeArenaOnPosix, AFileThatCannotBeMadeIsAnError) {
  const auto arena = HugeArena::CreateOnDisk("/nowhere/at/all", 4096);
  ASSERT_FALSE(arena.has_value());
  EXPECT_EQ(arena.error().code, ErrorCode::kIo);
  EXPECT_EQ(arena.error().message,
            "/nowhere/at/all: cannot make a file of 4096 bytes there: No such file or directory");
}

TEST(OsMemory, RoomIsThatOfAMachine) {
  const std::uint64_t room = os::RoomForPages();  // 0: the system does not say
  EXPECT_TRUE(room == 0 || room > 1u << 20) << room;
}

}  // namespace
}  // namespace bittern
