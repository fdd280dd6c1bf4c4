// SPDX-License-Identifier: Apache-2.0
#include "serve/core/service_setup.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

namespace bittern::serve {
namespace {

TEST(ServiceSetup, KeysAreLines) {
  const std::string path = testing::TempDir() + "keys.txt";
  std::ofstream(path, std::ios::binary) << "# of all\n  # more\none\r\n\n \t\ntwo#2";
  EXPECT_EQ(ReadKeyFile(path).value(), (std::vector<std::string>{"one", "two#2"}));
  std::ofstream(path, std::ios::binary) << "\n# key\n";
  EXPECT_FALSE(ReadKeyFile(path));
  std::remove(path.c_str());
  EXPECT_FALSE(ReadKeyFile(path));
}

TEST(ServiceSetup, ModelsAreCalledAsTheirFiles) {
  EXPECT_EQ(NameOfModelFile("a/b.gguf"), "b");
  EXPECT_EQ(NameOfModelFile("a/b-1.58"), "b-1.58");
}

}  // namespace
}  // namespace bittern::serve
