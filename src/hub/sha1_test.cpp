// SPDX-License-Identifier: Apache-2.0
// Values of FIPS 180-4's examples and of git; our own hash and OpenSSL's agree.
#include "hub/sha1.hpp"

#include <gtest/gtest.h>

#include <string_view>

#include "hub/digest.hpp"

namespace bittern::hub {
namespace {

std::span<const std::byte> BytesOf(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

TEST(Sha1, Examples) {
  Sha1 hash;
  EXPECT_EQ(hash.Hex(), "da39a3ee5e6b4b0d3255bfef95601890afd80709");
  hash.Add(BytesOf("abc"));
  EXPECT_EQ(hash.Hex(), "a9993e364706816aba3e25717850c26c9cd0d89d");
  Sha1 longer;
  longer.Add(BytesOf("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"));
  EXPECT_EQ(longer.Hex(), "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
  Sha1 million;
  const std::string thousand(1000, 'a');
  for (int i = 0; i < 1000; ++i) million.Add(BytesOf(thousand));
  EXPECT_EQ(million.Hex(), "34aa973cd4c4daa4f61eeb2bdbad27316534016f");
}

TEST(Digest, NamesFilesAsGitAndLfsDo) {
  for (const std::size_t size : {0U, 12U, 55U, 56U, 64U, 1000U}) {
    const std::string text(size, 'x');
    auto blob = Digest::Create(DigestKind::kGitBlob, size);
    if (!blob) GTEST_SKIP() << "built without downloads";
    blob->Add(BytesOf(text));
    Sha1 own;
    own.Add(BytesOf("blob " + std::to_string(size) + '\0' + text));
    EXPECT_EQ(blob->Finish(), own.Hex()) << size;
  }
  auto lfs = Digest::Create(DigestKind::kSha256, 3).value();
  lfs.Add(BytesOf("abc"));
  EXPECT_EQ(lfs.Finish(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

}  // namespace
}  // namespace bittern::hub
