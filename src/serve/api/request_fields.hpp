// SPDX-License-Identifier: Apache-2.0
// Fields that the APIs share: how tokens are drawn and when a text ends, prompts, conversations.
// All errors are kInvalidArgument and name the field. Any thread.
#pragma once

#include <string>
#include <vector>

#include "serve/api/telemetry.hpp"
#include "serve/core/call.hpp"
#include "serve/core/field_reader.hpp"
#include "serve/core/sampler_fields.hpp"

namespace bittern::serve {

/// ReadOptions, "receipt", and the fields that only hint (user, cache_prompt, ...) and make no
/// difference; what cannot be done yet is refused.
[[nodiscard]] Result<void> ReadSampling(FieldReader* fields, const Service& service,
                                        CallRequest* call);

/// Tokens beside the picked one whose log-probabilities a request may ask for.
inline constexpr int kMostLogprobs = 100;

/// "timings_per_token" and "return_progress", which only streams obey.
[[nodiscard]] Result<TelemetryRequest> ReadTelemetry(FieldReader* fields, CallRequest* call);

/// "n": choices for each prompt.
[[nodiscard]] Result<void> ReadChoices(FieldReader* fields, std::string_view key, int* choices);

/// A text, a list of token ids (texts may stand between them), or a list of such prompts.
[[nodiscard]] Result<std::vector<std::vector<TokenId>>> ReadPrompts(
    const std::string& path, const Json& value, const tokenizer::Tokenizer& tokenizer);

/// The messages of a conversation as templates expect them: contents in parts become one text,
/// "developer" is "system".
[[nodiscard]] Result<Json::Array> ReadMessages(const std::string& path, const Json* given);

/// The text of a message: a text, nothing, or parts of which all are text.
[[nodiscard]] Result<std::string> ReadContent(const std::string& path, const Json* content);

/// A text as a value.
[[nodiscard]] Json TextJson(std::string text);
[[nodiscard]] Json MessageOf(std::string_view role, std::string content);

/// The prompt that messages are for the model; `more` are members of a request as ChatPrompt::Apply
/// takes them. Errors: also kUnsupported (the model has no chat template).
[[nodiscard]] Result<runtime::RenderedPrompt> RenderConversation(Json::Array messages,
                                                                 Json::Object more,
                                                                 const Service& service);

/// Members of a request that are for the template.
[[nodiscard]] Result<Json::Object> ReadTemplateFields(FieldReader* fields);

}  // namespace bittern::serve
