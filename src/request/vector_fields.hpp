// SPDX-License-Identifier: Apache-2.0
// Texts that are to become vectors, as requests give them. Any thread.
#pragma once

#include <string_view>
#include <vector>

#include "request/text_request.hpp"

namespace bittern::request {

/// Texts of one request at most, and tokens of all of them, as at OpenAI. One text may have as many
/// as the context.
inline constexpr std::size_t kMostTexts = 2048, kMostTextTokens = 300'000;

/// The member `key`: a text, a list of token ids, or a list of those, kMostTexts at most, of
/// kMostTextTokens at most together. Texts are
/// read as runtime::EncodeForVector does, for the target's context; ids are taken as they are.
/// Where `truncate` is set, what is too long is cut. Errors with the place: kInvalidArgument,
/// kContextFull (too long, and not cut).
[[nodiscard]] Result<std::vector<std::vector<TokenId>>> ReadTexts(FieldReader* fields,
                                                                  std::string_view key,
                                                                  const Target& target,
                                                                  bool truncate);

}  // namespace bittern::request
