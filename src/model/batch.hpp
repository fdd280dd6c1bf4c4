// SPDX-License-Identifier: Apache-2.0
// The input and output of one forward pass. A pass has segments: consecutive tokens of one
// sequence, and the logits that are wanted of them. A token's result depends only on the tokens
// before it in its own sequence. Other segments, their order and the cuts between passes change
// nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "model/candidates.hpp"
#include "model/kv_pool.hpp"

namespace bittern::model {

/// The next tokens of one sequence.
struct Segment {
  /// Reserve(tokens.size()) has returned true; the tokens take the positions from length() on.
  /// A sequence may stand in one segment of a pass only.
  KvSequence* sequence = nullptr;
  std::span<const std::int32_t> tokens = {};  ///< at least one; ids inside the vocabulary
  /// The last `rows` tokens (0..tokens.size()) whose logits are wanted.
  std::size_t rows = 0;
  /// Without a request: all logits of those tokens, (rows, vocab_size).
  std::span<float> logits = {};
  /// With a request: the logits it asks for, (rows). Needs Model::CanScreen(*request). An entry is
  /// empty if the logits of its token are not finite.
  std::optional<CandidateRequest> request = {};
  std::span<CandidateLogits> candidates = {};
  /// With a request: a bit for each token of the vocabulary, the lowest first. It is set where the
  /// token may be a candidate. Empty: all may be.
  std::span<const std::uint64_t> allowed = {};
  /// In place of a request: only the logits of these tokens (ascending, inside the vocabulary), to
  /// candidates (rows), whose logits have room for them. They are those of all logits, bit for bit.
  std::span<const std::int32_t> ids = {};
  /// In place of all logits: the final norms of those tokens, (rows, hidden_size).
  std::span<float> hidden = {};
  int tag = 0;  ///< given to a tracer, which tells sequences apart by it
};

}  // namespace bittern::model
