// SPDX-License-Identifier: Apache-2.0
// The table-driven counts against counting unpacked codes one by one.
#include "quant/ternary_stats.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "quant/i2s.hpp"

namespace bittern::quant {
namespace {

/// The same counts, one unpacked weight at a time.
TernaryStats CountSlowly(const std::vector<std::byte>& packed, std::size_t cols) {
  TernaryStats stats;
  std::vector<std::uint8_t> codes(cols);
  for (std::size_t begin = 0; begin < packed.size(); begin += cols / 4) {
    UnpackI2s(std::span(packed).subspan(begin, cols / 4), codes);
    bool dead = true;
    for (const std::uint8_t code : codes) {
      stats.minus += code == 0;
      stats.zero += code == 1;
      stats.plus += code == 2;
      stats.invalid += code == 3;
      dead = dead && code == 1;
    }
    ++stats.rows;
    stats.dead_rows += dead;
  }
  return stats;
}

std::vector<std::byte> RandomBytes(std::size_t size, std::uint32_t seed) {
  std::mt19937 rng(seed);
  std::vector<std::byte> bytes(size);
  for (auto& byte : bytes) byte = static_cast<std::byte>(rng() & 255);
  return bytes;
}

TEST(TernaryStats, AgreesWithCountingOneByOne) {
  for (const std::size_t cols : {128, 256, 2560, 6912}) {
    const auto packed = RandomBytes(cols / 4 * 7, static_cast<std::uint32_t>(cols));
    EXPECT_EQ(CountI2s(packed, cols), CountSlowly(packed, cols)) << cols;
  }
}

TEST(TernaryStats, RowsLongerThanTheLanesHold) {
  // One code everywhere drives one 16-bit lane as high as it can go.
  const std::size_t cols = 128 * 4096;
  for (const int byte : {0x00, 0x55, 0xaa, 0xff}) {
    const std::vector<std::byte> packed(cols / 4 * 2, static_cast<std::byte>(byte));
    const TernaryStats stats = CountI2s(packed, cols);
    EXPECT_EQ(stats, CountSlowly(packed, cols)) << byte;
    EXPECT_EQ(stats.weights(), 2 * cols);
    EXPECT_EQ(stats.dead_rows, byte == 0x55 ? 2u : 0u);
  }
}

TEST(TernaryStats, OneLiveWeightMakesARowLive) {
  std::vector<std::byte> packed(64 * 3, std::byte{0x55});
  packed[64 + 63] = std::byte{0x56};  // the last weight of row 1
  const TernaryStats stats = CountI2s(packed, 256);
  EXPECT_EQ(stats.rows, 3u);
  EXPECT_EQ(stats.dead_rows, 2u);
  EXPECT_EQ(stats.plus, 1u);
}

TEST(TernaryStats, SumsTensors) {
  TernaryStats sum{1, 2, 3, 4, 5, 6};
  sum += TernaryStats{10, 20, 30, 40, 50, 60};
  EXPECT_EQ(sum, (TernaryStats{11, 22, 33, 44, 55, 66}));
  EXPECT_EQ(sum.weights(), 110u);
}

TEST(TernaryStats, OneRowOfCodes) {
  const std::vector<std::uint8_t> row = {0, 1, 2, 2, 3, 1};
  EXPECT_EQ(CountCodes(row), (TernaryStats{1, 2, 2, 1, 1, 0}));
  const std::vector<std::uint8_t> dead(7, 1);
  EXPECT_EQ(CountCodes(dead), (TernaryStats{0, 7, 0, 0, 1, 1}));
}

}  // namespace
}  // namespace bittern::quant
