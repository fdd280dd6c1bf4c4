// SPDX-License-Identifier: Apache-2.0
#include "proof/certificate/certify_files.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

namespace bittern::proof {
namespace {

std::string Written(const char* name, std::string_view text) {
  const std::string path = testing::TempDir() + name;
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

TEST(CertifyFiles, PromptsAreLinesWithEscapes) {
  const std::string path = Written("prompts.txt", "one\n\n\r\ntwo\\nlines");
  EXPECT_EQ(ReadPromptSet(path).value(), (std::vector<std::string>{"one", "two\nlines"}));
  EXPECT_FALSE(ReadPromptSet(Written("none.txt", "\n\n")));
  EXPECT_FALSE(ReadPromptSet(path + ".missing"));
  std::remove(path.c_str());
}

TEST(CertifyFiles, ErrorsOfExpectedCertificatesNameTheFile) {
  EXPECT_FALSE(ReadExpectedCertificates("bittern-certificate but no line"));
  const std::string path = Written("expected.txt", "no certificate");
  const auto read = ReadExpectedCertificates(path);
  ASSERT_FALSE(read);
  EXPECT_TRUE(read.error().message.starts_with(path));
  std::remove(path.c_str());
}

TEST(CertifyFiles, UsesOfTheCacheHaveNames) {
  EXPECT_EQ(CacheUseByName("grow"), CacheUse::kGrow);
  EXPECT_EQ(CacheUseByName("recompute"), CacheUse::kRecompute);
  EXPECT_EQ(CacheUseByName("rewind"), CacheUse::kRewind);
  EXPECT_EQ(CacheUseByName("Grow"), std::nullopt);
}

}  // namespace
}  // namespace bittern::proof
