// SPDX-License-Identifier: Apache-2.0
// Prompts as requests give them. Any thread.
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

}  // namespace bittern::request
