// SPDX-License-Identifier: Apache-2.0
// The places in a rendered conversation at which its answers began when they were made
// (docs/design/0013): behind what the template writes to ask for one. A template is a program, so
// this cannot be read off it; rendering each beginning of the conversation would tell, at a
// quadratic cost.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "jinja/text/text.hpp"

namespace bittern::runtime {

/// Renderings that FindAnswers asks for at most.
inline constexpr std::size_t kMostAnswerRenderings = 4;

/// The bytes of `whole`, ascending, at which an answer's generation began: for each message of the
/// role "assistant" the end of what a rendering up to it, with a generation prompt, has behind the
/// messages, where `whole` has the same there and bytes of the answer after it. Answers that the
/// template does not write so have none. `roles`: of each message of `whole`, whose bytes are
/// marked with their message. `render(count)`: the first `count` messages with a generation
/// prompt; an error counts as a rendering that says nothing. Linear in `whole`.
[[nodiscard]] std::vector<std::size_t> FindAnswers(
    const jinja::Text& whole, std::span<const std::string_view> roles,
    const std::function<Result<jinja::Text>(std::size_t count)>& render);

}  // namespace bittern::runtime
