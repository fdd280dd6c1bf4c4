// SPDX-License-Identifier: Apache-2.0
// Chat templates that a caller chooses in place of the model's own: a form known by name, a file,
// or texts around what is said. ChatPrompt::Create takes the result. Any thread.
#pragma once

#include <string>
#include <string_view>

#include "base/json/json.hpp"
#include "base/result.hpp"

namespace bittern::runtime {

/// Looks for a form of that name (kChatFormNames, in capitals or not) and returns it in lower case.
/// Otherwise reads the file of that name and returns its text. Names come first, so that no file in
/// the working folder can stand for one. An empty text stays empty. Error kInvalidArgument, naming
/// `option`: neither of them.
[[nodiscard]] Result<std::string> ReadChosenTemplate(const std::string& name_or_file,
                                                     std::string_view option);

/// A template that writes turns as llama.cpp does with --in-prefix and --in-suffix: what is said
/// between the two, and the token that ends a text behind each reply.
[[nodiscard]] std::string TemplateOfAffixes(std::string_view prefix, std::string_view suffix);

/// Further names for a template (ChatOptions::template_names). Error kInvalidArgument, naming
/// `option`: no JSON object.
[[nodiscard]] Result<Json> ParseTemplateNames(std::string_view text, std::string_view option);

}  // namespace bittern::runtime
