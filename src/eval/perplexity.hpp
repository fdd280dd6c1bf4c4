// SPDX-License-Identifier: Apache-2.0
// Scores of many tokens as the numbers people compare.
#pragma once

#include <cstddef>
#include <span>

#include "eval/log_sum_exp.hpp"
#include "tokenizer/tokenizer.hpp"

namespace bittern::eval {

/// Sums over tokens; two can be added.
struct TextScore {
  std::size_t tokens = 0, bytes = 0;  ///< scored; bytes of the text that they stand for
  std::size_t best = 0;               ///< tokens that were the model's first choice
  double nats = 0, squared_nats = 0;

  void Add(const TokenScore& score, std::size_t token_bytes) noexcept;
  void Add(const TextScore& other) noexcept;

  [[nodiscard]] double nats_per_token() const noexcept;
  [[nodiscard]] double perplexity() const noexcept;
  /// One standard error of perplexity(), as llama-perplexity gives it.
  [[nodiscard]] double perplexity_error() const noexcept;
  [[nodiscard]] double bits_per_byte() const noexcept;
};

/// `tokens` are those that `scores` are of.
[[nodiscard]] TextScore SumOf(std::span<const TokenScore> scores,
                              std::span<const tokenizer::TokenId> tokens,
                              const tokenizer::Tokenizer& tokenizer);

}  // namespace bittern::eval
