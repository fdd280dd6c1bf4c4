// SPDX-License-Identifier: Apache-2.0
// The members of a request that an answer goes on from: prompts as texts and ids, conversations as
// messages. All errors are kInvalidArgument and name the field. Any thread.
#pragma once

#include <string>
#include <vector>

#include "request/text_request.hpp"

namespace bittern::request {

/// "prompt" or "prompt_ids", one of which must be there: a text, a list of token ids (texts may
/// stand between them), or a list of such prompts, kMostChoices at most. Texts are read with their
/// control tokens; sets *cut where one was not read to its end, since it cannot fit the target's
/// context. Errors: kInvalidArgument with the place.
[[nodiscard]] Result<std::vector<std::vector<TokenId>>> ReadPrompts(FieldReader* fields,
                                                                    const Target& target,
                                                                    bool* cut);

/// The messages of a conversation as templates expect them: contents in parts become one text,
/// "developer" is "system".
[[nodiscard]] Result<Json::Array> ReadMessages(const std::string& path, const Json* given,
                                               UnreadFields* unread = nullptr);

/// The text of a message: a text, nothing, or parts of which all are text.
[[nodiscard]] Result<std::string> ReadContent(const std::string& path, const Json* content,
                                              UnreadFields* unread = nullptr);

/// A message of a conversation.
[[nodiscard]] Json MessageOf(std::string_view role, std::string content);

/// Members of a request that are for the template.
[[nodiscard]] Result<Json::Object> ReadTemplateFields(FieldReader* fields);

/// The prompt that messages are for the model. A last message of the assistant's is the beginning
/// of the answer, unless `more` says otherwise. `more` are members of a request as
/// ChatPrompt::Apply takes them. Errors: also kUnsupported (the model has no chat template).
[[nodiscard]] Result<runtime::RenderedPrompt> RenderConversation(Json::Array messages,
                                                                 Json::Object more,
                                                                 const Target& target);

}  // namespace bittern::request
