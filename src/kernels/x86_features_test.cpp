// SPDX-License-Identifier: Apache-2.0
// Each feature against the compiler's own question, where that has an answer: gcc and clang on
// Linux have one, zig's run-time library says no to all.
#include "kernels/x86_features.hpp"

#include <gtest/gtest.h>

namespace bittern::kernels {
namespace {

#if defined(__x86_64__) && defined(__GLIBC__)
TEST(X86Features, AreThoseOfTheCompiler) {
  __builtin_cpu_init();
#define EXPECT_SAME(feature) \
  EXPECT_EQ(X86Has(feature), __builtin_cpu_supports(feature) != 0) << feature
  EXPECT_SAME("ssse3");
  EXPECT_SAME("sse4.1");
  EXPECT_SAME("fma");
  EXPECT_SAME("avx2");
#if !defined(__clang__) || __clang_major__ >= 18  // older ones do not know the names
  EXPECT_SAME("f16c");
  EXPECT_SAME("avxvnni");
#endif
  EXPECT_SAME("avx512f");
  EXPECT_SAME("avx512dq");
  EXPECT_SAME("avx512bw");
  EXPECT_SAME("avx512vl");
  EXPECT_SAME("avx512vbmi");
  EXPECT_SAME("avx512vnni");
#undef EXPECT_SAME
}
#endif

TEST(X86Features, UnknownNamesAreFalse) { EXPECT_FALSE(X86Has("avx1024")); }

}  // namespace
}  // namespace bittern::kernels
