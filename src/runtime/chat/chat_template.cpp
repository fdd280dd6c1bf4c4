// SPDX-License-Identifier: Apache-2.0
// The 2B-4T model has LLaMA-3's vocabulary, headers included, but was trained on another form; and
// the template in its GGUF file is a left-over of the converter. So tokens alone prove little and
// the file's text is a hint, read for its marks only.
#include "runtime/chat/chat_template.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "formats/architecture.hpp"

namespace bittern::runtime {
namespace {

/// True if the whole text is one control token of the vocabulary.
bool HasToken(const tokenizer::Tokenizer& tokenizer, std::string_view name) {
  const auto ids = tokenizer.Encode(name, {.add_bos = false, .parse_special = true});
  return ids.size() == 1 && tokenizer.IsControl(ids.front());
}

bool IsBitNet(std::string_view architecture) {
  const formats::ArchitectureSpec* row = formats::FindArchitecture(architecture);
  return row != nullptr && row->bitnet;
}

/// A form, and why.
struct Choice {
  ChatForm form;
  std::string reason;
  bool notable = false;
};

/// The form whose marks stand in the file's template; nothing if it has none that is known.
std::optional<Choice> ChooseByTemplate(std::string_view text, std::string_view architecture) {
  const auto has = [&](std::string_view mark) { return text.find(mark) != std::string_view::npos; };
  if (has("<|im_start|>")) return Choice{ChatForm::kChatMl, "tokenizer.chat_template"};
  if (has("<|start_header_id|>")) return Choice{ChatForm::kLlama3, "tokenizer.chat_template"};
  const bool exact = has("capitalize") && has("<|eot_id|>") && has("Assistant: ");
  if (exact) return Choice{ChatForm::kBitNet, "tokenizer.chat_template"};
  if (has("BITNET") && IsBitNet(architecture)) {
    return Choice{ChatForm::kBitNet,
                  "architecture; the file's template is a left-over of its converter", true};
  }
  return std::nullopt;
}

/// The form whose control tokens are in the vocabulary, for files without a template.
std::optional<Choice> ChooseByTokens(const tokenizer::Tokenizer& tokenizer,
                                     std::string_view architecture) {
  const auto has = [&](std::string_view name) { return HasToken(tokenizer, name); };
  if (has("<|im_start|>") && has("<|im_end|>")) {
    return Choice{ChatForm::kChatMl, "the file has no template; its tokens are ChatML's", true};
  }
  if (IsBitNet(architecture) && has("<|eot_id|>")) {
    return Choice{ChatForm::kBitNet, "the file has no template; architecture", true};
  }
  if (has("<|start_header_id|>") && has("<|end_header_id|>") && has("<|eot_id|>")) {
    return Choice{ChatForm::kLlama3, "the file has no template; its tokens are LLaMA-3's", true};
  }
  return std::nullopt;
}

std::string Names() { return fmt::format("{}", fmt::join(kChatFormNames, ", ")); }

}  // namespace

std::string_view ChatTemplate::name() const noexcept {
  return kChatFormNames[static_cast<std::size_t>(form_)];
}

Result<ChatTemplate> ChatTemplateByName(std::string_view name) {
  const auto found = std::ranges::find(kChatFormNames, name);
  if (found != kChatFormNames.end()) {
    return ChatTemplate(static_cast<ChatForm>(found - kChatFormNames.begin()));
  }
  return Fail(ErrorCode::kInvalidArgument,
              fmt::format("chat template: one of {} expected, \"{}\" found", Names(), name));
}

Result<void> CheckChatTokens(const ChatTemplate& chat, const tokenizer::Tokenizer& tokenizer) {
  std::array<std::string_view, 3> wanted = {"<|eot_id|>"};
  if (chat.form() == ChatForm::kLlama3) {
    wanted = {"<|eot_id|>", "<|start_header_id|>", "<|end_header_id|>"};
  } else if (chat.form() == ChatForm::kChatMl) {
    wanted = {"<|im_start|>", "<|im_end|>"};
  }
  for (const std::string_view token : wanted) {
    if (token.empty() || HasToken(tokenizer, token)) continue;
    return Fail(ErrorCode::kUnsupported,
                fmt::format("chat template {} needs the special token {}, which this model's "
                            "vocabulary lacks",
                            chat.name(), token));
  }
  return {};
}

Result<ChatTemplate> ResolveChatTemplate(const formats::Metadata& metadata,
                                         const tokenizer::Tokenizer& tokenizer,
                                         Decisions* decisions) {
  const auto text = BITTERN_TRY(metadata.GetString("tokenizer.chat_template")).value_or("");
  const auto architecture = BITTERN_TRY(metadata.GetString("general.architecture")).value_or("");
  const std::optional<Choice> choice =
      text.empty() ? ChooseByTokens(tokenizer, architecture) : ChooseByTemplate(text, architecture);
  if (!choice) {
    return Fail(ErrorCode::kUnsupported,
                fmt::format("{}; name one of {}, or continue texts with `run`",
                            text.empty() ? "the file has no chat template, and no special tokens "
                                           "that tell one"
                                         : "the file's chat template is none that Bittern knows",
                            Names()));
  }
  const ChatTemplate chat(choice->form);
  BITTERN_TRY(CheckChatTokens(chat, tokenizer));
  decisions->push_back(
      {"chat template", std::string(chat.name()), choice->reason, choice->notable});
  return chat;
}

}  // namespace bittern::runtime
