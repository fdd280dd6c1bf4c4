// SPDX-License-Identifier: Apache-2.0
// Fields that the APIs share: how tokens are drawn and when a text ends, prompts, conversations.
// All errors are kInvalidArgument and name the field. Any thread.
#pragma once

#include <string>
#include <vector>

#include "serve/core/call.hpp"
#include "serve/core/field_reader.hpp"

namespace bittern::serve {

/// temperature, top_k, ..., seed, stop, n_predict and its other names. Fields that only hint (user,
/// cache_prompt, ...) are read and make no difference; samplers that are not here are refused.
[[nodiscard]] Result<void> ReadSampling(FieldReader* fields, runtime::GenerateOptions* options);

/// Stop strings: so many, and so many bytes each.
inline constexpr std::size_t kMostStops = 64, kMostStopBytes = 1024;
[[nodiscard]] Result<void> ReadStops(FieldReader* fields, std::string_view key,
                                     std::vector<std::string>* stops);

/// "n": choices for each prompt.
[[nodiscard]] Result<void> ReadChoices(FieldReader* fields, std::string_view key, int* choices);

/// A text, a list of token ids (texts may stand between them), or a list of such prompts.
[[nodiscard]] Result<std::vector<std::vector<TokenId>>> ReadPrompts(
    const std::string& path, const Json& value, const tokenizer::Tokenizer& tokenizer);

/// The prompt that a conversation ("messages" and what belongs to it) is for the model. Contents in
/// parts become one text; "developer" is "system". Errors: also kUnsupported (the model has no chat
/// template).
[[nodiscard]] Result<runtime::RenderedPrompt> ReadConversation(FieldReader* fields,
                                                               const Service& service);

}  // namespace bittern::serve
