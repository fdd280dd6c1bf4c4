// SPDX-License-Identifier: Apache-2.0
// Which answer of a question a model finds most probable. acc and acc_norm are those of
// lm-evaluation-harness: by the logarithm of an answer's probability, and by the same divided by
// the characters of the answer.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "eval/question.hpp"
#include "eval/scorer.hpp"

namespace bittern::eval {

struct Answer {
  std::vector<double> log_likelihoods;  ///< of each choice, in nats; 0 or less
  std::size_t chosen = 0;               ///< the largest; the first of equals
  std::size_t chosen_norm = 0;          ///< the largest for its length
};

/// The tokens of each choice; contexts too long for the model lose their beginning. As
/// lm-evaluation-harness: spaces at the end of the context go to the continuation, whose tokens are
/// those that the context's own tokens are not. Error kContextFull: an answer alone is too long.
[[nodiscard]] Result<ScoreGroup> TokensOf(const Question& question,
                                          const tokenizer::Tokenizer& tokenizer,
                                          int context_length);

/// The results of the choices of one question, from the scores of TokensOf(question).
[[nodiscard]] Answer AnswerOf(const Question& question, const GroupScores& scores);

}  // namespace bittern::eval
