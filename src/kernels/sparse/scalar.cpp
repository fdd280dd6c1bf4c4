// SPDX-License-Identifier: Apache-2.0
// Ternary products that leave zeros out, in plain C++. Layouts: quant/layouts/skip_layouts.hpp.
#include "kernels/kernel.h"
#include "kernels/sparse/live.inc"
#include "kernels/sparse/tiles.inc"

namespace bittern::kernels {
namespace {

void GemvRows(const RowArgs* args) {
  for (size_t i = 0; i < args->count; ++i) {
    const uint8_t* row = args->rows + args->live[i] * args->num_blocks * 32;
    int32_t sum = 0;
    for (size_t c = 0; c < args->num_blocks * 128; ++c) {
      const uint8_t byte = row[c / 128 * 32 + c % 32];
      sum += (byte >> (6 - 2 * (c % 128 / 32)) & 3) * args->act[c];
    }
    args->out[i] = sum - args->act_sum;
  }
}

void GemvSharedRows(const SharedRowArgs* args) {
  for (uint32_t row = 0; row < args->num_rows; ++row) {
    for (size_t v = 0; v < kRowVectors; ++v) {
      if ((args->chosen[row] >> v & 1) == 0) continue;
      const RowArgs one = {.rows = args->rows,
                           .num_blocks = args->num_blocks,
                           .live = &row,
                           .count = 1,
                           .act = args->acts + v * args->act_stride,
                           .act_sum = args->act_sums[v],
                           .from = args->from,
                           .out = args->out + v * args->out_stride + row};
      GemvRows(&one);
    }
  }
}

void OrderActs(const int8_t* act, size_t num_blocks, int8_t* ordered) {
  for (size_t c = 0; c < num_blocks * 128; ++c) ordered[c] = act[c];
}

void GemvColumns(const ColumnArgs* args) {
  const size_t num_rows = args->num_panels * 256;
  for (size_t r = 0; r < args->num_tokens * num_rows; ++r) args->sums[r] = 0;
  for (size_t i = 0; i < args->count; ++i) {
    const uint8_t* column = args->columns + args->live[i] * args->num_panels * 64;
    for (size_t token = 0; token < args->num_tokens; ++token) {
      const int32_t a = args->acts[token * args->act_stride + args->live[i]];
      int32_t* sums = args->sums + token * num_rows;
      for (size_t r = 0; r < num_rows; ++r) {
        const uint8_t byte = column[r / 256 * 64 + r % 64];
        sums[r] += (byte >> (2 * (r % 256 / 64)) & 3) * a;
      }
    }
  }
}

constexpr SparseOps kOps = {GemvRows,
                            OrderActs,
                            GemvSharedRows,
                            GemvColumns,
                            FindNonzero,
                            FindPositive,
                            TileOfRows,
                            TilesOfColumns,
                            12.0f,
                            9.0f,
                            0};

}  // namespace

extern const KernelInfo k_sparse_scalar;
const KernelInfo k_sparse_scalar = {.name = "sparse_scalar", .isa = Isa::scalar, .sparse = &kOps};

}  // namespace bittern::kernels
