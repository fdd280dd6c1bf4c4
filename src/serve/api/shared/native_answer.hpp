// SPDX-License-Identifier: Apache-2.0
// llama-server's own object of a sequence that has ended. /completion answers with it; "__verbose"
// has it in the answers of OpenAI's doors, so that the two never differ.
#pragma once

#include <span>
#include <vector>

#include "base/json/json.hpp"
#include "serve/core/call.hpp"

namespace bittern::serve {

/// The parts of such an object that not every answer has.
struct NativeParts {
  bool tokens = false;         ///< "tokens" has the ids of the answer; else it is empty
  bool probabilities = false;  ///< "completion_probabilities", where they were asked for
  bool receipt = false;        ///< where one was asked for
};

/// Holds what the objects of one request's sequences share. A shape holds one; its threads are the
/// shape's.
class NativeAnswer {
 public:
  /// `service` outlives it.
  NativeAnswer(const Service& service, const TextRequest& request, NativeParts parts);

  /// `choice` counts over all prompts, each with its choices.
  [[nodiscard]] Json Of(std::size_t choice, const Outcome& outcome) const;
  /// One object, or a list of them where there are several sequences.
  [[nodiscard]] Json OfAll(std::span<const Outcome> outcomes) const;
  /// The prompt of a choice.
  [[nodiscard]] const std::vector<TokenId>& PromptOf(std::size_t choice) const {
    return prompts_[choice / choices_];
  }
  /// Adds "completion_probabilities", if they are a part and were asked for.
  void AddProbabilities(const TokenList& tokens, Json* to) const;

 private:
  const Service& service_;
  std::vector<std::vector<TokenId>> prompts_;
  runtime::GenerateOptions options_;
  std::size_t choices_;
  NativeParts parts_;
};

}  // namespace bittern::serve
