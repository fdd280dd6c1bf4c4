// SPDX-License-Identifier: Apache-2.0
// The examples of FIPS 180-4, and that parts do not matter.
#include "base/sha256.hpp"

#include <gtest/gtest.h>

namespace bittern {
namespace {

std::string HexOf(std::string_view text) {
  Sha256 hash;
  hash.Add(std::as_bytes(std::span(text)));
  return hash.Hex();
}

TEST(Sha256, GivesTheStandardsExamples) {
  EXPECT_EQ(HexOf(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(HexOf("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(HexOf("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(HexOf(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, PartsDoNotMatter) {
  std::string text;
  for (int i = 0; i < 300; ++i) text += static_cast<char>(i * 7);
  for (std::size_t size = 50; size < 140; ++size) {
    const std::string_view whole = std::string_view(text).substr(0, size);
    for (const std::size_t part : {1u, 3u, 63u, 64u, 65u}) {
      Sha256 hash;
      for (std::size_t at = 0; at < size; at += part) {
        hash.Add(std::as_bytes(std::span(whole.substr(at, part))));
      }
      ASSERT_EQ(hash.Hex(), HexOf(whole)) << size << " in parts of " << part;
    }
  }
}

}  // namespace
}  // namespace bittern
