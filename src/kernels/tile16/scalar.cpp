// SPDX-License-Identifier: Apache-2.0
// Ternary gemv and gemm without intrinsics: the path of CPUs that have nothing better. Layout:
// quant/layouts/tile16.hpp.
#include "kernels/kernel.h"

namespace bittern::kernels {
namespace {

constexpr size_t kRows = 16, kSteps = 8, kStepBytes = 64, kBlockBytes = 512, kBlock = 128;

// Eight 16-bit lanes that the compiler maps to whatever the machine has: plain C++ of gcc and
// clang, no intrinsics. A lane of weights is two bytes, so two columns of a row (low byte first).
using Lanes = uint16_t __attribute__((vector_size(16)));
constexpr size_t kParts = kStepBytes / sizeof(Lanes);

/// Activations `first` and `second` of a group of four, alternating.
Lanes Repeat(const int8_t* act, size_t first, size_t second) {
  const auto a = static_cast<uint16_t>(act[first]), b = static_cast<uint16_t>(act[second]);
  return Lanes{a, b, a, b, a, b, a, b};
}

template <int kShift>
void AddField(const Lanes* bytes, const int8_t* act, Lanes* sums) {
  const Lanes even = Repeat(act, 0, 2), odd = Repeat(act, 1, 3);
  for (size_t i = 0; i < kParts; ++i) {
    sums[i] += (bytes[i] >> kShift & 3) * even + (bytes[i] >> (kShift + 8) & 3) * odd;
  }
}

/// Adds one group of 64 columns, whose fields are at bits kShift + 2 and kShift of a block's
/// bytes, to 16 row sums of code * act. stride: bytes between the groups of four activations
/// (4 for a plain vector, 32 inside a panel of eight tokens).
///
/// Sums are int16 modulo 2^16, two for each row. Bound: a group adds 16 times two products of at
/// most 3 * 128, so 12288 < 32768, and the result read as signed is exact.
template <int kShift>
void AddGroup(const uint8_t* block, const int8_t* act, size_t stride, int32_t* sums) {
  Lanes narrow[kParts] = {};
  for (size_t step = 0; step < kSteps; ++step, act += stride) {
    Lanes bytes[kParts];
    __builtin_memcpy(bytes, block + step * kStepBytes, kStepBytes);
    AddField<kShift + 2>(bytes, act, narrow);
    AddField<kShift>(bytes, act + kSteps * stride, narrow);
  }
  int16_t lanes[2 * kRows];
  __builtin_memcpy(lanes, narrow, sizeof(lanes));
  for (size_t row = 0; row < kRows; ++row) sums[row] += lanes[2 * row] + lanes[2 * row + 1];
}

void DotTile(const uint8_t* tile, size_t num_blocks, const int8_t* act, size_t stride,
             int32_t act_sum, int32_t* out) {
  int32_t sums[kRows] = {};
  for (size_t b = 0; b < num_blocks; ++b) {
    const int8_t* a = act + b * (kBlock / 4) * stride;
    AddGroup<4>(tile + b * kBlockBytes, a, stride, sums);
    AddGroup<0>(tile + b * kBlockBytes, a + 2 * kSteps * stride, stride, sums);
  }
  for (size_t row = 0; row < kRows; ++row) out[row] = sums[row] - act_sum;
}

void Gemv(const FewArgs* args) {
  for (size_t t = 0; t < args->num_tiles; ++t) {  // a tile stays in the cache for all tokens
    for (size_t token = 0; token < args->num_tokens; ++token) {
      DotTile(args->tiles + t * args->num_blocks * kBlockBytes, args->num_blocks,
              args->acts + token * args->act_stride, 4, args->act_sums[token],
              args->out + token * args->out_stride + t * kRows);
    }
  }
}

void Gemm(const uint8_t* tiles, size_t num_tiles, size_t num_blocks, const int8_t* panels,
          const int32_t* act_sums, size_t num_tokens, int32_t* out, size_t out_stride,
          uint8_t* /*scratch*/) {
  for (size_t token = 0; token < num_tokens; ++token) {
    const int8_t* act = panels + token / kPanelTokens * kPanelTokens * num_blocks * kBlock +
                        token % kPanelTokens * 4;
    for (size_t t = 0; t < num_tiles; ++t) {
      DotTile(tiles + t * num_blocks * kBlockBytes, num_blocks, act, 4 * kPanelTokens,
              act_sums[token], out + token * out_stride + t * kRows);
    }
  }
}

/// Tile `t` times one vector, group after group.
void GroupedTile(const GroupedArgs* g, size_t t, float* out) {
  const size_t field_pair = 2 * kSteps * g->act_stride;
  for (size_t row = 0; row < kRows; ++row) out[row] = 0;
  for (size_t b = 0; b < g->num_blocks; ++b) {
    const size_t block = t * g->num_blocks + b;
    const uint8_t* bytes = g->tiles + block * kBlockBytes;
    int32_t sums[2][kRows] = {};
    const auto add = [&](const int8_t* act) {
      AddGroup<4>(bytes, act + 2 * b * field_pair, g->act_stride, sums[0]);
      AddGroup<0>(bytes, act + (2 * b + 1) * field_pair, g->act_stride, sums[1]);
    };
    add(g->act);
    if (g->low != nullptr) {
      for (auto& of_group : sums) {
        for (int32_t& sum : of_group) sum *= kDigitBase;
      }
      add(g->low);
    }
    for (size_t half = 0; half < 2; ++half) {
      const size_t scale = block * g->scales_per_block + half * (g->scales_per_block - 1);
      for (size_t row = 0; row < kRows; ++row) {
        const auto sum = static_cast<float>(sums[half][row] - g->act_sums[2 * b + half]);
        out[row] += sum * g->weight_scales[scale * kRows + row] * g->act_scales[2 * b + half];
      }
    }
  }
}

void GemvGrouped(const GroupedArgs* g) {
  for (size_t t = 0; t < g->num_tiles; ++t) GroupedTile(g, t, g->out + t * kRows);
}

}  // namespace
}  // namespace bittern::kernels

#include "kernels/tile16/token_by_token.inc"

namespace bittern::kernels {
namespace {

constexpr Tile16Ops kOps = {Gemv, Gemm, GemvGrouped, GemmGrouped};

}  // namespace

extern const KernelInfo k_tile16_scalar;
const KernelInfo k_tile16_scalar = {.name = "tile16_scalar", .isa = Isa::scalar, .tile16 = &kOps};

}  // namespace bittern::kernels
