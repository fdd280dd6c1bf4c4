// SPDX-License-Identifier: Apache-2.0
// Rows of a pass, as its steps hand them on: how many there are, where each one lies. Views of
// memory that ForwardState owns; a step reads the rows of its arguments and knows no others.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/memory/aligned_buffer.hpp"
#include "kernels/sizes.h"
#include "quant/layouts/tile16.hpp"

namespace bittern::model {

/// Batches up to this size meet the tiles as they are stored, and a tile stays in the cache for all
/// of them: unpacking it into memory first would take longer than reading it.
inline constexpr std::size_t kFewTokens = 8;

/// Rows of floats, `stride` apart.
struct FloatRows {
  float* data = nullptr;
  std::size_t stride = 0;

  [[nodiscard]] float* row(std::size_t i) const noexcept { return data + i * stride; }
};

/// Memory for quantised rows of up to N tokens, of any width up to the widest input.
struct QuantizedActivations {
  /// Rows that a token takes. Two hold the digits of 16-bit activations, the high ones first
  /// (kernels::FloatOps::quantize_digits). R below is N times as many rows.
  std::size_t digits = 1;
  AlignedBuffer<std::int8_t> values;   // (R padded to 8, widest input padded to 128)
  AlignedBuffer<std::int8_t> rows;     // (N, widest input padded): more than a few rows as plain
                                       // rows, too, where zeros are skipped; else empty
  AlignedBuffer<std::int8_t> ordered;  // (N, OrderedActs(hidden_size)): up_proj's input for
                                       // gemv_rows, where zeros are skipped
  AlignedBuffer<float> scales;         // (N)
  AlignedBuffer<std::int32_t> sums;    // (N)
  // For grouped matrices (kernels::GroupedArgs), only where the model has any: per row, for every
  // group of 64 columns of the widest input.
  std::size_t groups = 0;
  AlignedBuffer<std::int32_t> group_sums;  // (R, groups); of two digits in the low ones' row
  AlignedBuffer<float> group_scales;       // (R, groups): what one step is worth
};

/// Quantised rows, made once and shared by every projection that reads them. A few: plain rows,
/// padded to blocks of 128 columns. More: panels (kernels/kernel.h, Tile16Ops::gemm).
struct QuantizedRows {
  QuantizedActivations& memory;
  std::size_t count, cols;
  const std::uint32_t* tokens = nullptr;  ///< rows of the batch that these are; null: all of it

  /// The row of the batch that row i is.
  [[nodiscard]] std::size_t token(std::size_t i) const noexcept {
    return tokens == nullptr ? i : tokens[i];
  }

  /// The first row of token i, which its other digits follow.
  [[nodiscard]] std::size_t row_of(std::size_t i) const noexcept { return i * memory.digits; }
  [[nodiscard]] std::size_t digits() const noexcept { return memory.digits; }

  /// True for few rows, as decode has them: each is multiplied as it is. More lie in panels.
  [[nodiscard]] bool is_decode() const noexcept { return row_of(count) <= kFewTokens; }
  [[nodiscard]] std::size_t num_blocks() const noexcept { return quant::BlocksOfCols(cols); }
  [[nodiscard]] std::size_t padded_cols() const noexcept {
    return num_blocks() * quant::kTileBlock;
  }
  /// All plain rows, or all panels; from row `first` on, in panels a multiple of 8.
  [[nodiscard]] std::int8_t* values(std::size_t first = 0) const noexcept {
    return memory.values.data() + first * padded_cols();
  }
  /// Rows are kept plain, whether they lie in panels or not.
  [[nodiscard]] bool has_plain() const noexcept { return is_decode() || memory.rows.size() != 0; }
  /// The plain row i. Needs has_plain().
  [[nodiscard]] std::int8_t* plain(std::size_t i) const noexcept {
    return (is_decode() ? memory.values : memory.rows).data() + i * padded_cols();
  }
  /// The first four values of row i; the next four follow step() values on.
  [[nodiscard]] std::int8_t* at(std::size_t i) const noexcept {
    if (is_decode()) return plain(i);
    return values(i / kernels::kPanelTokens * kernels::kPanelTokens) +
           i % kernels::kPanelTokens * 4;
  }
  [[nodiscard]] std::size_t step() const noexcept {
    return is_decode() ? 4 : 4 * kernels::kPanelTokens;
  }
  [[nodiscard]] float* scales(std::size_t first = 0) const noexcept {
    return memory.scales.data() + first;
  }
  [[nodiscard]] std::int32_t* sums(std::size_t first = 0) const noexcept {
    return memory.sums.data() + first;
  }
  /// Sums and scales of row i, group by group; the memory's `groups` of them.
  [[nodiscard]] std::int32_t* group_sums(std::size_t i) const noexcept {
    return memory.group_sums.data() + i * memory.groups;
  }
  [[nodiscard]] float* group_scales(std::size_t i) const noexcept {
    return memory.group_scales.data() + i * memory.groups;
  }
  /// Row i as up_proj's kernel of single rows reads it (OrderUpInput).
  [[nodiscard]] std::int8_t* ordered(std::size_t i) const noexcept {
    return memory.ordered.data() + i * kernels::OrderedActs(num_blocks());
  }
};

/// The values that are not zero, of more than a few rows, where zeros are skipped.
struct LiveInputs {
  std::size_t stride = 0;
  AlignedBuffer<std::uint32_t> columns;  // (N, stride): ascending, `counts` of them
  AlignedBuffer<std::size_t> counts;     // (N)

  [[nodiscard]] std::uint32_t* row(std::size_t i) noexcept { return columns.data() + i * stride; }
  [[nodiscard]] const std::uint32_t* row(std::size_t i) const noexcept {
    return columns.data() + i * stride;
  }
};

}  // namespace bittern::model
