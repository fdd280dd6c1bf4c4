// SPDX-License-Identifier: Apache-2.0
// STQ1_0, the format of Tencent's Hy-MT. One of four neighbours is 0 (Sherry calls it 3:4
// sparsity). A block has 42 bytes for 256 weights:
//
//   bytes  0..31   64 nibbles, group g in byte g / 2, the low nibble first
//   bytes 32..39   64 signs, group g in bit g % 8 of byte 32 + g / 8
//   bytes 40..41   d (binary16)
//
// A group is the four weights (g / 16) * 64 + g % 16 + 16 * lane. One of them is 0: nibble / 4 says
// which. Of the other three, in order, the first is +d; the second is -d where bit 0 of the nibble
// is set, the third where bit 1 is. A sign turns all three around. Released files store this under
// type 42, programs that read them under 43; sizes tell (weight_format.hpp).
//
// A block whose d is 0 is 256 weights of 0, which no nibble can say.
// Source: the readers of llama.cpp's pull request 22836 and HyMT2Sharp.
#include <algorithm>
#include <array>

#include "quant/codec_bytes.hpp"
#include "quant/codec_list.hpp"

namespace bittern::quant {
namespace {

constexpr std::size_t kSparseWeights = 256, kSparseBytes = 42, kSignsAt = 32, kSparseScaleAt = 40;
constexpr std::size_t kLanes = 4, kGroups = kSparseWeights / kLanes;

/// The place of lane 0 of a group; the others follow 16 apart.
constexpr std::size_t FirstOfGroup(std::size_t group) { return group / 16 * 64 + group % 16; }
constexpr std::size_t kLaneStep = 16;

using GroupCodes = std::array<std::uint8_t, kLanes>;

/// The codes of a nibble and a sign: nibble + 16 * sign is the index.
constexpr std::array<GroupCodes, 32> kGroupCodes = [] {
  std::array<GroupCodes, 32> table{};
  for (unsigned index = 0; index < table.size(); ++index) {
    const unsigned zero = index % 16 / 4;
    unsigned minus = index % 4 << 1;  // bit i: of the i-th that is not 0
    if (index >= 16) minus ^= 7;
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      if (lane == zero) {
        table[index][lane] = kZeroCode;
        continue;
      }
      table[index][lane] = (minus & 1) != 0 ? 0 : 2;
      minus >>= 1;
    }
  }
  return table;
}();

/// The index of four codes of a block, of which the first stands at `codes`; 32: there is none.
unsigned IndexOf(const std::uint8_t* codes) noexcept {
  const GroupCodes wanted = {codes[0], codes[kLaneStep], codes[2 * kLaneStep],
                             codes[3 * kLaneStep]};
  return static_cast<unsigned>(std::ranges::find(kGroupCodes, wanted) - kGroupCodes.begin());
}

bool IsZeroBlock(const std::uint8_t* codes) noexcept {
  return std::all_of(codes, codes + kSparseWeights, [](auto code) { return code == kZeroCode; });
}

void UnpackSparseBlock(const std::uint8_t* block, std::uint8_t* codes) noexcept {
  for (std::size_t g = 0; g < kGroups; ++g) {
    const unsigned nibble = block[g / 2] >> (g % 2 * 4) & 15u;
    const unsigned sign = block[kSignsAt + g / 8] >> (g % 8) & 1u;
    const GroupCodes& group = kGroupCodes[nibble + 16 * sign];
    std::uint8_t* out = codes + FirstOfGroup(g);
    for (std::size_t lane = 0; lane < kLanes; ++lane) out[lane * kLaneStep] = group[lane];
  }
}

void UnpackSparse(const TernaryView& view, std::size_t first, std::size_t count,
                  std::uint8_t* codes, float* scales) noexcept {
  const std::size_t row_blocks = view.cols / kSparseWeights;
  const std::uint8_t* in = AsBytes(view.bytes.data()) + first * row_blocks * kSparseBytes;
  for (std::size_t b = 0; b < count * row_blocks; ++b, in += kSparseBytes) {
    scales[b] = LoadHalf(in + kSparseScaleAt);
    if (scales[b] == 0) {
      std::fill_n(codes + b * kSparseWeights, kSparseWeights, kZeroCode);
    } else {
      UnpackSparseBlock(in, codes + b * kSparseWeights);
    }
  }
}

/// Codes are such as CheckSparse lets pass.
void PackSparse(const TernaryValues& values, std::byte* out) noexcept {
  std::uint8_t* to = AsBytes(out);
  for (std::size_t b = 0; b < values.scales.size(); ++b, to += kSparseBytes) {
    std::fill_n(to, kSparseBytes, std::uint8_t{0});
    const std::uint8_t* codes = values.codes.data() + b * kSparseWeights;
    if (IsZeroBlock(codes)) continue;
    for (std::size_t g = 0; g < kGroups; ++g) {
      const unsigned index = IndexOf(codes + FirstOfGroup(g));
      to[g / 2] |= static_cast<std::uint8_t>((index & 15u) << (g % 2 * 4));
      to[kSignsAt + g / 8] |= static_cast<std::uint8_t>((index >> 4 & 1u) << (g % 8));
    }
    StoreHalf(values.scales[b], to + kSparseScaleAt);
  }
}

Result<void> CheckSparse(std::span<const std::uint8_t> codes) {
  for (std::size_t at = 0; at < codes.size(); at += kSparseWeights) {
    if (IsZeroBlock(codes.data() + at)) continue;
    for (std::size_t g = 0; g < kGroups; ++g) {
      if (IndexOf(codes.data() + at + FirstOfGroup(g)) < kGroupCodes.size()) continue;
      return Fail(ErrorCode::kUnsupported,
                  "stq1_0 holds one 0 among four weights, and the tensor has other fours");
    }
  }
  return {};
}

}  // namespace

TernaryCodec Stq1_0Codec() noexcept {
  return {.layout = TernaryLayout::kStq1_0,
          .name = "stq1_0",
          .format = WeightFormat::kSTQ1_0,
          .grain = ScaleGrain::kGroup,
          .group_cols = kSparseWeights,
          .stored_scale = ScaleAsHalf,
          .check =
              [](std::size_t rows, std::size_t cols, const TlTiling&) {
                return CheckMultiples("STQ1_0", rows, 1, cols, kSparseWeights);
              },
          .check_codes = CheckSparse,
          .bytes = [](std::size_t rows, std::size_t cols,
                      const TlTiling&) { return rows * (cols / kSparseWeights) * kSparseBytes; },
          .unpack = UnpackSparse,
          .pack = PackSparse};
}

}  // namespace bittern::quant
