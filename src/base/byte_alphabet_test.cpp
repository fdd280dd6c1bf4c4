// SPDX-License-Identifier: Apache-2.0
// The byte alphabet: known letters, both directions, and what is no spelling.
#include "base/byte_alphabet.hpp"

#include <gtest/gtest.h>

#include <set>

namespace bittern {
namespace {

TEST(ByteAlphabet, KnownLetters) {
  EXPECT_EQ(ByteAlphabet()[' '], U'\u0120');
  EXPECT_EQ(ByteAlphabet()['\n'], U'\u010a');
  EXPECT_EQ(ByteAlphabet()['\t'], U'\u0109');
  EXPECT_EQ(ByteAlphabet()['\r'], U'\u010d');
  EXPECT_EQ(ByteAlphabet()['!'], U'!');
  EXPECT_EQ(ByteAlphabet()[0x7f], U'\u0121');
  EXPECT_EQ(ByteAlphabet()[0xad], U'\u0143');
  EXPECT_EQ(ByteAlphabet()[0xff], U'\u00ff');
}

TEST(ByteAlphabet, IsABijection) {
  const auto& alphabet = ByteAlphabet();
  EXPECT_EQ(std::set<char32_t>(alphabet.begin(), alphabet.end()).size(), 256u);
  std::string all, spelled, bytes;
  for (int byte = 0; byte < 256; ++byte) all.push_back(static_cast<char>(byte));
  AppendSpelling(all, &spelled);
  EXPECT_TRUE(AppendSpelledBytes(spelled, &bytes));
  EXPECT_EQ(bytes, all);
}

TEST(ByteAlphabet, RefusesWhatIsNoSpelling) {
  std::string out = "kept";
  for (const char* bad : {"a b", "\u0144", "\u00ad", "ab\xff", "日本", "a\n"}) {
    EXPECT_FALSE(AppendSpelledBytes(bad, &out)) << bad;
    EXPECT_EQ(out, "kept");
  }
}

}  // namespace
}  // namespace bittern
