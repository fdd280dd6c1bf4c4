// SPDX-License-Identifier: Apache-2.0
// The chat forms that Bittern knows by name, for files without a template, and how to tell which
// one a model was trained on. chat_prompt.hpp runs them, and the templates that files carry.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "base/decision.hpp"
#include "base/result.hpp"
#include "formats/metadata.hpp"
#include "tokenizer/tokenizer.hpp"

namespace bittern::runtime {

enum class ChatForm {
  kBitNet,  ///< "User: hi<|eot_id|>Assistant: " (microsoft/bitnet-b1.58-2B-4T)
  kLlama3,  ///< "<|start_header_id|>user<|end_header_id|>\n\nhi<|eot_id|>..."
  kChatMl,  ///< "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n"
};

inline constexpr std::array<std::string_view, 3> kChatFormNames = {"bitnet", "llama3", "chatml"};

/// A form that was chosen.
class ChatTemplate {
 public:
  explicit ChatTemplate(ChatForm form) : form_(form) {}

  [[nodiscard]] ChatForm form() const noexcept { return form_; }
  /// One of kChatFormNames.
  [[nodiscard]] std::string_view name() const noexcept;

 private:
  ChatForm form_;
};

/// The form called `name`. Error kInvalidArgument lists the names there are.
[[nodiscard]] Result<ChatTemplate> ChatTemplateByName(std::string_view name);

/// Chooses by what the file's `tokenizer.chat_template`, its architecture and its special tokens
/// say, in this order, and writes the choice down as a Decision (notable where the file's own
/// template is not followed to the letter). Error kUnsupported: the model gives no hint, or its
/// vocabulary lacks the form's tokens.
[[nodiscard]] Result<ChatTemplate> ResolveChatTemplate(const formats::Metadata& metadata,
                                                       const tokenizer::Tokenizer& tokenizer,
                                                       Decisions* decisions);

/// Error kUnsupported names the first special token of the form that is not one in this
/// vocabulary, for forms that the user chose.
[[nodiscard]] Result<void> CheckChatTokens(const ChatTemplate& chat,
                                           const tokenizer::Tokenizer& tokenizer);

}  // namespace bittern::runtime
