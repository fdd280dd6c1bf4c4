// SPDX-License-Identifier: Apache-2.0
// A conversation as the tokens a model was trained to read, by the template in its file, in a file
// of the user's, or by name. The same for the command line and for servers.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/decision.hpp"
#include "base/json/json.hpp"
#include "base/result.hpp"
#include "formats/metadata.hpp"
#include "jinja/template.hpp"
#include "tokenizer/tokenizer.hpp"

namespace bittern::runtime {

/// The text to read, and its tokens with BOS where the model wants one.
struct RenderedPrompt {
  jinja::Text text;
  /// Bytes where answers began, ascending (chat_answers.hpp).
  std::vector<std::size_t> answers = {};
  std::vector<tokenizer::TokenId> ids = {};
  bool cut = false;  ///< a beginning only, and too long for the context
};

/// The tokens of text and answers: bytes that the template wrote may be special tokens, bytes from
/// messages never are, and each answer begins a token.
[[nodiscard]] std::vector<tokenizer::TokenId> EncodeTemplateText(
    const RenderedPrompt& prompt, const tokenizer::Tokenizer& tokenizer);

/// A template with what its model brings along. Immutable; threads may share it.
class ChatPrompt {
 public:
  /// `chosen`: a name of kChatFormNames or a template's source; empty: what the file carries,
  /// mended where that is known to be broken or cannot be run (a Decision says so), else what its
  /// tokens tell.
  /// Errors: kUnsupported (no template and no hint), those of Template::Compile.
  [[nodiscard]] static Result<ChatPrompt> Create(const formats::Metadata& metadata,
                                                 const tokenizer::Tokenizer& tokenizer,
                                                 std::string_view chosen, Decisions* decisions);

  /// `request`: a list of messages, or an object with "messages" and, as apply_chat_template takes
  /// them, "tools", "documents", "add_generation_prompt" (true if not given),
  /// "continue_final_message" and "chat_template_kwargs", an object of further names. Each answer
  /// (a message of the role "assistant") is tokenised from where its generation began, so that a
  /// conversation that grew by a turn gives the tokens it gave before and more. Errors:
  /// kInvalidArgument (another form; what the template refuses), kUnsupported (a limit).
  /// A text that cannot fit `context_length` tokens is not read to its end; 0: it is.
  [[nodiscard]] Result<RenderedPrompt> Apply(const Json& request,
                                             const tokenizer::Tokenizer& tokenizer,
                                             int context_length = 0) const;

  /// The template as it was written.
  [[nodiscard]] const std::string& source() const noexcept { return source_; }

 private:
  static std::optional<RenderedPrompt> BeginningOf(const jinja::Text& text,
                                                   const tokenizer::Tokenizer& tokenizer,
                                                   int context_length);
  ChatPrompt(jinja::Template chat_template, std::string source, jinja::Names tokens)
      : template_(std::move(chat_template)),
        source_(std::move(source)),
        tokens_(std::move(tokens)) {}

  jinja::Template template_;
  std::string source_;
  jinja::Names tokens_;  ///< bos_token and the like
};

}  // namespace bittern::runtime
