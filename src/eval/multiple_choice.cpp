// SPDX-License-Identifier: Apache-2.0
// Any number of threads.
#include "eval/multiple_choice.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace bittern::eval {
namespace {

/// Context and answer are encoded together, so that tokens across the border are as in a text. The
/// answer's first token is found by encoding the context alone, without blanks at its end. A
/// context that is too long loses its front.
Result<ScoreItem> TokensOfChoice(const Choice& choice, const tokenizer::Tokenizer& tokenizer,
                                 std::size_t most) {
  const std::size_t end = choice.context.find_last_not_of(" \t\n\r\f\v") + 1;  // npos + 1 is 0
  const auto context = tokenizer.Encode(std::string_view(choice.context).substr(0, end));
  ScoreItem item{.tokens = tokenizer.Encode(choice.context + choice.continuation),
                 .first_scored = context.size()};
  if (item.tokens.empty()) {
    return Fail(ErrorCode::kInvalidArgument, "an answer without tokens");
  }
  if (item.first_scored == 0) {  // nothing before it: as after the beginning of a text
    const TokenId first = tokenizer.bos_id() >= 0 ? tokenizer.bos_id() : tokenizer.eos_id();
    item.tokens.insert(item.tokens.begin(), std::max(first, 0));
    item.first_scored = 1;
  }
  if (item.tokens.size() < 2) {
    return Fail(ErrorCode::kInvalidArgument, "an answer without tokens");
  }
  item.first_scored = std::min(item.first_scored, item.tokens.size() - 1);
  if (item.tokens.size() <= most + 1) return item;
  const std::size_t cut = item.tokens.size() - most - 1;
  if (cut >= item.first_scored) {
    return Fail(ErrorCode::kContextFull,
                fmt::format("an answer of {} tokens is too long for the model's context of {}",
                            item.tokens.size() - item.first_scored, most));
  }
  item.tokens.erase(item.tokens.begin(), item.tokens.begin() + static_cast<std::ptrdiff_t>(cut));
  item.first_scored -= cut;
  return item;
}

/// The index of the largest number; the first one where several are.
std::size_t Largest(const std::vector<double>& values) {
  return static_cast<std::size_t>(std::ranges::max_element(values) - values.begin());
}

}  // namespace

Result<ScoreGroup> TokensOf(const Question& question, const tokenizer::Tokenizer& tokenizer,
                            int context_length) {
  ScoreGroup group;
  for (const Choice& choice : question.choices) {
    group.push_back(
        BITTERN_TRY(TokensOfChoice(choice, tokenizer, static_cast<std::size_t>(context_length))));
  }
  return group;
}

/// `chosen` takes the likeliest answer (acc), `chosen_norm` the likeliest per character (acc_norm).
Answer AnswerOf(const Question& question, const GroupScores& scores) {
  Answer answer;
  std::vector<double> by_length;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    double sum = 0;
    for (const TokenScore& score : scores[i]) sum -= score.nats;
    answer.log_likelihoods.push_back(sum);
    const std::size_t characters = std::max<std::size_t>(question.choices[i].characters, 1);
    by_length.push_back(sum / static_cast<double>(characters));
  }
  answer.chosen = Largest(answer.log_likelihoods);
  answer.chosen_norm = Largest(by_length);
  return answer;
}

}  // namespace bittern::eval
