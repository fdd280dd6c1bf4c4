// SPDX-License-Identifier: Apache-2.0
// TL1 (type 38), bitnet.cpp's lookup-table format for ARM. Two weights a nibble: 3 a + b + 4 for
// the weights a, b of an even column and the next; so 3 * code(a) + code(b), 0..8.
//
// The tensor is cut into tiles of BM rows and BK columns (tl_tiling.hpp), a tile into groups of bm
// rows and by = 256 / bm columns, a group into sixteens of rows; in them, four columns are 16
// bytes, byte l for row l, the first pair in the high nibble:
//
//   [row / BM][column / BK][group of bm rows][group of by columns][16 rows][4 columns][row % 16]
//
// After rows * cols / 4 bytes come the scale (float) and 28 bytes of nothing.
// Source: bitnet.cpp, utils/convert-hf-to-gguf-bitnet.py, preprocess_weights_tl1.
#include <fmt/format.h>

#include "quant/codec_bytes.hpp"
#include "quant/codec_list.hpp"

namespace bittern::quant {
namespace {

constexpr unsigned kMaxPair = 8;

/// The places of one row's nibbles.
class RowPlaces {
 public:
  RowPlaces(std::size_t row, std::size_t cols, const TlTiling& t)
      : group_cols_(256 / t.group_rows),
        tile_cols_(t.bk_cols),
        sixteens_(t.group_rows / 16),
        groups_of_rows_(t.bm_rows / t.group_rows),
        tile_(row / t.bm_rows * (cols / t.bk_cols)),
        group_(row % t.bm_rows / t.group_rows),
        sixteen_(row % t.group_rows / 16),
        lane_(row % 16) {}

  /// Byte that holds the pair of columns `col` (even) and col + 1.
  [[nodiscard]] std::size_t ByteOf(std::size_t col) const noexcept {
    std::size_t at = (tile_ + col / tile_cols_) * groups_of_rows_ + group_;
    at = at * (tile_cols_ / group_cols_) + col % tile_cols_ / group_cols_;
    at = at * sixteens_ + sixteen_;
    at = at * (group_cols_ / 4) + col % tile_cols_ % group_cols_ / 4;
    return at * 16 + lane_;
  }
  [[nodiscard]] static unsigned ShiftOf(std::size_t col) noexcept { return col % 4 == 0 ? 4 : 0; }

 private:
  std::size_t group_cols_, tile_cols_, sixteens_, groups_of_rows_, tile_, group_, sixteen_, lane_;
};

/// Refuses shapes that are no whole tiles, groups or sixteens.
Result<void> Check(std::size_t rows, std::size_t cols, const TlTiling& t) {
  const auto fail = [&](std::string_view why) {
    return Fail(ErrorCode::kUnsupported,
                fmt::format("TL1: {} x {} in tiles of {} x {}, groups of {} rows: {}", rows, cols,
                            t.bm_rows, t.bk_cols, t.group_rows, why));
  };
  if (t.group_rows != 16 && t.group_rows != 32 && t.group_rows != 64) {
    return fail("groups have 16, 32 or 64 rows");
  }
  if (t.bm_rows == 0 || rows % t.bm_rows != 0) return fail("the rows are no whole tiles");
  if (t.bk_cols == 0 || cols % t.bk_cols != 0) return fail("the columns are no whole tiles");
  if (t.bm_rows % t.group_rows != 0) return fail("a tile's rows are no whole groups");
  if (t.bk_cols % (256 / t.group_rows) != 0) {
    return fail("a tile's columns are no whole groups of 256 / rows of a group");
  }
  return {};
}

std::size_t Tl1Bytes(std::size_t rows, std::size_t cols, const TlTiling&) {
  return rows * cols / 4 + kScaleTailBytes;
}

void UnpackTl1(const TernaryView& view, std::size_t first, std::size_t count, std::uint8_t* codes,
               float* scales) noexcept {
  const std::uint8_t* bytes = AsBytes(view.bytes.data());
  for (std::size_t row = first; row < first + count; ++row, codes += view.cols) {
    const RowPlaces places(row, view.cols, view.tiling);
    for (std::size_t col = 0; col < view.cols; col += 2) {
      const unsigned pair = bytes[places.ByteOf(col)] >> RowPlaces::ShiftOf(col) & 15;
      codes[col] = pair > kMaxPair ? kInvalidCode : static_cast<std::uint8_t>(pair / 3);
      codes[col + 1] = pair > kMaxPair ? kInvalidCode : static_cast<std::uint8_t>(pair % 3);
    }
  }
  RepeatScale(LoadFloat(bytes + view.rows * view.cols / 4), count, scales);
}

/// Sets the bytes to 0 first: two pairs of a row share a byte.
void PackTl1(const TernaryValues& values, std::byte* out) noexcept {
  std::uint8_t* bytes = AsBytes(out);
  std::memset(bytes, 0, values.rows * values.cols / 4);
  for (std::size_t row = 0; row < values.rows; ++row) {
    const RowPlaces places(row, values.cols, values.tiling);
    const std::uint8_t* codes = values.codes.data() + row * values.cols;
    for (std::size_t col = 0; col < values.cols; col += 2) {
      std::uint8_t& byte = bytes[places.ByteOf(col)];
      const unsigned pair = 3u * codes[col] + codes[col + 1];
      byte = static_cast<std::uint8_t>(byte | pair << RowPlaces::ShiftOf(col));
    }
  }
  StoreScaleTail(values.scales[0], bytes + values.rows * values.cols / 4);
}

}  // namespace

TernaryCodec Tl1Codec() noexcept {
  return {.layout = TernaryLayout::kTl1,
          .name = "tl1",
          .format = WeightFormat::kTL1,
          .grain = ScaleGrain::kTensor,
          .group_cols = 0,
          .stored_scale = ScaleAsFloat,
          .check = Check,
          .bytes = Tl1Bytes,
          .unpack = UnpackTl1,
          .pack = PackTl1};
}

}  // namespace bittern::quant
