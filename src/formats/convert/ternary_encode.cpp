// SPDX-License-Identifier: Apache-2.0
// Codes pass through one byte each, whatever the two layouts are.
#include "formats/convert/ternary_encode.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "quant/ternary_scales.hpp"

namespace bittern::formats {
namespace {

/// Codes and scales of the whole tensor in the target's order of rows.
struct Unpacked {
  std::vector<std::uint8_t> codes;
  quant::TernaryScales scales;
};

/// Reads the whole tensor, one row at a time where rows change places. Empty `row_order`: as it is.
Result<Unpacked> ReadAll(const TernarySource& source, std::span<const std::uint32_t> row_order) {
  const std::size_t rows = source.rows(), cols = source.cols(), per_row = source.scales_per_row();
  Unpacked all;
  all.codes.resize(rows * cols);
  all.scales = {rows, cols, source.group_cols(), std::vector<float>(rows * per_row)};
  if (row_order.empty()) {
    BITTERN_TRY(source.ReadRows(0, rows, all.codes.data(), all.scales.values.data()));
    return all;
  }
  for (std::size_t r = 0; r < rows; ++r) {
    BITTERN_TRY(source.ReadRows(row_order[r], 1, all.codes.data() + r * cols,
                                all.scales.values.data() + r * per_row));
  }
  return all;
}

/// Counts what storing does to the scales. Error: a scale that the target's type cannot hold.
Result<ScaleCounts> CountScales(const TernaryTarget& target, std::span<const float> scales) {
  const auto stored_scale =
      target.stored_scale != nullptr ? target.stored_scale : target.codec->stored_scale;
  ScaleCounts counts;
  float last = 0;  // one number is one number, however many rows or groups it is repeated for
  for (const float wanted : scales) {
    if (wanted == 0 || wanted == last) continue;
    last = wanted;
    const float stored = stored_scale(wanted);
    if (!std::isfinite(stored) || stored == 0) {
      return Fail(ErrorCode::kUnsupported,
                  fmt::format("{} cannot hold a scale of {}: it would become {}",
                              target.codec->name, wanted, stored));
    }
    counts.Count(wanted, stored);
  }
  return counts;
}

/// Scales as the target has them, and how storing changes them.
struct FittedScales {
  std::vector<float> values;
  ScaleCounts counts;
};

/// Refuses what the target cannot hold. Regrain turns scales of a tensor, row or group into the
/// target's, and refuses where two different scales would have to be one.
Result<FittedScales> Fit(const Unpacked& all, const TernaryTarget& target) {
  const quant::TernaryCodec& codec = *target.codec;
  BITTERN_TRY(codec.check(all.scales.rows, all.scales.cols, target.tiling));
  if (codec.check_codes != nullptr) BITTERN_TRY(codec.check_codes(all.codes));
  FittedScales scales;
  scales.values = BITTERN_TRY(quant::Regrain(all.scales, codec));
  scales.counts = BITTERN_TRY(CountScales(target, scales.values));
  return scales;
}

/// The formats that hold such a tensor: "q2_0, ptq1_0"; empty where there is none. Lookup tables,
/// which need a tiling, are left out.
std::string FormatsThatFit(const Unpacked& all) {
  std::string names;
  for (const quant::TernaryCodec& codec : quant::TernaryCodecs()) {
    const bool of_gguf = codec.format != quant::WeightFormat::kHfPacked &&
                         codec.format != quant::WeightFormat::kMlx2 &&
                         &codec == quant::DefaultCodec(codec.format);
    if (!of_gguf || !Fit(all, {.codec = &codec, .row_order = {}})) continue;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", codec.name);
  }
  return names;
}

Error NameFormats(const Unpacked& all, Error error) {
  const std::string formats = FormatsThatFit(all);
  if (!formats.empty()) error.hint = fmt::format("these formats hold it: {}", formats);
  return error;
}

Result<EncodedTernary> Encode(const Unpacked& all, const TernaryTarget& target) {
  const std::size_t rows = all.scales.rows, cols = all.scales.cols;
  const FittedScales scales = BITTERN_TRY(Fit(all, target));
  EncodedTernary out{.bytes = {}, .scale = scales.values.front(), .scales = scales.counts};
  out.bytes.resize(target.codec->bytes(rows, cols, target.tiling));
  target.codec->pack({all.codes, scales.values, rows, cols, target.tiling}, out.bytes.data());
  return out;
}

}  // namespace

void ScaleCounts::Count(float wanted, float stored) noexcept {
  if (wanted == stored) {
    ++exact;
    return;
  }
  ++rounded;
  const double error = std::fabs(double{stored} / double{wanted} - 1);
  max_relative_error = std::max(max_relative_error, error);
}

ScaleCounts& ScaleCounts::operator+=(const ScaleCounts& other) noexcept {
  exact += other.exact;
  rounded += other.rounded;
  max_relative_error = std::max(max_relative_error, other.max_relative_error);
  return *this;
}

/// The memory that EncodeTernary needs: a byte for each code, scales of both sides, the result.
std::size_t EncodeBytes(const TernarySource& source, const TernaryTarget& target) {
  const std::size_t weights = source.rows() * source.cols();
  const std::size_t scales =
      source.rows() * (source.scales_per_row() + 2 * target.codec->ScalesPerRow(source.cols()));
  return weights + scales * sizeof(float) +
         target.codec->bytes(source.rows(), source.cols(), target.tiling);
}

/// A refusal names the formats that would do, because few users know them.
Result<EncodedTernary> EncodeTernary(const TernarySource& source, const TernaryTarget& target) {
  const Unpacked all = BITTERN_TRY(ReadAll(source, target.row_order));
  auto encoded = Encode(all, target);
  if (encoded || encoded.error().code != ErrorCode::kUnsupported) return encoded;
  return tl::unexpected(NameFormats(all, std::move(encoded).error()));
}

Error NameFormats(const TernarySource& source, Error error) {
  const auto all = ReadAll(source, {});
  return all ? NameFormats(*all, std::move(error)) : error;
}

}  // namespace bittern::formats
