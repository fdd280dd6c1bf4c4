// SPDX-License-Identifier: Apache-2.0
// The head's output for the last tokens of a sequence in one pass, and the request that says which
// logits of them are wanted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "model/batch.hpp"
#include "model/row_failure.hpp"
#include "tokenizer/tokenizer.hpp"

namespace bittern::runtime {

/// The logits that are wanted of a row, where not all of them are.
struct RowRequest {
  /// The best logits; none: the logits of `ids`.
  std::optional<model::CandidateRequest> best = {};
  std::vector<std::uint64_t> allowed = {};   ///< with `best`: a bit for each token; empty: all
  std::vector<tokenizer::TokenId> ids = {};  ///< ascending
  /// Not 0: no logits, but the final norms, of so many floats each.
  std::size_t hidden_size = 0;

  bool operator==(const RowRequest&) const = default;
};

/// Candidates where a request was made, else all logits. Movable, not copyable.
struct RowResults {
  std::optional<RowRequest> request = {};
  std::span<const float> logits = {};                   ///< (rows, vocab_size), without a request
  std::vector<model::CandidateLogits> candidates = {};  ///< (rows) at least, with one
  std::span<const float> hidden = {};  ///< (rows, hidden_size), with a request for them
  /// (rows): values that were not finite before the head.
  std::vector<std::optional<model::RowFailure>> failures = {};
  int first_position = 0;  ///< of the first row

  RowResults() = default;
  RowResults(RowResults&&) = default;
  RowResults& operator=(RowResults&&) = default;

  /// Points `segment` at room for `rows` rows: at `given` (rows, vocab_size) where it is not empty
  /// and all logits are wanted, else at memory of its own. REQUIRES: the segment has its sequence
  /// and tokens.
  void Prepare(std::size_t rows, const std::optional<RowRequest>& wanted, std::size_t vocab_size,
               std::span<float> given, model::Segment* segment);

 private:
  std::vector<float> memory_ = {};
};

/// Error kInternal: logits that are not finite numbers. A model whose weights or activation are
/// wrong shows itself here at the latest.
[[nodiscard]] Result<void> CheckFinite(std::span<const float> logits);

/// Error kInternal where the values of a row are not finite, before the head or after it.
[[nodiscard]] Result<void> CheckRow(const RowResults& rows, std::size_t row,
                                    std::size_t vocab_size);

}  // namespace bittern::runtime
