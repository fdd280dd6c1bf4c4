// SPDX-License-Identifier: Apache-2.0
// Multiple-choice questions, a JSON object each, as data sets have them. The texts a model sees are
// those of lm-evaluation-harness, so that its numbers can be compared.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace bittern::eval {

/// An answer: how probable is `continuation` after `context`?
struct Choice {
  std::string context, continuation;
  std::size_t characters = 0;  ///< of the answer as the data set has it, for acc_norm
};

struct Question {
  std::string kind = {};  ///< "arc", "hellaswag", "winogrande", "piqa", "boolq", "mmlu", ...
  std::vector<Choice> choices = {};  ///< two at least
  std::size_t gold = 0;              ///< the right one
};

/// Reads one line. Known by their fields:
///   arguments, target                           a sample that lm-evaluation-harness logged
///   goal, sol1, sol2, label                     PIQA
///   sentence, option1, option2, answer          WinoGrande
///   passage, question, label or answer          BoolQ
///   ctx (or ctx_a, ctx_b), endings, label       HellaSwag
///   question, choices {text, label}, answerKey  ARC, OpenBookQA, CommonsenseQA
///   question, subject, choices, answer          MMLU
///   query, choices, gold (or label, answer)     any other
/// Error kInvalidArgument says which field is wrong.
[[nodiscard]] Result<Question> ReadQuestion(std::string_view line);

}  // namespace bittern::eval
