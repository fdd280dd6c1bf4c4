// SPDX-License-Identifier: Apache-2.0
// Hints of the library in the words of the command line.
#include "cli/shared/wording.hpp"

#include <gtest/gtest.h>

namespace bittern::cli {
namespace {

TEST(Wording, KeysBecomeFlags) {
  EXPECT_EQ(WordOptions("if wrong, override_kv=a.b=int:N corrects it"),
            "if wrong, --override-kv a.b=int:N corrects it");
  EXPECT_EQ(WordOptions("head=exact, kernel=tile16, tl_tiling=1,2"),
            "--head exact, --kernel tile16, --tl-tiling 1,2");
  EXPECT_EQ(WordOptions("temperature"), "--temp");
}

TEST(Wording, OtherTextsStay) {
  for (const char* text : {"", "n_head=5", "\"head=5\"", "a.head=5", "the head is", "kernel",
                           "headed=1", "the temperature", "x="}) {
    EXPECT_EQ(WordOptions(text), text);
  }
}

TEST(Wording, AHintFollowsItsMessage) {
  EXPECT_EQ(WordError({ErrorCode::kIo, "x: no", "try head=exact"}), "x: no; try --head exact");
  EXPECT_EQ(WordError({ErrorCode::kIo, "isa=mmx: unknown", ""}), "BITTERN_ISA=mmx: unknown");
  EXPECT_EQ(WordReason({"s", "c", "why", false, "zero_skip=off: kept"}),
            "why; --zero-skip off: kept");
}

}  // namespace
}  // namespace bittern::cli
