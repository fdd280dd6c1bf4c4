// SPDX-License-Identifier: Apache-2.0
// Decoders against bytes packed here, by place of each weight in the block (the decoders walk the
// bytes instead), with scales from subnormal to the largest half; every comparison is exact.
#include "quant/blocks/dequantize.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "base/float16.hpp"
#include "quant/blocks/iq4_nl.hpp"
#include "quant/blocks/q4_0.hpp"
#include "quant/blocks/q6_k.hpp"
#include "quant/blocks/q8_0.hpp"

namespace bittern::quant {
namespace {

// Halves: 0, 1, -2, smallest subnormal, largest subnormal, smallest normal, largest, 0.1.
constexpr std::uint16_t kScales[] = {0x0000, 0x3c00, 0xc000, 0x0001,
                                     0x03ff, 0x0400, 0x7bff, 0x2e66};

void PutHalf(std::uint16_t half, std::byte* place) { std::memcpy(place, &half, sizeof half); }

std::vector<float> Decode(WeightFormat format, const std::vector<std::byte>& row, std::size_t n) {
  std::vector<float> out(n + 1, 777.0f);
  DequantizeRowFor(format)(row.data(), n, out.data());
  EXPECT_EQ(out[n], 777.0f) << "wrote past the row";
  out.pop_back();
  return out;
}

/// A row of `blocks` blocks: random codes and scales, block b with kScales[b % 8].
struct Row {
  std::vector<std::byte> bytes;
  std::vector<double> expected;  // exact: every product fits in 53 bits
};

Row MakeQ8_0(std::size_t blocks, std::mt19937* rng) {
  Row row{std::vector<std::byte>(blocks * 34), std::vector<double>(blocks * 32)};
  for (std::size_t e = 0; e < row.expected.size(); ++e) {
    const std::uint16_t d = kScales[e / 32 % 8];
    const int q = static_cast<int>((*rng)() % 256) - 128;
    PutHalf(d, &row.bytes[e / 32 * 34]);
    row.bytes[e / 32 * 34 + 2 + e % 32] = static_cast<std::byte>(q & 255);
    row.expected[e] = double{HalfToFloat(d)} * q;
  }
  return row;
}

Row MakeQ4_0(std::size_t blocks, std::mt19937* rng) {
  Row row{std::vector<std::byte>(blocks * 18), std::vector<double>(blocks * 32)};
  for (std::size_t e = 0; e < row.expected.size(); ++e) {
    const std::uint16_t d = kScales[e / 32 % 8];
    const int q = static_cast<int>((*rng)() % 16);
    PutHalf(d, &row.bytes[e / 32 * 18]);
    const std::size_t place = e % 32;
    row.bytes[e / 32 * 18 + 2 + place % 16] |= static_cast<std::byte>(q << (place < 16 ? 0 : 4));
    row.expected[e] = double{HalfToFloat(d)} * (q - 8);
  }
  return row;
}

Row MakeQ6_K(std::size_t blocks, std::mt19937* rng) {
  Row row{std::vector<std::byte>(blocks * 210), std::vector<double>(blocks * 256)};
  for (std::size_t b = 0; b < blocks; ++b) {
    std::byte* block = &row.bytes[b * 210];
    PutHalf(kScales[b % 8], block + 208);
    int scales[16];
    for (int& scale : scales) scale = static_cast<int>((*rng)() % 256) - 128;
    for (std::size_t i = 0; i < 16; ++i) block[192 + i] = static_cast<std::byte>(scales[i] & 255);
    for (std::size_t e = 0; e < 256; ++e) {
      const int code = static_cast<int>((*rng)() % 64);
      const std::size_t half = e / 128, r = e % 128;
      block[half * 64 + r % 64] |= static_cast<std::byte>((code & 15) << (r / 64 * 4));
      block[128 + half * 32 + r % 32] |= static_cast<std::byte>((code >> 4) << (r / 32 * 2));
      row.expected[b * 256 + e] =
          double{HalfToFloat(kScales[b % 8])} * scales[e / 16] * (code - 32);
    }
  }
  return row;
}

/// Blocks of 32 with an offset, fifth bits, or both, which lie between the halves and the nibbles.
Row MakeQ4OrQ5(std::size_t blocks, bool five, bool offset, std::mt19937* rng) {
  const std::size_t halves = offset ? 4 : 2, fifth = five ? 4 : 0, size = halves + fifth + 16;
  Row row{std::vector<std::byte>(blocks * size), std::vector<double>(blocks * 32)};
  for (std::size_t e = 0; e < row.expected.size(); ++e) {
    std::byte* block = &row.bytes[e / 32 * size];
    const std::uint16_t d = kScales[e / 32 % 8], m = kScales[(e / 32 + 3) % 8];
    const unsigned q = (*rng)() % (five ? 32 : 16);
    PutHalf(d, block);
    if (offset) PutHalf(m, block + 2);
    const std::size_t place = e % 32;
    if (five) block[halves + place / 8] |= static_cast<std::byte>((q >> 4) << (place % 8));
    block[halves + fifth + place % 16] |= static_cast<std::byte>((q & 15) << (place < 16 ? 0 : 4));
    row.expected[e] = offset ? double{HalfToFloat(d)} * q + double{HalfToFloat(m)}
                             : double{HalfToFloat(d)} * (static_cast<double>(q) - 16);
  }
  return row;
}

Row MakeQ4_KOrQ5_K(std::size_t blocks, bool five, std::mt19937* rng) {
  const std::size_t nibbles = five ? 48 : 16, size = nibbles + 128;
  Row row{std::vector<std::byte>(blocks * size), std::vector<double>(blocks * 256)};
  for (std::size_t b = 0; b < blocks; ++b) {
    std::byte* block = &row.bytes[b * size];
    const std::uint16_t d = kScales[b % 8], m = kScales[(b + 3) % 8];
    PutHalf(d, block);
    PutHalf(m, block + 2);
    for (std::size_t g = 0; g < 8; ++g) {
      const unsigned scale = (*rng)() % 64, offset = (*rng)() % 64;
      if (g < 4) {
        block[4 + g] |= static_cast<std::byte>(scale);
        block[8 + g] |= static_cast<std::byte>(offset);
      } else {  // the low four bits of both in one byte, the others above those of groups 0 to 3
        block[8 + g] |= static_cast<std::byte>((scale & 15) | (offset & 15) << 4);
        block[g] |= static_cast<std::byte>(scale >> 4 << 6);
        block[4 + g] |= static_cast<std::byte>(offset >> 4 << 6);
      }
      for (std::size_t i = 0; i < 32; ++i) {
        const unsigned q = (*rng)() % (five ? 32 : 16);
        block[nibbles + g / 2 * 32 + i] |= static_cast<std::byte>((q & 15) << (g % 2 * 4));
        if (five) block[16 + i] |= static_cast<std::byte>((q >> 4) << g);
        row.expected[b * 256 + g * 32 + i] =
            double{HalfToFloat(d)} * scale * q - double{HalfToFloat(m)} * offset;
      }
    }
  }
  return row;
}

void ExpectDecodes(WeightFormat format, const Row& row) {
  const auto out = Decode(format, row.bytes, row.expected.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    ASSERT_EQ(out[i], static_cast<float>(row.expected[i])) << "weight " << i;
  }
}

TEST(Dequantize, Q8_0) {
  std::mt19937 rng(8);
  ExpectDecodes(WeightFormat::kQ8_0, MakeQ8_0(64, &rng));
}

TEST(Dequantize, Q4_0) {
  std::mt19937 rng(4);
  ExpectDecodes(WeightFormat::kQ4_0, MakeQ4_0(64, &rng));
}

TEST(Dequantize, Q4AndQ5WithOffsetsAndFifthBits) {
  std::mt19937 rng(5);
  ExpectDecodes(WeightFormat::kQ4_1, MakeQ4OrQ5(64, false, true, &rng));
  ExpectDecodes(WeightFormat::kQ5_0, MakeQ4OrQ5(64, true, false, &rng));
  ExpectDecodes(WeightFormat::kQ5_1, MakeQ4OrQ5(64, true, true, &rng));
}

TEST(Dequantize, Q4_KAndQ5_K) {
  std::mt19937 rng(5);
  ExpectDecodes(WeightFormat::kQ4_K, MakeQ4_KOrQ5_K(64, false, &rng));
  ExpectDecodes(WeightFormat::kQ5_K, MakeQ4_KOrQ5_K(64, true, &rng));
}

TEST(Dequantize, Q6_K) {
  std::mt19937 rng(6);
  ExpectDecodes(WeightFormat::kQ6_K, MakeQ6_K(64, &rng));
}

TEST(Dequantize, Q8_0ByHand) {
  std::vector<std::byte> row(34);
  PutHalf(0x3800, row.data());  // 0.5
  row[2] = std::byte{0x80};     // -128
  row[3] = std::byte{0x7f};
  row[33] = std::byte{0xff};  // -1
  const auto out = Decode(WeightFormat::kQ8_0, row, 32);
  EXPECT_EQ(out[0], -64.0f);
  EXPECT_EQ(out[1], 63.5f);
  EXPECT_EQ(out[2], 0.0f);
  EXPECT_EQ(out[31], -0.5f);
}

TEST(Dequantize, Q4_0ByHand) {
  std::vector<std::byte> row(18);
  PutHalf(0x4000, row.data());  // 2
  row[2] = std::byte{0xf1};     // weight 0: 1, weight 16: 15
  const auto out = Decode(WeightFormat::kQ4_0, row, 32);
  EXPECT_EQ(out[0], -14.0f);
  EXPECT_EQ(out[16], 14.0f);
  EXPECT_EQ(out[1], -16.0f);
  EXPECT_EQ(out[31], -16.0f);
}

TEST(Dequantize, IQ4_NLByHand) {
  constexpr int kLevels[] = {-127, -104, -83, -65, -49, -35, -22, -10,
                             1,    13,   25,  38,  53,  69,  89,  113};
  std::vector<std::byte> row(36);
  PutHalf(0x4000, row.data());  // 2
  PutHalf(0xb800, &row[18]);    // -0.5
  for (unsigned i = 0; i < 16; ++i) {
    row[2 + i] = static_cast<std::byte>(i | (15 - i) << 4);  // weight i: level i
    row[20 + i] = static_cast<std::byte>(i << 4);            // weight i: level 0
  }
  const auto out = Decode(WeightFormat::kIQ4_NL, row, 64);
  for (std::size_t i = 0; i < 16; ++i) {
    EXPECT_EQ(out[i], 2.0f * kLevels[i]);
    EXPECT_EQ(out[16 + i], 2.0f * kLevels[15 - i]);
    EXPECT_EQ(out[32 + i], 63.5f);
    EXPECT_EQ(out[48 + i], -0.5f * kLevels[i]);
  }
}

TEST(Dequantize, Q6_KByHand) {
  std::vector<std::byte> row(210);
  PutHalf(0x3c00, &row[208]);  // 1
  for (std::size_t i = 0; i < 16; ++i) row[192 + i] = static_cast<std::byte>(i + 1);
  row[64 + 63] = std::byte{0x5a};   // weights 128+63 (low) and 128+127 (high nibble)
  row[160 + 31] = std::byte{0xc4};  // of l = 31: k 0: 0, k 1: 1, k 2: 0, k 3: 3
  const auto out = Decode(WeightFormat::kQ6_K, row, 256);
  EXPECT_EQ(out[0], 1.0f * -32);
  EXPECT_EQ(out[128 + 63], 12.0f * (0x1a - 32));   // scale 191 / 16 = 11 -> 12
  EXPECT_EQ(out[128 + 127], 16.0f * (0x35 - 32));  // scale 15 -> 16
  EXPECT_EQ(out[128 + 31], 10.0f * -32);
}

TEST(Dequantize, PlainNumbersKeepTheirBits) {
  const std::vector<float> values = {0.0f,
                                     -0.0f,
                                     1.5f,
                                     std::numeric_limits<float>::denorm_min(),
                                     std::numeric_limits<float>::max(),
                                     -3e-39f};
  std::vector<std::byte> row(values.size() * 4);
  std::memcpy(row.data(), values.data(), row.size());
  const auto out = Decode(WeightFormat::kF32, row, values.size());
  EXPECT_EQ(std::memcmp(out.data(), values.data(), row.size()), 0);
}

TEST(Dequantize, SixteenBitFloats) {
  std::vector<std::byte> row(8);
  const std::uint16_t halves[] = {0x3c00, 0xc100, 0x0001, 0x7bff};
  std::memcpy(row.data(), halves, 8);
  EXPECT_EQ(Decode(WeightFormat::kF16, row, 4),
            (std::vector<float>{1.0f, -2.5f, 0x1p-24f, 65504.0f}));
  const std::uint16_t bfloats[] = {0x3f80, 0xc020, 0x0001, 0x7f7f};
  std::memcpy(row.data(), bfloats, 8);
  EXPECT_EQ(Decode(WeightFormat::kBF16, row, 4),
            (std::vector<float>{1.0f, -2.5f, 0x1p-133f, 0x1.fep127f}));
}

TEST(Dequantize, InfiniteScaleStaysVisible) {
  std::vector<std::byte> row(34);
  PutHalf(0x7c00, row.data());
  row[2] = std::byte{1};
  const auto out = Decode(WeightFormat::kQ8_0, row, 32);
  EXPECT_EQ(out[0], std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(out[1]));
}

TEST(Dequantize, TernaryFormatsHaveNoRowDecoder) {
  EXPECT_EQ(DequantizeRowFor(WeightFormat::kI2_S), nullptr);
}

TEST(Dequantize, BlockSizesAgreeWithTheFormatTable) {
  EXPECT_EQ(InfoOf(WeightFormat::kQ8_0).block_bytes, kQ8_0BlockBytes);
  EXPECT_EQ(InfoOf(WeightFormat::kQ8_0).block_elements, kQ8_0Block);
  EXPECT_EQ(InfoOf(WeightFormat::kQ4_0).block_bytes, kQ4_0BlockBytes);
  EXPECT_EQ(InfoOf(WeightFormat::kQ4_0).block_elements, kQ4_0Block);
  EXPECT_EQ(InfoOf(WeightFormat::kIQ4_NL).block_bytes, kIQ4_NLBlockBytes);
  EXPECT_EQ(InfoOf(WeightFormat::kIQ4_NL).block_elements, kIQ4_NLBlock);
  EXPECT_EQ(InfoOf(WeightFormat::kQ6_K).block_bytes, kQ6_KBlockBytes);
  EXPECT_EQ(InfoOf(WeightFormat::kQ6_K).block_elements, kQ6_KBlock);
}

}  // namespace
}  // namespace bittern::quant
