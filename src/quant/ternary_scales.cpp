// SPDX-License-Identifier: Apache-2.0
// A coarser grain is taken only if all scales in it are one number. 0 agrees with any, since its
// weights are all 0.
#include "quant/ternary_scales.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include "quant/codec_bytes.hpp"

namespace bittern::quant {
namespace {

/// Columns that share a stored scale.
std::size_t GroupCols(const TernaryCodec& codec, std::size_t cols) {
  return codec.grain == ScaleGrain::kGroup ? codec.group_cols : cols;
}

/// Why a code is invalid depends on what the format can hold.
std::string DescribeInvalid(const TernaryCodec& codec) {
  switch (codec.layout) {
    case TernaryLayout::kF32:
    case TernaryLayout::kF16:
    case TernaryLayout::kBf16:
      return fmt::format(
          "an {} weight that is neither 0 nor plus or minus the row's largest: "
          "these weights are not ternary",
          InfoOf(codec.format).name);
    case TernaryLayout::kQ2_0:
    case TernaryLayout::kPq2_0:
    case TernaryLayout::kMlx2:
      return "code 3 (twice the scale): these weights are not ternary";
    default:
      return "code 3; codes are 0, 1 and 2";
  }
}

/// Whether every code is weight 0, and whether some code is 3.
struct CodesSeen {
  bool all_zero, some_invalid;
};

/// Eight codes at a time.
CodesSeen LookAtCodes(std::span<const std::uint8_t> codes) noexcept {
  constexpr std::uint64_t kOnes = 0x0101010101010101;
  std::uint64_t any = 0, both = 0;
  std::size_t i = 0;
  for (; i + 8 <= codes.size(); i += 8) {
    std::uint64_t eight;
    std::memcpy(&eight, codes.data() + i, 8);
    any |= eight ^ (kOnes * kZeroCode);
    both |= eight & (eight >> 1);
  }
  for (; i < codes.size(); ++i) {
    any |= static_cast<std::uint64_t>(codes[i] ^ kZeroCode);
    both |= static_cast<std::uint64_t>(codes[i] & (codes[i] >> 1));
  }
  return {any == 0, (both & kOnes) != 0};
}

/// Checks one group; *scale becomes 0 where every weight of it is 0.
Result<void> CheckGroup(const TernaryCodec& codec, std::span<const std::uint8_t> codes,
                        std::size_t row, std::size_t first_col, float* scale) {
  const auto [all_zero, some_invalid] = LookAtCodes(codes);
  if (some_invalid) {
    const auto at = std::find(codes.begin(), codes.end(), kInvalidCode) - codes.begin();
    return Fail(ErrorCode::kCorruptFile,
                fmt::format("row {}, column {}: {}", row, first_col + static_cast<std::size_t>(at),
                            DescribeInvalid(codec)));
  }
  if (all_zero) {
    *scale = 0;
    return {};
  }
  if (std::isfinite(*scale) && *scale > 0) return {};
  return Fail(ErrorCode::kCorruptFile,
              fmt::format("row {}, column {}: expected a finite positive scale, found {}", row,
                          first_col, *scale));
}

}  // namespace

Result<void> UnpackRowsChecked(const TernaryCodec& codec, const TernaryView& view,
                               std::size_t first, std::size_t count, std::uint8_t* codes,
                               float* scales) {
  codec.unpack(view, first, count, codes, scales);
  const std::size_t group = GroupCols(codec, view.cols);
  for (std::size_t r = 0; r < count; ++r) {
    for (std::size_t col = 0; col < view.cols; col += group) {
      const std::span<const std::uint8_t> part(codes + r * view.cols + col,
                                               std::min(group, view.cols - col));
      BITTERN_TRY(CheckGroup(codec, part, first + r, col, scales++));
    }
  }
  return {};
}

Result<TernaryScales> UnpackTernary(const TernaryCodec& codec, const TernaryView& view,
                                    std::span<std::uint8_t> codes) {
  TernaryScales scales{view.rows, view.cols, GroupCols(codec, view.cols), {}};
  scales.values.resize(view.rows * codec.ScalesPerRow(view.cols));
  BITTERN_TRY(UnpackRowsChecked(codec, view, 0, view.rows, codes.data(), scales.values.data()));
  return scales;
}

namespace {

/// The one value of a range in which 0 agrees with anything; NaN if there are two.
float CommonScale(std::span<const float> values) {
  float common = 0;
  for (const float value : values) {
    if (value == 0 || value == common) continue;
    if (common != 0) return std::nanf("");
    common = value;
  }
  return common;
}

}  // namespace

TernaryScales Coarsen(TernaryScales scales) {
  const std::size_t per_row = scales.per_row();
  if (const float common = CommonScale(scales.values); !std::isnan(common)) {
    return {scales.rows, scales.cols, scales.cols, {common}};
  }
  std::vector<float> by_row(scales.rows);
  for (std::size_t r = 0; r < scales.rows; ++r) {
    by_row[r] = CommonScale(std::span(scales.values).subspan(r * per_row, per_row));
    if (std::isnan(by_row[r])) return scales;
  }
  return {scales.rows, scales.cols, scales.cols, std::move(by_row)};
}

Result<std::vector<float>> Regrain(const TernaryScales& given, const TernaryCodec& codec) {
  const TernaryScales scales = Coarsen(given);
  const std::size_t to_per_row = codec.ScalesPerRow(scales.cols);
  std::vector<float> out(scales.rows * to_per_row);
  if (scales.values.size() == 1) {
    std::fill(out.begin(), out.end(), scales.values[0]);
    return out;
  }
  const auto refuse = [&](std::string_view has) {
    return Fail(ErrorCode::kUnsupported,
                fmt::format("{} cannot hold it: the tensor has {}", codec.name, has));
  };
  if (codec.grain == ScaleGrain::kTensor) return refuse("scales of rows or groups, not one");
  const std::size_t from_group = scales.group_cols;
  const std::size_t to_group = GroupCols(codec, scales.cols);
  if (from_group < to_group || from_group % to_group != 0) {
    return refuse(fmt::format("a scale for every {} columns", from_group));
  }
  for (std::size_t r = 0; r < scales.rows; ++r) {
    for (std::size_t g = 0; g < to_per_row; ++g) {
      out[r * to_per_row + g] = scales.values[r * scales.per_row() + g * to_group / from_group];
    }
  }
  return out;
}

}  // namespace bittern::quant
