// SPDX-License-Identifier: Apache-2.0
// Logprobs as OpenAI's servers write them, with llama.cpp's "id" beside.
#pragma once

#include <span>

#include "base/json/json.hpp"
#include "runtime/sampling/logprobs.hpp"

namespace bittern::cli {

/// {"id", "token", "bytes", "logprob", "top_logprobs": [{"id", "token", "bytes", "logprob"}]};
/// "token" has U+FFFD where the bytes are not whole characters.
[[nodiscard]] Json ToJson(const runtime::TokenLogprobs& logprobs,
                          const tokenizer::Tokenizer& tokenizer);

/// {"content": [...]}, one entry for each token.
[[nodiscard]] Json LogprobsJson(std::span<const runtime::TokenLogprobs> logprobs,
                                const tokenizer::Tokenizer& tokenizer);

}  // namespace bittern::cli
