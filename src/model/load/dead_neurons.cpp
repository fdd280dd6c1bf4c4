// SPDX-License-Identifier: Apache-2.0
#include "model/load/dead_neurons.hpp"

#include <algorithm>
#include <array>

#include "quant/i2s.hpp"

namespace bittern::model {
namespace {

constexpr std::size_t kSumLanes = 16;  // of sums of floats

/// One row of the layout that the official file has: four codes 1 in every byte.
bool IsZeroI2sRow(const formats::TernarySource& source, std::size_t row) {
  constexpr std::byte kFourZeros{0x55};
  const std::size_t bytes = quant::I2sRowBytes(source.cols());
  return std::ranges::all_of(source.view().bytes.subspan(row * bytes, bytes),
                             [](std::byte b) { return b == kFourZeros; });
}

}  // namespace

std::vector<std::uint8_t> ZeroRows(const formats::TernarySource& source, ThreadPool& pool) {
  constexpr std::uint8_t kZero = 1;
  const bool plain = source.codec().layout == quant::TernaryLayout::kI2sX86 && !source.is_master();
  std::vector<std::uint8_t> zero(source.rows());
  pool.Run([&](Team& team) {
    std::vector<std::uint8_t> codes(plain ? 0 : source.cols());
    std::vector<float> scales(source.scales_per_row());
    const Range rows = team.Share(source.rows());
    for (std::size_t r = rows.begin; r < rows.end; ++r) {
      if (plain) {
        zero[r] = IsZeroI2sRow(source, r);
      } else {
        zero[r] = source.ReadRows(r, 1, codes.data(), scales.data()).has_value() &&
                  std::ranges::all_of(codes, [](std::uint8_t code) { return code == kZero; });
      }
    }
  });
  return zero;
}

std::vector<std::uint32_t> KeptNeurons(std::span<const std::uint8_t> dead) {
  std::array<std::vector<std::uint32_t>, kSumLanes> live, spare;
  for (std::size_t i = 0; i < dead.size(); ++i) {
    (dead[i] != 0 ? spare : live)[i % kSumLanes].push_back(static_cast<std::uint32_t>(i));
  }
  std::size_t longest = 1;  // a matrix has rows
  for (const auto& lane : live) longest = std::max(longest, lane.size());
  if (longest * kSumLanes >= dead.size()) return {};
  std::vector<std::uint32_t> kept(longest * kSumLanes);
  for (std::size_t lane = 0; lane < kSumLanes; ++lane) {
    std::vector<std::uint32_t>& neurons = live[lane];
    const std::size_t lacking = longest - neurons.size();
    if (lacking > spare[lane].size()) return {};
    neurons.insert(neurons.end(), spare[lane].begin(),
                   spare[lane].begin() + static_cast<std::ptrdiff_t>(lacking));
    for (std::size_t i = 0; i < longest; ++i) kept[i * kSumLanes + lane] = neurons[i];
  }
  return kept;
}

}  // namespace bittern::model
