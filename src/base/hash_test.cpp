// SPDX-License-Identifier: Apache-2.0
#include "base/hash.hpp"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

namespace bittern {
namespace {

std::span<const std::byte> BytesOfText(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

TEST(Hash128, KnownValues) {
  EXPECT_EQ(Hash128().Hex(), "99aa06d3014798d86001c324468d497f");  // XXH3_128bits of nothing
  Hash128 hash;
  hash.Add(BytesOfText("abc"));
  EXPECT_EQ(hash.Hex(), "06b05ab6733a618578af5f94892f3950");
}

TEST(Hash128, PartsDoNotMatter) {
  std::vector<std::byte> data(100'003);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::byte>(i * 7919 >> 5);
  Hash128 whole, parts;
  whole.Add(data);
  for (std::size_t at = 0, size = 1; at < data.size(); at += size, size = size * 3 % 1009 + 1) {
    parts.Add(std::span(data).subspan(at, std::min(size, data.size() - at)));
  }
  EXPECT_EQ(whole.Hex(), parts.Hex());
  data[77'777] ^= std::byte{1};
  Hash128 other;
  other.Add(data);
  EXPECT_NE(whole.Hex(), other.Hex());
}

}  // namespace
}  // namespace bittern
