// SPDX-License-Identifier: Apache-2.0
// "echo" of /v1/completions: the prompt in front of the answer, with the log-probability of each of
// its tokens where that is asked for, as evaluation programs need it. Any thread.
#pragma once

#include <string>
#include <vector>

#include "serve/core/call.hpp"

namespace bittern::serve {

/// A prompt as it is repeated.
struct EchoedPrompt {
  std::string text;
  std::vector<TokenId> ids;
  /// The log-probabilities of ids[1], ids[2], ..., each after those before it, and last of the
  /// likeliest token that ends the text there (none where the model has no such token). Empty: not
  /// asked for.
  TokenList logprobs = {};
};

/// One pass over the prompt with all its logits; takes as long as reading it. `count`: tokens told
/// beside each. Errors as Session's.
[[nodiscard]] Result<TokenList> PromptLogprobs(const Service& service,
                                               const std::vector<TokenId>& prompt, int count);

}  // namespace bittern::serve
