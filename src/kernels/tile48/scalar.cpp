// SPDX-License-Identifier: Apache-2.0
// Ternary gemv from three weights in five bits, in plain C++: what every other kernel must equal.
// Layout: quant/layouts/tile48.hpp.
#include "kernels/kernel.h"
#include "kernels/tile48/triples.inc"

namespace bittern::kernels {
namespace {

/// Bits [low, low + count) of byte `place` of a line.
unsigned Bits(const uint8_t* unit, size_t line, size_t place, unsigned low, unsigned count) {
  return static_cast<unsigned>(unit[line * 64 + place]) >> low & ((1u << count) - 1);
}

unsigned IndexAt(const uint8_t* unit, size_t group, size_t place) {
  if (group < 5) return Bits(unit, group, place, 0, 5);
  if (group == 7) {
    return Bits(unit, 1, place, 7, 1) << 4 | Bits(unit, 3, place, 7, 1) << 3 |
           Bits(unit, 4, place, 5, 3);
  }
  const size_t line = group == 5 ? 0 : 2;
  return Bits(unit, line + 1, place, 5, 2) << 3 | Bits(unit, line, place, 5, 3);
}

/// Codes of rows r, 16 + r and 32 + r in the column of `place` (4 r + i) in group `group` of a
/// unit.
uint8_t TripleAt(const uint8_t* unit, size_t group, size_t place) {
  const unsigned index = IndexAt(unit, group, place);
  const uint8_t triple = kTriples[index & 15];
  return (index & kNegated) != 0 ? static_cast<uint8_t>(kNegateFrom - triple) : triple;
}

/// stride: bytes between groups of four activations.
void AddUnit(const uint8_t* unit, const int8_t* act, size_t stride, int32_t* out) {
  for (size_t group = 0; group < 8; ++group) {
    for (size_t place = 0; place < 64; ++place) {
      const unsigned triple = TripleAt(unit, group, place);
      const int32_t a = act[stride * group + place % 4];
      out[place / 4] += static_cast<int32_t>(triple & 3) * a;
      out[16 + place / 4] += static_cast<int32_t>(triple >> 2 & 3) * a;
      out[32 + place / 4] += static_cast<int32_t>(triple >> 4) * a;
    }
  }
}

void Gemv(const FewArgs* args) {
  const size_t tile_units = args->num_blocks * kUnits;
  for (size_t token = 0; token < args->num_tokens; ++token) {
    const int8_t* act = args->acts + token * args->act_stride;
    for (size_t t = 0; t < args->num_tiles; ++t) {
      int32_t* out = args->out + token * args->out_stride + t * kTripleRows;
      for (size_t row = 0; row < kTripleRows; ++row) out[row] = -args->act_sums[token];
      for (size_t u = 0; u < tile_units; ++u) {
        AddUnit(args->tiles + (t * tile_units + u) * kUnitBytes, act + u * kUnitCols, 4, out);
      }
    }
  }
}

void ToTile16(const uint8_t* tile, size_t num_blocks, uint8_t* tiles16) {
  const size_t tile16_bytes = num_blocks * kBlock16Bytes;
  for (size_t i = 0; i < num_blocks * kBlock16Bytes; ++i) {
    const uint8_t* block = tile + i / kBlock16Bytes * kUnits * kUnitBytes;
    const size_t group = i % kBlock16Bytes / 64, place = i % 64;
    unsigned bytes[3] = {};
    for (size_t u = 0; u < kUnits; ++u) {
      const unsigned triple = TripleAt(block + u * kUnitBytes, group, place);
      for (size_t row = 0; row < 3; ++row) bytes[row] = bytes[row] << 2 | (triple >> 2 * row & 3);
    }
    for (size_t row = 0; row < 3; ++row) {
      tiles16[row * tile16_bytes + i] = static_cast<uint8_t>(bytes[row]);
    }
  }
}

/// Tile `t` times one vector, group after group.
void GroupedTile(const GroupedGemmArgs* g, const GroupedToken& token, size_t t) {
  const uint8_t* units = g->tiles + t * g->num_blocks * kUnits * kUnitBytes;
  float* out = token.out + t * kTripleRows;
  for (size_t row = 0; row < kTripleRows; ++row) out[row] = 0;
  for (size_t group = 0; group < 2 * g->num_blocks; ++group) {
    int32_t sums[kTripleRows] = {};
    const auto add = [&](const int8_t* act) {
      for (size_t u = group * kGroupUnits; u < (group + 1) * kGroupUnits; ++u) {
        AddUnit(units + u * kUnitBytes, act + u * kGroups * g->act_stride, g->act_stride, sums);
      }
    };
    add(token.act);
    if (token.low != nullptr) {
      for (int32_t& sum : sums) sum *= kDigitBase;
      add(token.low);
    }
    for (size_t row = 0; row < kTripleRows; ++row) {
      const size_t block = (3 * t + row / kThirdRows) * g->num_blocks + group / 2;
      const size_t scale = block * g->scales_per_block + group % 2 * (g->scales_per_block - 1);
      out[row] += static_cast<float>(sums[row] - token.act_sums[group]) *
                  g->weight_scales[scale * kThirdRows + row % kThirdRows] * token.act_scales[group];
    }
  }
}

void GemmGrouped(const GroupedGemmArgs* g) {
  for (size_t t = 0; t < g->num_tiles; ++t) {
    for (size_t i = 0; i < g->num_tokens; ++i) GroupedTile(g, g->tokens[i], t);
  }
}

constexpr Tile48Ops kOps = {Gemv, ToTile16, GemmGrouped, 2};

}  // namespace

extern const KernelInfo k_tile48_scalar;
const KernelInfo k_tile48_scalar = {.name = "tile48_scalar", .isa = Isa::scalar, .tile48 = &kOps};

}  // namespace bittern::kernels
