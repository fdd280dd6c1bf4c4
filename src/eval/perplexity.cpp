// SPDX-License-Identifier: Apache-2.0
// Any number of threads.
#include "eval/perplexity.hpp"

#include <cmath>

#include "base/portable_math.hpp"

namespace bittern::eval {

void TextScore::Add(const TokenScore& score, std::size_t token_bytes) noexcept {
  ++tokens;
  bytes += token_bytes;
  best += score.best ? 1 : 0;
  nats += score.nats;
  squared_nats += score.nats * score.nats;
}

void TextScore::Add(const TextScore& other) noexcept {
  tokens += other.tokens;
  bytes += other.bytes;
  best += other.best;
  nats += other.nats;
  squared_nats += other.squared_nats;
}

double TextScore::nats_per_token() const noexcept {
  return tokens == 0 ? 0 : nats / static_cast<double>(tokens);
}

double TextScore::perplexity() const noexcept { return Exp(nats_per_token()); }

/// One standard error of the perplexity, as llama-perplexity prints it: that of the mean, times the
/// derivative of exp.
double TextScore::perplexity_error() const noexcept {
  if (tokens < 2) return 0;
  const double mean = nats_per_token();
  const double variance = squared_nats / static_cast<double>(tokens) - mean * mean;
  return variance <= 0 ? 0 : perplexity() * std::sqrt(variance / static_cast<double>(tokens - 1));
}

double TextScore::bits_per_byte() const noexcept {
  constexpr double kLn2 = 0x1.62e42fefa39efp-1;
  return bytes == 0 ? 0 : nats / kLn2 / static_cast<double>(bytes);
}

TextScore SumOf(std::span<const TokenScore> scores, std::span<const tokenizer::TokenId> tokens,
                const tokenizer::Tokenizer& tokenizer) {
  TextScore sum;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    sum.Add(scores[i], tokenizer.TokenBytes(tokens[i]).size());
  }
  return sum;
}

}  // namespace bittern::eval
