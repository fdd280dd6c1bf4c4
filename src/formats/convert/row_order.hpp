// SPDX-License-Identifier: Apache-2.0
// The order of the rows of q and k. Hugging Face rotates the two halves of a head against each
// other; GGUF files of some architectures (ArchitectureSpec::permuted_qk) rotate neighbours, and
// have the rows of every head permuted so that both mean the same (row i beside row i + d / 2). A
// conversion between the two moves whole rows, with their codes and scales.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "formats/metadata.hpp"

namespace bittern::formats {

enum class RowOrder {
  kHalves,      ///< as Hugging Face has them
  kNeighbours,  ///< as GGUF files of llama have them
};

/// The order in a checkpoint: what bittern.rope_pairing says ("neox": halves, "norm": neighbours),
/// else as the architecture has it in GGUF files. Error kCorruptFile.
[[nodiscard]] Result<RowOrder> RowOrderOf(const Metadata& metadata);

/// The order a GGUF file of this architecture has to have.
[[nodiscard]] RowOrder GgufRowOrder(std::string_view architecture) noexcept;

/// Size of a head of q and k. Error kCorruptFile: the keys are missing or impossible.
[[nodiscard]] Result<std::size_t> HeadDimOf(const Metadata& metadata);

/// True for the weights whose rows have an order: blk.N.attn_q.weight and attn_k.weight.
[[nodiscard]] bool HasRowOrder(std::string_view tensor_name) noexcept;

/// For each row in the order `to`, the row in the order `from` that goes there. Error
/// kCorruptFile: the rows are no whole heads, or head_dim is odd.
[[nodiscard]] Result<std::vector<std::uint32_t>> RowPermutation(RowOrder from, RowOrder to,
                                                                std::size_t rows,
                                                                std::size_t head_dim);

}  // namespace bittern::formats
