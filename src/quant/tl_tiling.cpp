// SPDX-License-Identifier: Apache-2.0
// Candidates that fit the shape are scored: under the right tiling, rows differ in how many
// zeros they have; under a wrong one they are mixed.
#include "quant/tl_tiling.hpp"

#include <algorithm>
#include <vector>

#include "quant/ternary_codec.hpp"

namespace bittern::quant {
namespace {

struct Preset {
  std::size_t rows, cols;
  TlTiling tl1, tl2;
};

// bitnet.cpp, preset_kernels/*/kernel_config_*.ini. Shapes without a preset there (BitNet b1.58
// 2B-4T: the last four) have what Bittern itself writes.
constexpr Preset kPresets[] = {
    {3200, 8640, {160, 64, 32}, {160, 96, 32}},   {3200, 3200, {320, 128, 64}, {320, 96, 32}},
    {8640, 3200, {320, 64, 32}, {320, 96, 32}},   {1536, 4096, {256, 128, 32}, {256, 96, 32}},
    {1536, 1536, {128, 64, 64}, {128, 192, 32}},  {4096, 1536, {256, 128, 32}, {256, 96, 32}},
    {14336, 4096, {256, 128, 64}, {256, 96, 32}}, {4096, 14336, {256, 128, 32}, {128, 96, 32}},
    {1024, 4096, {128, 64, 64}, {256, 96, 32}},   {4096, 4096, {128, 64, 32}, {128, 96, 32}},
    {640, 2560, {160, 128, 32}, {160, 96, 32}},   {2560, 2560, {320, 128, 64}, {320, 96, 32}},
    {6912, 2560, {256, 128, 32}, {256, 96, 32}},  {2560, 6912, {320, 128, 64}, {320, 96, 32}},
};

bool IsTl1(WeightFormat format) { return format == WeightFormat::kTL1; }

bool Fits(WeightFormat format, std::size_t rows, std::size_t cols, const TlTiling& tiling) {
  return DefaultCodec(format)->check(rows, cols, tiling).has_value();
}

/// Every tiling bitnet.cpp's code generator could have been given, for a shape.
std::vector<TlTiling> Candidates(WeightFormat format, std::size_t rows, std::size_t cols) {
  std::vector<TlTiling> found;
  for (const std::size_t group : {32u, 64u}) {
    for (std::size_t bm = 32; bm <= std::min<std::size_t>(rows, 512); bm += 32) {
      for (const std::size_t bk : {32u, 48u, 64u, 72u, 96u, 128u, 192u, 256u}) {
        const TlTiling tiling{bm, bk, group};
        if (Fits(format, rows, cols, tiling)) found.push_back(tiling);
      }
    }
  }
  return found;
}

constexpr std::size_t kSampleRows = 512;

/// How far the first rows differ in their number of zeros: variance / mean^2. Real rows differ
/// strongly; a wrong tiling mixes rows and evens them out. 0 if a code is invalid.
double RowContrast(const TernaryCodec& codec, const TernaryView& view) {
  std::vector<std::uint8_t> codes(view.cols);
  const std::size_t rows = std::min(view.rows, kSampleRows);
  double sum = 0, squares = 0;
  for (std::size_t row = 0; row < rows; ++row) {
    float scale;
    codec.unpack(view, row, 1, codes.data(), &scale);
    double zeros = 0;
    for (const std::uint8_t code : codes) {
      if (code > 2) return 0;
      zeros += code == 1;
    }
    sum += zeros;
    squares += zeros * zeros;
  }
  const double mean = sum / static_cast<double>(rows);
  return mean == 0 ? 0 : squares / static_cast<double>(rows) / (mean * mean) - 1;
}

/// The score of rows of independent weights, half of them zero, by chance alone.
double ChanceContrast(std::size_t cols) { return 1.0 / static_cast<double>(cols); }

}  // namespace

std::optional<TlTiling> PresetTiling(WeightFormat format, std::size_t rows, std::size_t cols) {
  for (const Preset& preset : kPresets) {
    if (preset.rows == rows && preset.cols == cols) {
      return IsTl1(format) ? preset.tl1 : preset.tl2;
    }
  }
  return std::nullopt;
}

std::optional<TlTiling> DefaultTiling(WeightFormat format, std::size_t rows, std::size_t cols) {
  if (const auto preset = PresetTiling(format, rows, cols)) return preset;
  const auto fitting = Candidates(format, rows, cols);
  // Large tiles first: bitnet.cpp's kernels like 256 rows and 96 or 128 columns.
  const auto cost = [&](const TlTiling& t) {
    const std::size_t wanted_cols = IsTl1(format) ? 128 : 96;
    return (t.bk_cols != wanted_cols) * 1000 +
           (t.bm_rows > 256 ? t.bm_rows - 256 : 256 - t.bm_rows);
  };
  const auto best = std::min_element(fitting.begin(), fitting.end(),
                                     [&](auto& a, auto& b) { return cost(a) < cost(b); });
  if (best == fitting.end()) return std::nullopt;
  return *best;
}

std::optional<TlTiling> FindTiling(WeightFormat format, std::span<const std::byte> bytes,
                                   std::size_t rows, std::size_t cols) {
  const TernaryCodec& codec = *DefaultCodec(format);
  std::vector<TlTiling> candidates = Candidates(format, rows, cols);
  double best = 0, second = 0;
  std::optional<TlTiling> found;
  for (const TlTiling& tiling : candidates) {
    const double contrast = RowContrast(codec, {bytes, rows, cols, tiling});
    if (contrast > best) {
      second = best;
      best = contrast;
      found = tiling;
    } else if (contrast < best) {  // equal: another name for the same places
      second = std::max(second, contrast);
    }
  }
  constexpr double kStandsOut = 1.5, kAboveChance = 4;
  if (best < kStandsOut * second || best < kAboveChance * ChanceContrast(cols)) {
    return std::nullopt;
  }
  return found;
}

}  // namespace bittern::quant
