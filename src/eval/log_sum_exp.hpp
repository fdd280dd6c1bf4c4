// SPDX-License-Identifier: Apache-2.0
// How probable a token is, from the logits of a position.
#pragma once

#include <cstdint>
#include <span>

namespace bittern::eval {

/// The score of one token.
struct TokenScore {
  double nats = 0;    ///< -log of its probability, 0 or more
  bool best = false;  ///< no token was more probable; of equals the lowest id is the best
};

/// ln(sum of e^logit), to about 1e-10. The logits are finite and at least one. The order of the sum
/// is fixed, so that every machine gives the same bits.
[[nodiscard]] double LogSumExp(std::span<const float> logits) noexcept;

/// The mean cost of the next token if the model is right about its own doubt: the entropy of its
/// prediction in nats, 0 or more. As LogSumExp otherwise.
[[nodiscard]] double ExpectedNats(std::span<const float> logits) noexcept;

/// `token` is an index of `logits`. Thread-safe.
[[nodiscard]] TokenScore ScoreOf(std::span<const float> logits, std::int32_t token) noexcept;

}  // namespace bittern::eval
