// SPDX-License-Identifier: Apache-2.0
#include "base/text/percent.hpp"

#include <gtest/gtest.h>

namespace bittern {
namespace {

TEST(Percent, Encodes) {
  EXPECT_EQ(PercentEncoded("a-Z_0.9~ /\xff%"), "a-Z_0.9~%20%2F%FF%25");
  EXPECT_EQ(PercentEncoded("a/b c", "-._~/"), "a/b%20c");
}

TEST(Percent, DecodesWhatIsCoded) {
  EXPECT_EQ(PercentDecoded("%41%2fb%fF"), "A/b\xff");
  EXPECT_EQ(PercentDecoded("100%"), "100%");
  EXPECT_EQ(PercentDecoded("%4"), "%4");
  EXPECT_EQ(PercentDecoded("%zz%+1%-1"), "%zz%+1%-1");
  EXPECT_EQ(PercentDecoded("%25%41"), "%A");
}

TEST(Percent, ComesBack) {
  std::string all;
  for (int c = 0; c < 256; ++c) all += static_cast<char>(c);
  EXPECT_EQ(PercentDecoded(PercentEncoded(all)), all);
}

}  // namespace
}  // namespace bittern
