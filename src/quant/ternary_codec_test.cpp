// SPDX-License-Identifier: Apache-2.0
// Every codec of the table: bytes of known layouts one weight at a time (an oracle that shares
// nothing with the codecs but the description of the format), round trips, sizes, refusals.
#include "quant/ternary_codec.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "base/float16.hpp"
#include "quant/ternary_scales.hpp"
#include "quant/tl2.hpp"

namespace bittern::quant {
namespace {

struct Sample {
  std::size_t rows, cols;
  TlTiling tiling;
  std::vector<std::uint8_t> codes;
  std::vector<float> scales;
};

/// A shape the codec accepts, with at least two of everything that it groups.
Sample SampleShape(const TernaryCodec& codec) {
  switch (codec.layout) {
    case TernaryLayout::kTl1:
      return {256, 256, {128, 128, 32}, {}, {}};
    case TernaryLayout::kTl2:
      return {128, 448, {64, 96, 32}, {}, {}};  // four tiles of triples, 64 columns of pairs
    default:
      return {12, 512, {}, {}, {}};
  }
}

/// Leaves one 0 in each four weights that are 16 apart.
void MakeSparse(std::vector<std::uint8_t>* codes, std::mt19937& random) {
  for (std::size_t at = 0; at < codes->size(); ++at) {
    if (at % 64 >= 16) continue;
    const std::size_t zero = random() % 4;
    for (std::size_t lane = 0; lane < 4; ++lane) {
      (*codes)[at + 16 * lane] =
          lane == zero ? std::uint8_t{1} : static_cast<std::uint8_t>(random() % 2 * 2);
    }
  }
}

Sample RandomSample(const TernaryCodec& codec, unsigned seed) {
  Sample s = SampleShape(codec);
  std::mt19937 random(seed);
  for (std::size_t i = 0; i < s.rows * s.cols; ++i) {
    const auto code = static_cast<std::uint8_t>(random() % 3);
    s.codes.push_back(codec.layout == TernaryLayout::kQ1_0 && code == 1 ? 2 : code);
  }
  if (codec.layout == TernaryLayout::kStq1_0) MakeSparse(&s.codes, random);
  const float whole = codec.format >= WeightFormat::kHfPacked ? 1.0f : 1.25f;
  for (std::size_t i = 0; i < s.rows * codec.ScalesPerRow(s.cols); ++i) {
    const float own = 0.5f + static_cast<float>(random() % 1000) / 512.0f;
    s.scales.push_back(codec.stored_scale(codec.grain == ScaleGrain::kTensor ? whole : own));
  }
  return s;
}

std::vector<std::byte> PackSample(const TernaryCodec& codec, const Sample& s) {
  // Filled with ones: what pack leaves alone shows up as a difference.
  std::vector<std::byte> bytes(codec.bytes(s.rows, s.cols, s.tiling), std::byte{0xff});
  codec.pack({s.codes, s.scales, s.rows, s.cols, s.tiling}, bytes.data());
  return bytes;
}

class EveryCodec : public testing::TestWithParam<std::size_t> {
 protected:
  const TernaryCodec& codec = TernaryCodecs()[GetParam()];
};

TEST_P(EveryCodec, TableIsInOrder) {
  EXPECT_EQ(static_cast<std::size_t>(codec.layout), GetParam());
  EXPECT_EQ(FindCodec(codec.name), &codec);
  ASSERT_NE(DefaultCodec(codec.format), nullptr);
  EXPECT_EQ(DefaultCodec(codec.format)->format, codec.format);
}

TEST_P(EveryCodec, UnpackGivesBackWhatWasPacked) {
  for (unsigned seed = 0; seed < 4; ++seed) {
    const Sample s = RandomSample(codec, seed);
    ASSERT_TRUE(codec.check(s.rows, s.cols, s.tiling));
    const auto bytes = PackSample(codec, s);
    const TernaryView view{bytes, s.rows, s.cols, s.tiling};
    std::vector<std::uint8_t> codes(s.codes.size(), 9);
    std::vector<float> scales(s.scales.size(), -1);
    codec.unpack(view, 0, s.rows, codes.data(), scales.data());
    EXPECT_EQ(codes, s.codes);
    EXPECT_EQ(scales, s.scales);
  }
}

TEST_P(EveryCodec, RowsCanBeReadInAnyParts) {
  const Sample s = RandomSample(codec, 7);
  const auto bytes = PackSample(codec, s);
  const TernaryView view{bytes, s.rows, s.cols, s.tiling};
  const std::size_t per_row = codec.ScalesPerRow(s.cols);
  for (std::size_t first = 0; first < s.rows; first += 3) {
    const std::size_t count = std::min<std::size_t>(3, s.rows - first);
    std::vector<std::uint8_t> codes(count * s.cols);
    std::vector<float> scales(count * per_row);
    codec.unpack(view, first, count, codes.data(), scales.data());
    EXPECT_TRUE(std::equal(codes.begin(), codes.end(),
                           s.codes.begin() + static_cast<std::ptrdiff_t>(first * s.cols)));
    EXPECT_TRUE(std::equal(scales.begin(), scales.end(),
                           s.scales.begin() + static_cast<std::ptrdiff_t>(first * per_row)));
  }
}

TEST_P(EveryCodec, SizeIsTheReadersSize) {
  const Sample s = SampleShape(codec);
  const auto bytes = TensorBytes(InfoOf(codec.format), s.cols, s.rows);
  ASSERT_TRUE(bytes);
  EXPECT_EQ(*bytes, codec.bytes(s.rows, s.cols, s.tiling));
}

TEST_P(EveryCodec, ExtremeTensorsSurvive) {
  for (const int code : {0, 1, 2}) {
    Sample s = RandomSample(codec, 1);
    std::fill(s.codes.begin(), s.codes.end(), static_cast<std::uint8_t>(code));
    if (codec.check_codes != nullptr && !codec.check_codes(s.codes)) continue;
    const auto bytes = PackSample(codec, s);
    std::vector<std::uint8_t> codes(s.codes.size());
    const auto scales = UnpackTernary(codec, {bytes, s.rows, s.cols, s.tiling}, codes);
    ASSERT_TRUE(scales) << scales.error().message;
    EXPECT_EQ(codes, s.codes);
    for (const float scale : scales->values) EXPECT_EQ(scale == 0, code == 1);
  }
}

INSTANTIATE_TEST_SUITE_P(Table, EveryCodec, testing::Range<std::size_t>(0, TernaryCodecs().size()),
                         [](const auto& codec) {
                           std::string name(TernaryCodecs()[codec.param].name);
                           for (char& c : name)
                             c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
                           return name;
                         });

// ---- Oracles: the code of one weight, straight from the format's description ----------------

std::uint8_t Byte(std::span<const std::byte> bytes, std::size_t at) {
  return static_cast<std::uint8_t>(bytes[at]);
}
/// STQ1_0's table, as its readers have it: two bits a lane, the lowest for lane 0.
constexpr std::uint8_t kSparseTable[] = {
    0xA9, 0x89, 0x29, 0x09, 0xA6, 0x86, 0x26, 0x06, 0x9A, 0x92, 0x1A, 0x12, 0x6A, 0x62, 0x4A, 0x42,
    0x01, 0x21, 0x81, 0xA1, 0x04, 0x24, 0x84, 0xA4, 0x10, 0x18, 0x90, 0x98, 0x40, 0x48, 0x60, 0x68};
unsigned OracleSparse(std::span<const std::byte> b, std::size_t i) {
  const std::size_t group = i / 64 * 16 + i % 16, lane = i % 64 / 16;
  const unsigned nibble = Byte(b, group / 2) >> (4 * (group % 2)) & 15u;
  const unsigned sign = Byte(b, 32 + group / 8) >> (group % 8) & 1u;
  return kSparseTable[nibble + 16 * sign] >> (2 * lane) & 3u;
}
/// Digit n of a byte of base-3 digits, most significant first.
unsigned Trit(unsigned byte, unsigned n) {
  unsigned power = 1;
  for (unsigned i = 0; i < n; ++i) power *= 3;
  return (byte * power % 256) * 3 >> 8;
}

unsigned OracleCode(TernaryLayout layout, std::span<const std::byte> b, const Sample& s,
                    std::size_t row, std::size_t col);

unsigned OracleTl1(std::span<const std::byte> b, const Sample& s, std::size_t m, std::size_t k) {
  const std::size_t BM = s.tiling.bm_rows, BK = s.tiling.bk_cols, bm = s.tiling.group_rows;
  const std::size_t by = 256 / bm, K = s.cols, t = k / 2;
  const std::size_t mb = m / BM, i = (m % BM) / bm, r = m % bm, q = r / 16, l = r % 16;
  const std::size_t kb = t / (BK / 2), tt = t % (BK / 2), c = tt / (by / 2), t2 = tt % (by / 2);
  const std::size_t d = t2 / 2, h = t2 % 2;
  const std::size_t address =
      (((((mb * (K / BK) + kb) * (BM / bm) + i) * (BK / by) + c) * (bm / 16) + q) * (by / 4) + d) *
          16 +
      l;
  const unsigned pair = h == 0 ? Byte(b, address) >> 4 : Byte(b, address) & 15u;
  return k % 2 == 0 ? pair / 3 : pair % 3;
}

std::size_t Octets(std::size_t r) {
  constexpr std::size_t kTo[4] = {0, 16, 8, 24};
  return kTo[r / 8] + r % 8;
}

unsigned OracleTl2(std::span<const std::byte> b, const Sample& s, std::size_t m, std::size_t k) {
  const std::size_t BM = s.tiling.bm_rows, BK = s.tiling.bk_cols, M = s.rows, K = s.cols;
  const std::size_t K3 = K / BK * BK, K2 = K - K3, mb = m / BM, i = (m % BM) / 32, r = m % 32;
  if (k >= K3) {
    const std::size_t t = (k - K3) / 2, region = M * K3 / 6 + M * K3 / 24;
    const std::size_t address =
        region + (((mb * (K2 / 32) + t / 16) * (BM / 32) + i) * 8 + (t % 16) / 2) * 32 + Octets(r);
    const unsigned pair = t % 2 == 0 ? Byte(b, address) >> 4 : Byte(b, address) & 15u;
    return (k - K3) % 2 == 0 ? pair / 3 : pair % 3;
  }
  const std::size_t t = k / 3, kb = t / (BK / 3), tt = t % (BK / 3);
  const std::size_t blk = (mb * (K3 / BK) + kb) * (BM / 32) + i;
  const std::size_t address = (blk * (BK / 6) + tt / 2) * 32 + Octets(r);
  const int index = tt % 2 == 0 ? Byte(b, address) >> 4 : Byte(b, address) & 15;
  const std::size_t word = M * K3 / 6 + (blk * (BK / 24) + tt / 8) * 32 + 2 * (r % 16);
  const unsigned bits = Byte(b, word) | static_cast<unsigned>(Byte(b, word + 1)) << 8;
  const bool negative = (bits >> (15 - (2 * (tt % 8) + r / 16)) & 1) != 0;
  const int value = 13 + (negative ? -index : index);
  const int digits[3] = {value / 9, value / 3 % 3, value % 3};
  return static_cast<unsigned>(digits[k % 3]);
}

unsigned OracleTrits(std::span<const std::byte> block, std::size_t j, bool prism) {
  const std::size_t b1 = prism ? 16 : 32, b2 = b1 / 2, b3 = prism ? 2 : 4;
  std::size_t first = 0;
  if (j >= 5 * b1) {
    j -= 5 * b1;
    first = b1;
    if (j >= 5 * b2)
      return Trit(Byte(block, first + b2 + (j - 5 * b2) % b3),
                  static_cast<unsigned>((j - 5 * b2) / b3));
    return Trit(Byte(block, first + j % b2), static_cast<unsigned>(j / b2));
  }
  return Trit(Byte(block, j % b1), static_cast<unsigned>(j / b1));
}

unsigned OracleIq1(std::span<const std::byte> block, std::size_t j) {
  constexpr unsigned kPower[5] = {81, 27, 9, 3, 1};
  const std::size_t g = j / 16, in = j % 16;
  const unsigned byte = in == 15 ? Byte(block, 12) : Byte(block, 3 * g + in / 5);
  return (byte * kPower[in == 15 ? g : in % 5] % 256) * 3 >> 8;
}

unsigned OracleCode(TernaryLayout layout, std::span<const std::byte> b, const Sample& s,
                    std::size_t row, std::size_t col) {
  const std::size_t e = row * s.cols + col;
  const auto two_bits = [](unsigned byte, std::size_t shift) { return byte >> shift & 3; };
  switch (layout) {
    case TernaryLayout::kI2sX86:
      return two_bits(Byte(b, e / 128 * 32 + e % 32), 6 - 2 * (e % 128 / 32));
    case TernaryLayout::kI2sArm:
      return two_bits(Byte(b, e / 64 * 16 + e % 16), 6 - 2 * (e % 64 / 16));
    case TernaryLayout::kI2sRow4:
      return two_bits(Byte(b, row / 4 * s.cols + col), 6 - 2 * (row % 4));
    case TernaryLayout::kI2sSequential:
      return two_bits(Byte(b, e / 4), 6 - 2 * (e % 4));
    case TernaryLayout::kTl1:
      return OracleTl1(b, s, row, col);
    case TernaryLayout::kTl2:
      return OracleTl2(b, s, row, col);
    case TernaryLayout::kTq1_0:
      return OracleTrits(b.subspan(e / 256 * 54), e % 256, false);
    case TernaryLayout::kPtq1_0:
      return OracleTrits(b.subspan(e / 128 * 28), e % 128, true);
    case TernaryLayout::kTq2_0:
      return two_bits(Byte(b, e / 256 * 66 + e % 256 / 128 * 32 + e % 32), 2 * (e % 128 / 32));
    case TernaryLayout::kQ2_0:
      return two_bits(Byte(b, e / 64 * 18 + 2 + e % 64 / 4), 2 * (e % 4));
    case TernaryLayout::kPq2_0:
      return two_bits(Byte(b, e / 128 * 34 + 2 + e % 128 / 4), 2 * (e % 4));
    case TernaryLayout::kQ1_0:
      return (Byte(b, e / 128 * 18 + 2 + e % 128 / 8) >> (e % 8) & 1) * 2;
    case TernaryLayout::kStq1_0:
      return OracleSparse(b.subspan(e / 256 * 42), e % 256);
    case TernaryLayout::kIq1Bn:
      return OracleIq1(b.subspan(row * (2 + s.cols / 64 * 13) + 2 + col / 64 * 13), col % 64);
    case TernaryLayout::kIq2Bn:
      return two_bits(Byte(b, row * (4 + s.cols / 4) + 4 + col / 64 * 16 + col % 16),
                      2 * (col % 64 / 16));
    case TernaryLayout::kIq2BnR4: {
      const std::size_t l = col % 64 / 16, i = col % 4;
      const std::size_t four = row / 4 * 4 * (4 + s.cols / 4) + 16 + col / 64 * 64;
      return two_bits(Byte(b, four + 4 * (row % 4) + i + 16 * l), 2 * (col % 16 / 4));
    }
    case TernaryLayout::kMlx2:
      return two_bits(Byte(b, e / 4), 2 * (e % 4));
    case TernaryLayout::kHfPacked:
      return two_bits(Byte(b, row % (s.rows / 4) * s.cols + col), 2 * (row / (s.rows / 4)));
    default:
      return 99;
  }
}

TEST(TernaryCodecs, EveryWeightIsWhereTheFormatSaysItIs) {
  for (const TernaryCodec& codec : TernaryCodecs()) {
    if (codec.format == WeightFormat::kF32 || codec.format == WeightFormat::kF16 ||
        codec.format == WeightFormat::kBF16) {
      continue;  // no layout to get wrong
    }
    const Sample s = RandomSample(codec, 11);
    const auto bytes = PackSample(codec, s);
    std::size_t wrong = 0;
    for (std::size_t row = 0; row < s.rows; ++row) {
      for (std::size_t col = 0; col < s.cols; ++col) {
        wrong += OracleCode(codec.layout, bytes, s, row, col) != s.codes[row * s.cols + col];
      }
    }
    EXPECT_EQ(wrong, 0u) << codec.name;
  }
}

TEST(TernaryCodecs, ScalesLieWhereTheFormatSays) {
  const auto half = [](std::span<const std::byte> b, std::size_t at) {
    return HalfToFloat(static_cast<std::uint16_t>(Byte(b, at) | Byte(b, at + 1) << 8));
  };
  const auto single = [](std::span<const std::byte> b, std::size_t at) {
    float value;
    std::memcpy(&value, b.data() + at, 4);
    return value;
  };
  const auto packed = [](TernaryLayout layout, const Sample& s) {
    return PackSample(CodecOf(layout), s);
  };
  const auto sample = [](TernaryLayout layout) { return RandomSample(CodecOf(layout), 3); };
  for (const auto& [layout, at, block] : {std::tuple{TernaryLayout::kTq1_0, 52, 54},
                                          {TernaryLayout::kTq2_0, 64, 66},
                                          {TernaryLayout::kPtq1_0, 26, 28},
                                          {TernaryLayout::kQ2_0, 0, 18},
                                          {TernaryLayout::kPq2_0, 0, 34},
                                          {TernaryLayout::kQ1_0, 0, 18},
                                          {TernaryLayout::kStq1_0, 40, 42}}) {
    const Sample s = sample(layout);
    EXPECT_EQ(half(packed(layout, s), static_cast<std::size_t>(5 * block + at)), s.scales[5]);
  }
  const Sample i2s = sample(TernaryLayout::kI2sX86);
  EXPECT_EQ(single(packed(TernaryLayout::kI2sX86, i2s), 12 * 512 / 4), i2s.scales[0]);
  const Sample tl2 = sample(TernaryLayout::kTl2);
  EXPECT_EQ(single(packed(TernaryLayout::kTl2, tl2), Tl2DataBytes(128, 448)), tl2.scales[0]);
  const Sample iq1 = sample(TernaryLayout::kIq1Bn);
  EXPECT_EQ(half(packed(TernaryLayout::kIq1Bn, iq1), 3 * (2 + 8 * 13)), iq1.scales[3]);
  const Sample iq2 = sample(TernaryLayout::kIq2Bn);
  EXPECT_EQ(single(packed(TernaryLayout::kIq2Bn, iq2), 3 * (4 + 128)), iq2.scales[3]);
  const Sample r4 = sample(TernaryLayout::kIq2BnR4);
  EXPECT_EQ(single(packed(TernaryLayout::kIq2BnR4, r4), 4 * (4 + 128) + 4 * 2), r4.scales[6]);
}

/// All 32 codes in each of the 64 groups.
TEST(Stq1_0, EveryCodeOfEveryGroup) {
  const TernaryCodec& codec = CodecOf(TernaryLayout::kStq1_0);
  for (unsigned index = 0; index < 32; ++index) {
    for (std::size_t group = 0; group < 64; ++group) {
      std::vector<std::byte> block(42, std::byte{0});
      block[group / 2] = static_cast<std::byte>((index & 15) << (group % 2 * 4));
      block[32 + group / 8] = static_cast<std::byte>((index >> 4) << (group % 8));
      block[41] = std::byte{0x3c};  // 1
      std::uint8_t codes[256];
      float scale = 0;
      codec.unpack({block, 1, 256, {}}, 0, 1, codes, &scale);
      for (std::size_t i = 0; i < 256; ++i) {
        const unsigned of = i / 64 * 16 + i % 16 == group ? index : 0;
        ASSERT_EQ(codes[i], kSparseTable[of] >> (i % 64 / 16 * 2) & 3) << index << " " << i;
      }
      std::vector<std::byte> again(42);
      codec.pack({codes, {&scale, 1}, 1, 256, {}}, again.data());
      ASSERT_EQ(again, block) << index << " " << group;
    }
  }
}

TEST(Stq1_0, ABlockWithoutAScaleIsZeros) {
  const TernaryCodec& codec = CodecOf(TernaryLayout::kStq1_0);
  Sample s = RandomSample(codec, 5);
  std::fill_n(s.codes.begin(), 256, std::uint8_t{1});
  ASSERT_TRUE(codec.check_codes(s.codes));
  s.scales[0] = 0;
  auto bytes = PackSample(codec, s);
  bytes[7] = std::byte{0x5a};  // whatever its codes are
  std::vector<std::uint8_t> codes(s.codes.size());
  const auto scales = UnpackTernary(codec, {bytes, s.rows, s.cols, {}}, codes);
  ASSERT_TRUE(scales) << scales.error().message;
  EXPECT_EQ(codes, s.codes);
  s.codes[256] = s.codes[272] = 1;
  s.codes[288] = 0;
  EXPECT_FALSE(codec.check_codes(s.codes));
}

TEST(Tl2, StoredSizesOfTheOfficialShapes) {
  // formats of bitnet.cpp, with BK = 96
  EXPECT_EQ(Tl2DataBytes(640, 2560), 348160u);
  EXPECT_EQ(Tl2DataBytes(2560, 2560), 1392640u);
  EXPECT_EQ(Tl2DataBytes(6912, 2560), 3760128u);
  EXPECT_EQ(Tl2DataBytes(2560, 6912), 3713728u);
  for (const auto& [rows, cols] :
       {std::pair{640, 2560}, {2560, 2560}, {6912, 2560}, {2560, 6912}}) {
    const auto m = static_cast<std::size_t>(rows), k = static_cast<std::size_t>(cols);
    EXPECT_TRUE(CodecOf(TernaryLayout::kTl2).check(m, k, {128, 96, 32}));
  }
}

TEST(TernaryCodecs, ShapesThatDoNotFitAreRefusedByName) {
  const auto message = [](TernaryLayout layout, std::size_t rows, std::size_t cols, TlTiling t) {
    const auto result = CodecOf(layout).check(rows, cols, t);
    return result ? std::string("accepted") : result.error().message;
  };
  EXPECT_EQ(message(TernaryLayout::kTq2_0, 4, 8640, {}),
            "TQ2_0 needs columns in multiples of 256; the matrix has 4 rows of 8640");
  EXPECT_NE(message(TernaryLayout::kI2sRow4, 6, 512, {}), "accepted");
  EXPECT_NE(message(TernaryLayout::kI2sX86, 6, 192, {}), "accepted");
  EXPECT_NE(message(TernaryLayout::kTl1, 256, 256, {96, 128, 32}), "accepted");
  EXPECT_NE(message(TernaryLayout::kTl1, 256, 256, {0, 0, 0}), "accepted");
  EXPECT_NE(message(TernaryLayout::kTl2, 128, 448, {0, 0, 0}), "accepted");
  EXPECT_NE(message(TernaryLayout::kTl2, 128, 448, {64, 100, 32}), "accepted");
  EXPECT_NE(message(TernaryLayout::kTl2, 128, 460, {64, 96, 32}), "accepted");
  EXPECT_NE(message(TernaryLayout::kTl2, 128, 768, {64, 480, 32}), "accepted");  // 288 left over
}

TEST(FloatTernary, AnythingElseIsRefusedWithItsPlace) {
  const std::vector<float> weights = {0.5f, -0.5f, 0, 0.5f, 0.25f, 1e-9f};
  std::vector<std::uint8_t> codes(6);
  const auto scales = UnpackTernary(CodecOf(TernaryLayout::kF32),
                                    {std::as_bytes(std::span(weights)), 2, 3, {}}, codes);
  ASSERT_FALSE(scales);
  EXPECT_NE(scales.error().message.find("row 1, column 1"), std::string::npos)
      << scales.error().message;
}

TEST(TernaryScales, BadScalesAreRefusedWhereTheyMatter) {
  const TernaryCodec& codec = CodecOf(TernaryLayout::kQ2_0);
  for (const float bad : {std::nanf(""), -1.0f, 0.0f, INFINITY}) {
    std::vector<std::uint8_t> codes(128, 1);
    codes[70] = 2;  // only the second group has a weight
    const std::vector<float> scales = {bad, bad};
    std::vector<std::byte> bytes(codec.bytes(1, 128, {}));
    codec.pack({codes, scales, 1, 128, {}}, bytes.data());
    const auto read = UnpackTernary(codec, {bytes, 1, 128, {}}, codes);
    ASSERT_FALSE(read);
    EXPECT_NE(read.error().message.find("row 0, column 64: expected a finite positive scale"),
              std::string::npos)
        << read.error().message;
  }
}

TEST(TernaryScales, CoarsenFindsTheOneScale) {
  EXPECT_EQ(Coarsen({2, 8, 4, {0, 3, 3, 0}}).values, (std::vector<float>{3}));
  EXPECT_EQ(Coarsen({2, 8, 4, {0, 3, 2, 2}}).values, (std::vector<float>{3, 2}));
  EXPECT_EQ(Coarsen({2, 8, 4, {1, 3, 2, 2}}).values, (std::vector<float>{1, 3, 2, 2}));
  EXPECT_EQ(Coarsen({2, 8, 4, {0, 0, 0, 0}}).values, (std::vector<float>{0}));
}

TEST(TernaryScales, RegrainRefusesWhatWouldLoseScales) {
  const TernaryScales rows{2, 256, 256, {1, 2}};
  EXPECT_FALSE(Regrain(rows, CodecOf(TernaryLayout::kI2sX86)));
  EXPECT_EQ(Regrain(rows, CodecOf(TernaryLayout::kIq2Bn)).value(), (std::vector<float>{1, 2}));
  EXPECT_EQ(Regrain(rows, CodecOf(TernaryLayout::kPq2_0)).value(),
            (std::vector<float>{1, 1, 2, 2}));
  const TernaryScales groups{1, 256, 128, {1, 2}};
  EXPECT_FALSE(Regrain(groups, CodecOf(TernaryLayout::kTq2_0)));
  EXPECT_FALSE(Regrain(groups, CodecOf(TernaryLayout::kIq2Bn)));
  EXPECT_EQ(Regrain(groups, CodecOf(TernaryLayout::kQ2_0)).value(),
            (std::vector<float>{1, 1, 2, 2}));
}

}  // namespace
}  // namespace bittern::quant
