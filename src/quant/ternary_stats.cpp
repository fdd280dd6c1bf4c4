// SPDX-License-Identifier: Apache-2.0
// A byte holds four codes whose places do not matter for counting, so a table of 256 entries
// gives the counts of a byte; they are kept four to a word, 16 bits each.
#include "quant/ternary_stats.hpp"

#include <algorithm>
#include <array>

#include "quant/i2s.hpp"

namespace bittern::quant {
namespace {

constexpr unsigned kLaneBits = 16;
constexpr std::uint64_t kLaneMask = 0xffff;
// A byte adds at most 4 to a lane: 65535 / 4 bytes fit before lanes are emptied.
constexpr std::size_t kBytesPerFlush = 16000;

/// Entry b: how often the codes 0, 1, 2, 3 occur in byte b, in bits 0-15, 16-31, 32-47, 48-63.
constexpr std::array<std::uint64_t, 256> MakeCounts() {
  std::array<std::uint64_t, 256> counts{};
  for (unsigned byte = 0; byte < 256; ++byte) {
    for (unsigned shift = 0; shift < 8; shift += 2) {
      counts[byte] += std::uint64_t{1} << (kLaneBits * (byte >> shift & 3));
    }
  }
  return counts;
}
constexpr auto kCounts = MakeCounts();

/// Lanes of up to kBytesPerFlush bytes; two sums, so that additions do not wait for each other.
std::uint64_t SumLanes(std::span<const std::byte> bytes) noexcept {
  std::uint64_t even = 0, odd = 0;
  std::size_t i = 0;
  for (; i + 1 < bytes.size(); i += 2) {
    even += kCounts[std::to_integer<std::size_t>(bytes[i])];
    odd += kCounts[std::to_integer<std::size_t>(bytes[i + 1])];
  }
  if (i < bytes.size()) even += kCounts[std::to_integer<std::size_t>(bytes[i])];
  return even + odd;
}

void AddLanes(std::uint64_t lanes, TernaryStats* stats) noexcept {
  stats->minus += lanes & kLaneMask;
  stats->zero += lanes >> kLaneBits & kLaneMask;
  stats->plus += lanes >> 2 * kLaneBits & kLaneMask;
  stats->invalid += lanes >> 3 * kLaneBits;
}

}  // namespace

TernaryStats& TernaryStats::operator+=(const TernaryStats& other) noexcept {
  minus += other.minus;
  zero += other.zero;
  plus += other.plus;
  invalid += other.invalid;
  rows += other.rows;
  dead_rows += other.dead_rows;
  return *this;
}

TernaryStats CountI2s(std::span<const std::byte> packed, std::size_t cols) noexcept {
  TernaryStats stats;
  const std::size_t row_bytes = I2sRowBytes(cols);
  for (std::size_t begin = 0; begin < packed.size(); begin += row_bytes) {
    const std::uint64_t zeros_before = stats.zero;
    const auto row = packed.subspan(begin, std::min(row_bytes, packed.size() - begin));
    for (std::size_t i = 0; i < row.size(); i += kBytesPerFlush) {
      AddLanes(SumLanes(row.subspan(i, std::min(kBytesPerFlush, row.size() - i))), &stats);
    }
    ++stats.rows;
    if (stats.zero - zeros_before == cols) ++stats.dead_rows;
  }
  return stats;
}

TernaryStats CountCodes(std::span<const std::uint8_t> row) noexcept {
  std::uint64_t counts[4] = {};
  for (const std::uint8_t code : row) ++counts[code & 3];
  return {.minus = counts[0],
          .zero = counts[1],
          .plus = counts[2],
          .invalid = counts[3],
          .rows = 1,
          .dead_rows = counts[1] == row.size() ? 1u : 0u};
}

}  // namespace bittern::quant
