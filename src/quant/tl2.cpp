// SPDX-License-Identifier: Apache-2.0
// The places of a row are computed once and then walked; eight triples are unpacked together.
#include "quant/tl2.hpp"

#include <fmt/format.h>

#include <array>

#include "quant/codec_bytes.hpp"
#include "quant/codec_list.hpp"

namespace bittern::quant {
namespace {

constexpr std::size_t kRows = 32;      // rows of a block
constexpr std::size_t kPairCols = 32;  // columns of a tile of pairs
constexpr int kMaxTriple = 13;
constexpr unsigned kTl2MaxPair = 8;

/// The place of row r % 32 among the 32 bytes: the two middle octets change places.
std::size_t Tl2ByteOfRow(std::size_t row) {
  const std::size_t r = row % kRows;
  return r >= 8 && r < 16 ? r + 8 : r >= 16 && r < 24 ? r - 8 : r;
}

}  // namespace

std::uint64_t Tl2DataBytes(std::uint64_t rows, std::uint64_t cols) noexcept {
  const std::uint64_t used = (cols - 256) * rows / 3 * 5 / 8 + 256 * rows / 2 * 4 / 8;
  return (used + 31) / 32 * 32;
}

Tl2Places::Tl2Places(std::size_t rows, std::size_t cols, const TlTiling& tiling) noexcept
    : rows_(rows),
      three_cols_(cols / tiling.bk_cols * tiling.bk_cols),
      two_cols_(cols - three_cols_),
      tiling_(tiling) {}

std::size_t Tl2Places::used_bytes() const noexcept {
  return rows_ * three_cols_ / 6 + rows_ * three_cols_ / 24 + rows_ * two_cols_ / 4;
}

std::size_t Tl2Places::BlockOf(std::size_t row, std::size_t tile,
                               std::size_t tiles) const noexcept {
  return (row / tiling_.bm_rows * tiles + tile) * (tiling_.bm_rows / kRows) +
         row % tiling_.bm_rows / kRows;
}

Tl2Places::Nibble Tl2Places::IndexOf(std::size_t row, std::size_t t) const noexcept {
  const std::size_t of_tile = tiling_.bk_cols / 3, tt = t % of_tile;
  const std::size_t block = BlockOf(row, t / of_tile, three_cols_ / tiling_.bk_cols);
  return {(block * (tiling_.bk_cols / 6) + tt / 2) * kRows + Tl2ByteOfRow(row),
          tt % 2 == 0 ? 4u : 0u};
}

std::size_t Tl2Places::SignWordOf(std::size_t row, std::size_t t) const noexcept {
  const std::size_t of_tile = tiling_.bk_cols / 3, tt = t % of_tile;
  const std::size_t block = BlockOf(row, t / of_tile, three_cols_ / tiling_.bk_cols);
  return rows_ * three_cols_ / 6 + (block * (tiling_.bk_cols / 24) + tt / 8) * kRows +
         2 * (row % 16);
}

Tl2Places::Bit Tl2Places::SignOf(std::size_t row, std::size_t t) const noexcept {
  const unsigned bit = 15 - static_cast<unsigned>(2 * (t % 8) + row % kRows / 16);
  return {SignWordOf(row, t) + bit / 8, bit % 8};  // words are little-endian
}

Tl2Places::Nibble Tl2Places::PairOf(std::size_t row, std::size_t t) const noexcept {
  const std::size_t of_tile = kPairCols / 2;
  const std::size_t block = BlockOf(row, t / of_tile, two_cols_ / kPairCols);
  const std::size_t region = rows_ * three_cols_ / 6 + rows_ * three_cols_ / 24;
  return {region + (block * (of_tile / 2) + t % of_tile / 2) * kRows + Tl2ByteOfRow(row),
          t % 2 == 0 ? 4u : 0u};
}

namespace {

/// Refuses shapes that the converter would not write. Its size assumes 256 columns of pairs at
/// most; more would not fit.
Result<void> CheckTl2(std::size_t rows, std::size_t cols, const TlTiling& t) {
  const auto fail = [&](std::string_view why) {
    return Fail(ErrorCode::kUnsupported, fmt::format("TL2: {} x {} in tiles of {} x {}: {}", rows,
                                                     cols, t.bm_rows, t.bk_cols, why));
  };
  if (t.group_rows != kRows) return fail("groups have 32 rows");
  if (t.bm_rows == 0 || t.bm_rows % kRows != 0) return fail("a tile's rows are a multiple of 32");
  if (rows % t.bm_rows != 0) return fail("the rows are no whole tiles");
  if (t.bk_cols == 0 || t.bk_cols % 24 != 0) return fail("a tile's columns are a multiple of 24");
  if (cols < 256) return fail("256 columns are the least");
  const Tl2Places places(rows, cols, t);
  if ((cols - places.three_cols()) % kPairCols != 0) {
    return fail("the columns past the last whole tile are no multiple of 32");
  }
  if (places.used_bytes() > Tl2DataBytes(rows, cols)) {
    return fail("more than 256 columns are left past the last whole tile");
  }
  return {};
}

std::size_t Tl2Bytes(std::size_t rows, std::size_t cols, const TlTiling&) {
  return Tl2DataBytes(rows, cols) + kScaleTailBytes;
}

/// The codes of a triple by its index, and by index + 16 where its sign is set.
struct TripleCodes {
  std::uint8_t codes[3];
};
/// A triple is 9 a + 3 b + c - 13 of its codes: the index is its size, 0..13, the sign apart.
constexpr std::array<TripleCodes, 32> MakeTriples() {
  std::array<TripleCodes, 32> table = {};
  for (int i = 0; i < 32; ++i) {
    const int index = i % 16, value = kMaxTriple + (i < 16 ? index : -index);
    TripleCodes& t = table[static_cast<std::size_t>(i)];
    if (index > kMaxTriple) {
      for (auto& code : t.codes) code = kInvalidCode;
      continue;
    }
    t.codes[0] = static_cast<std::uint8_t>(value / 9);
    t.codes[1] = static_cast<std::uint8_t>(value / 3 % 3);
    t.codes[2] = static_cast<std::uint8_t>(value % 3);
  }
  return table;
}
constexpr std::array<TripleCodes, 32> kTriples = MakeTriples();

/// Eight triples: a row's four bytes, 32 apart, and its word of signs.
void UnpackEight(const std::uint8_t* bytes, unsigned signs, std::uint8_t* codes) {
  for (std::size_t i = 0; i < 4; ++i, codes += 6) {
    const unsigned byte = bytes[i * kRows];
    // Bit 15 belongs to rows 0..15 of the first triple; the caller has put this row's there.
    const unsigned first = byte >> 4 | (signs >> 15 & 1) << 4;
    const unsigned second = (byte & 15) | (signs >> 13 & 1) << 4;
    std::memcpy(codes, kTriples[first].codes, 3);
    std::memcpy(codes + 3, kTriples[second].codes, 3);
    signs <<= 4;
  }
}

/// One row's codes: triples up to three_cols, then pairs.
void UnpackRow(const Tl2Places& places, const std::uint8_t* bytes, std::size_t row,
               std::size_t cols, std::uint8_t* codes) {
  const unsigned sign_shift = row % kRows / 16;
  for (std::size_t t = 0; t < places.three_cols() / 3; t += 8, codes += 24) {
    const std::uint8_t* word = bytes + places.SignWordOf(row, t);
    const unsigned signs = word[0] | static_cast<unsigned>(word[1]) << 8;
    UnpackEight(bytes + places.IndexOf(row, t).byte, signs << sign_shift, codes);
  }
  for (std::size_t t = 0; t < (cols - places.three_cols()) / 2; ++t) {
    const auto [at, shift] = places.PairOf(row, t);
    const unsigned pair = bytes[at] >> shift & 15;
    codes[2 * t] = pair > kTl2MaxPair ? kInvalidCode : static_cast<std::uint8_t>(pair / 3);
    codes[2 * t + 1] = pair > kTl2MaxPair ? kInvalidCode : static_cast<std::uint8_t>(pair % 3);
  }
}

void UnpackTl2(const TernaryView& view, std::size_t first, std::size_t count, std::uint8_t* codes,
               float* scales) noexcept {
  const Tl2Places places(view.rows, view.cols, view.tiling);
  const std::uint8_t* bytes = AsBytes(view.bytes.data());
  for (std::size_t row = first; row < first + count; ++row, codes += view.cols) {
    UnpackRow(places, bytes, row, view.cols, codes);
  }
  RepeatScale(LoadFloat(bytes + Tl2DataBytes(view.rows, view.cols)), count, scales);
}

void SetBits(std::uint8_t* bytes, std::size_t at, unsigned value, unsigned shift) {
  bytes[at] = static_cast<std::uint8_t>(bytes[at] | value << shift);
}

/// The inverse of UnpackRow, into bytes that are 0 before: it only sets bits.
void PackRow(const Tl2Places& places, const std::uint8_t* codes, std::size_t row, std::size_t cols,
             std::uint8_t* bytes) {
  for (std::size_t t = 0; t < places.three_cols() / 3; ++t, codes += 3) {
    const int value = 9 * codes[0] + 3 * codes[1] + codes[2] - kMaxTriple;
    const auto [index_at, index_shift] = places.IndexOf(row, t);
    const auto [sign_at, sign_shift] = places.SignOf(row, t);
    SetBits(bytes, index_at, static_cast<unsigned>(value < 0 ? -value : value), index_shift);
    SetBits(bytes, sign_at, value < 0 ? 1 : 0, sign_shift);
  }
  for (std::size_t t = 0; t < (cols - places.three_cols()) / 2; ++t, codes += 2) {
    const auto [at, shift] = places.PairOf(row, t);
    SetBits(bytes, at, 3u * codes[0] + codes[1], shift);
  }
}

void PackTl2(const TernaryValues& values, std::byte* out) noexcept {
  const Tl2Places places(values.rows, values.cols, values.tiling);
  std::uint8_t* bytes = AsBytes(out);
  const std::size_t data_bytes = Tl2DataBytes(values.rows, values.cols);
  std::memset(bytes, 0, data_bytes);
  for (std::size_t row = 0; row < values.rows; ++row) {
    PackRow(places, values.codes.data() + row * values.cols, row, values.cols, bytes);
  }
  StoreScaleTail(values.scales[0], bytes + data_bytes);
}

}  // namespace

TernaryCodec Tl2Codec() noexcept {
  return {.layout = TernaryLayout::kTl2,
          .name = "tl2",
          .format = WeightFormat::kTL2,
          .grain = ScaleGrain::kTensor,
          .group_cols = 0,
          .stored_scale = ScaleAsFloat,
          .check = CheckTl2,
          .bytes = Tl2Bytes,
          .unpack = UnpackTl2,
          .pack = PackTl2};
}

}  // namespace bittern::quant
