// SPDX-License-Identifier: Apache-2.0
// From ternary tensors as they lie in the file to matrices in the layout that the kernels read.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/threads/thread_pool.hpp"
#include "formats/ternary_source.hpp"
#include "model/weights.hpp"

namespace bittern::model {

/// One tensor of a stack, and how its rows go into it.
struct StackPart {
  const formats::Tensor* tensor;
  formats::TernarySource source;
  /// Not 0: the rows of every head of this size are in the order that rotates neighbours, and
  /// are put into the order that rotates halves (ArchitectureSpec::permuted_qk).
  std::size_t unpermute_head_dim = 0;
  /// Not empty: the rows, and (kColumns only) the columns, to keep, in this order.
  std::span<const std::uint32_t> rows = {}, columns = {};
  /// The ranks that have the other rows, and check them. Null: the rows left out are checked here.
  Ranks* ranks = nullptr;

  [[nodiscard]] std::size_t num_rows() const noexcept {
    return rows.empty() ? source.rows() : rows.size();
  }
  [[nodiscard]] std::size_t num_columns() const noexcept {
    return columns.empty() ? source.cols() : columns.size();
  }
};

/// Stacks tensors of equal row length in a layout, in memory of the arena. Rows are repacked by all
/// threads of the pool. Scales go to the parts where a tensor or its rows have one each; where some
/// row has more, or where `want_groups` is set, the whole stack is grouped
/// (TernaryMatrix::grouped). Errors: kUnsupported (scales of groups that are no multiple of 64
/// columns, or in kRows or kColumns; more than one part in kColumns), kInvalidArgument (scales of
/// groups in a layout of tables), kCorruptFile (an invalid code or scale), naming tensor, row and
/// column; kOutOfMemory.
[[nodiscard]] Result<TernaryMatrix> StackTernary(std::span<const StackPart> parts,
                                                 MatrixLayout layout, bool want_groups,
                                                 ThreadPool& pool, HugeArena& arena);

/// Each part of a stack as a matrix of its own, in the stack's memory, which must live as long.
[[nodiscard]] std::vector<TernaryMatrix> PartsOf(const TernaryMatrix& stack);

}  // namespace bittern::model
