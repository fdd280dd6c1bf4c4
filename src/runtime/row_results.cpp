// SPDX-License-Identifier: Apache-2.0
#include "runtime/row_results.hpp"

#include <fmt/format.h>

#include <bit>

namespace bittern::runtime {

/// Rows of a request for single ids have room for their logits.
void RowResults::Prepare(std::size_t rows, const std::optional<RowRequest>& wanted,
                         std::size_t vocab_size, std::span<float> given, model::Segment* segment) {
  request = wanted;
  failures.assign(rows, std::nullopt);
  first_position = segment->sequence->length() + static_cast<int>(segment->tokens.size() - rows);
  segment->rows = rows;
  if (request && request->hidden_size != 0) {
    const std::size_t size = rows * request->hidden_size;
    if (memory_.size() < size) memory_.resize(size);
    segment->hidden = std::span(memory_).first(size);
    hidden = segment->hidden;
    return;
  }
  if (request) {
    segment->request = request->best;
    segment->allowed = request->allowed;
    segment->ids = request->ids;
    if (candidates.size() < rows) candidates.resize(rows);
    segment->candidates = std::span(candidates).first(rows);
    if (request->ids.empty()) return;
    for (model::CandidateLogits& row : segment->candidates) {
      row.ids = request->ids;
      row.logits.resize(request->ids.size());
    }
    return;
  }
  const std::size_t size = rows * vocab_size;
  if (given.empty()) {
    if (memory_.size() < size) memory_.resize(size);
    given = memory_;
  }
  segment->logits = given.first(size);
  logits = segment->logits;
}

Result<void> CheckFinite(std::span<const float> logits) {
  std::size_t bad = 0;
  for (const float logit : logits) {
    // Infinity and NaN have all exponent bits set; integers, so that the loop vectorises.
    constexpr std::uint32_t kExponent = 0x7f800000u;
    bad += (std::bit_cast<std::uint32_t>(logit) & kExponent) == kExponent ? 1 : 0;
  }
  if (bad == 0) return {};
  return Fail(ErrorCode::kInternal,
              fmt::format("{} of {} logits are not finite numbers: the weights are damaged or the "
                          "file is read with a wrong setting (see `bittern inspect`)",
                          bad, logits.size()));
}

Result<void> CheckRow(const RowResults& rows, std::size_t row, std::size_t vocab_size) {
  if (const auto& failure = rows.failures[row]) {
    return tl::unexpected(
        model::NotFiniteError(*failure, rows.first_position + static_cast<int>(row)));
  }
  if (rows.request) return {};
  return CheckFinite(rows.logits.subspan(row * vocab_size, vocab_size));
}

}  // namespace bittern::runtime
