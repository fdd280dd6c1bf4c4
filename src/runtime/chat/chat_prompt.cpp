// SPDX-License-Identifier: Apache-2.0
// Follows transformers' apply_chat_template, errors included: what cannot be continued is refused.
#include "runtime/chat/chat_prompt.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "formats/convert/convert_metadata.hpp"
#include "jinja/python.hpp"
#include "runtime/chat/chat_answers.hpp"
#include "runtime/chat/chat_template.hpp"
#include "runtime/prompt_check.hpp"

namespace bittern::runtime {
namespace {

using jinja::Text;
using jinja::Value;

// The templates of ChatForm::kLlama3 and kChatMl. The tokenizer puts the first token before them.
constexpr std::string_view kLlama3 =
    "{% for message in messages %}{{ '<|start_header_id|>' + message['role'] + "
    "'<|end_header_id|>\n\n' + (message['content'] | trim) + '<|eot_id|>' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}"
    "{% endif %}";
constexpr std::string_view kChatMl =
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + "
    "message['content'] + '<|im_end|>' + '\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}";

/// The Jinja source of a form; one text for conversion and for runs in kBitNet's case.
std::string_view SourceOf(ChatForm form) {
  switch (form) {
    case ChatForm::kBitNet:
      return formats::BitnetChatTemplate();
    case ChatForm::kLlama3:
      return kLlama3;
    case ChatForm::kChatMl:
      return kChatMl;
  }
  return {};
}

/// The source to run where the user chose none.
Result<std::string> SourceOfFile(const formats::Metadata& metadata,
                                 const tokenizer::Tokenizer& tokenizer, Decisions* decisions) {
  const auto text = BITTERN_TRY(metadata.GetString("tokenizer.chat_template")).value_or("");
  // bitnet.cpp's converter wrote a form that no model was tuned on.
  const bool broken = text.find("BITNETAssistant") != std::string_view::npos;
  if (!text.empty() && !broken) {
    decisions->push_back({"chat template", "the file's own", "tokenizer.chat_template", false});
    return std::string(text);
  }
  const ChatTemplate form = BITTERN_TRY(ResolveChatTemplate(metadata, tokenizer, decisions));
  return std::string(SourceOf(form.form()));
}

/// Role names of one plain word count as the template's own: templates build tokens of them.
bool IsPlainWord(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  });
}

/// A message as a dict. Its texts carry their origin, so that what a user writes never becomes a
/// control token; only a plain role name counts as the template's own.
Result<Value> MessageValue(const Json& message, jinja::Origin origin) {
  if (message.AsObject() == nullptr) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("messages: objects expected, {} found", message.TypeName()));
  }
  jinja::Dict dict;
  for (const Json::Member& member : *message.AsObject()) {
    const std::string* text = member.value.AsString();
    const bool plain = member.key == "role" && text != nullptr && IsPlainWord(*text);
    auto value = BITTERN_TRY(jinja::FromJson(member.value, plain ? jinja::Origin() : origin));
    dict.Set(Value::String(member.key, origin), std::move(value));
  }
  return jinja::MakeDict(std::move(dict));
}

/// The messages with Origin::Message(0), (1), ... by their place in the list.
Result<std::vector<Value>> MessageValues(const Json* messages) {
  if (messages == nullptr || messages->AsArray() == nullptr) {
    return Fail(ErrorCode::kInvalidArgument,
                "a list of messages, or an object with the list "
                "\"messages\" in it, expected");
  }
  std::vector<Value> values;
  for (const Json& message : *messages->AsArray()) {
    auto value = BITTERN_TRY(MessageValue(message, jinja::Origin::Message(values.size())));
    values.push_back(std::move(value));
  }
  return values;
}

/// A truth of the request; null counts as missing.
Result<bool> Flag(const Json& request, std::string_view key, bool otherwise) {
  const Json* value = request.Find(key);
  if (value == nullptr || value->is_null()) return otherwise;
  if (const auto flag = value->AsBool()) return *flag;
  return Fail(ErrorCode::kInvalidArgument,
              fmt::format("{}: true or false expected, {} found", key, value->TypeName()));
}

/// The text of the last message: its content, or the last text among the parts of it.
const std::string* FinalText(const Json& messages) {
  if (messages.AsArray()->empty()) return nullptr;
  const Json* content = messages.AsArray()->back().Find("content");
  if (content == nullptr || content->AsArray() == nullptr) {
    return content == nullptr ? nullptr : content->AsString();
  }
  for (auto part = content->AsArray()->rbegin(); part != content->AsArray()->rend(); ++part) {
    const Json* text = part->Find("text");
    if (text != nullptr) return text->AsString();
  }
  return nullptr;
}

/// Cuts the rendered text behind the last message, so that the model goes on with it.
Result<Text> CutAfterFinal(const Text& text, const Json& messages) {
  const std::string* final_text = FinalText(messages);
  if (final_text == nullptr) {
    return Fail(ErrorCode::kInvalidArgument,
                "continue_final_message: the last message has no text to continue");
  }
  const auto strip = [&](bool back) {
    return jinja::Strip(Text(*final_text), jinja::IsSpace, true, back).bytes();
  };
  const std::string whole = strip(false), stripped = strip(true);
  const std::size_t at = text.bytes().rfind(stripped);
  if (at == std::string::npos) {
    return Fail(ErrorCode::kInvalidArgument,
                "continue_final_message: the template did not write the last message as it is");
  }
  const bool keeps_end = text.bytes().compare(at, whole.size(), whole) == 0;
  return text.Substr(0, at + (keeps_end ? whole.size() : stripped.size()));
}

/// The role of each message; "" where it has none.
std::vector<std::string_view> RolesOf(const Json& messages) {
  std::vector<std::string_view> roles;
  for (const Json& message : *messages.AsArray()) {
    const Json* role = message.Find("role");
    const std::string* name = role == nullptr ? nullptr : role->AsString();
    roles.push_back(name == nullptr ? std::string_view() : *name);
  }
  return roles;
}

/// The bytes that the template itself wrote: control tokens are read in these only.
std::vector<tokenizer::ByteRange> TrustedRanges(const Text& text) {
  std::vector<tokenizer::ByteRange> ranges;
  std::size_t begin = 0;
  for (const Text::Run& run : text.runs()) {
    if (!run.from_input()) ranges.push_back({begin, run.end});
    begin = run.end;
  }
  return ranges;
}

/// Templates read a handful; each is looked for among the names of the template.
constexpr std::size_t kMostKwargs = 64;

/// Gives the template `tools`, `documents` (None if missing, as apply_chat_template does) and each
/// member of chat_template_kwargs under its own name.
Result<void> AddNames(const Json& request, jinja::Names* names) {
  for (const char* key : {"tools", "documents"}) {
    const Json* given = request.Find(key);
    Value value = Value::Null();
    if (given != nullptr) {
      value = BITTERN_TRY(jinja::FromJson(*given, jinja::Origin::Input()));
    }
    names->emplace_back(key, std::move(value));
  }
  const Json* more = request.Find("chat_template_kwargs");
  if (more == nullptr || more->is_null()) return {};
  if (more->AsObject() == nullptr) {
    return Fail(
        ErrorCode::kInvalidArgument,
        fmt::format("chat_template_kwargs: an object expected, {} found", more->TypeName()));
  }
  if (more->AsObject()->size() > kMostKwargs) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("chat_template_kwargs: {} members at most expected, {} found",
                            kMostKwargs, more->AsObject()->size()));
  }
  for (const Json::Member& member : *more->AsObject()) {
    auto value = BITTERN_TRY(jinja::FromJson(member.value, jinja::Origin::Input()));
    names->emplace_back(member.key, std::move(value));
  }
  return {};
}

}  // namespace

std::vector<tokenizer::TokenId> EncodeTemplateText(const RenderedPrompt& prompt,
                                                   const tokenizer::Tokenizer& tokenizer) {
  return tokenizer.EncodeTrusted(prompt.text.bytes(), TrustedRanges(prompt.text),
                                 /*add_bos=*/true, prompt.answers);
}

/// The beginning of a text that is too long for the context; nothing if it may fit.
std::optional<RenderedPrompt> ChatPrompt::BeginningOf(const Text& text,
                                                      const tokenizer::Tokenizer& tokenizer,
                                                      int context_length) {
  const std::size_t size = BeginningThatIsTooLong(text.bytes(), tokenizer, context_length).size();
  if (size == text.bytes().size()) return std::nullopt;
  RenderedPrompt prompt{.text = text.Substr(0, size), .cut = true};
  prompt.ids = EncodeTemplateText(prompt, tokenizer);
  if (prompt.ids.size() <= static_cast<std::size_t>(context_length)) return std::nullopt;
  return prompt;
}

/// `chosen` is empty (the file's template), a name of a known form, or a template's source.
Result<ChatPrompt> ChatPrompt::Create(const formats::Metadata& metadata,
                                      const tokenizer::Tokenizer& tokenizer,
                                      std::string_view chosen, Decisions* decisions) {
  std::string source(chosen);
  if (chosen.empty()) {
    source = BITTERN_TRY(SourceOfFile(metadata, tokenizer, decisions));
  } else if (const auto named = ChatTemplateByName(chosen)) {
    BITTERN_TRY(CheckChatTokens(*named, tokenizer));
    source = SourceOf(named->form());
  }
  auto compiled = jinja::Template::Compile(source);
  if (!compiled.has_value() && chosen.empty()) {
    // A form that its words or tokens tell is better than no conversation at all.
    if (const auto form = ResolveChatTemplate(metadata, tokenizer, decisions)) {
      decisions->back().notable = true;
      decisions->back().reason += "; the file's own cannot be run: " + compiled.error().message;
      source = SourceOf(form->form());
      compiled = jinja::Template::Compile(source);
    }
  }
  if (!compiled.has_value()) {
    return tl::unexpected(Within("chat template", std::move(compiled).error()));
  }
  jinja::Names tokens;
  const auto add = [&](const char* name, tokenizer::TokenId id) {
    tokens.emplace_back(name, Value::String(std::string(tokenizer.TokenBytes(id, true))));
  };
  add("bos_token", tokenizer.bos_id());
  add("eos_token", tokenizer.eos_id());
  constexpr std::array<std::pair<const char*, const char*>, 2> kMore = {
      {{"unk_token", "tokenizer.ggml.unknown_token_id"},
       {"pad_token", "tokenizer.ggml.padding_token_id"}}};
  for (const auto& [name, key] : kMore) {
    const auto id = BITTERN_TRY(metadata.GetUint(key));
    if (id && *id < static_cast<std::uint64_t>(tokenizer.vocab_size())) {
      add(name, static_cast<tokenizer::TokenId>(*id));
    }
  }
  return ChatPrompt(*std::move(compiled), std::move(source), std::move(tokens));
}

/// Renders once for the text, and by FindAnswers a few times more for the places where answers
/// begin.
Result<RenderedPrompt> ChatPrompt::Apply(const Json& request, const tokenizer::Tokenizer& tokenizer,
                                         int context_length) const {
  const Json* messages = request.AsArray() != nullptr ? &request : request.Find("messages");
  const auto values = BITTERN_TRY(MessageValues(messages));
  const bool continues = BITTERN_TRY(Flag(request, "continue_final_message", false));
  const bool generates = BITTERN_TRY(Flag(request, "add_generation_prompt", !continues));
  if (continues && generates) {
    return Fail(ErrorCode::kInvalidArgument,
                "only one of continue_final_message and add_generation_prompt can be true");
  }
  jinja::Names names = tokens_;
  BITTERN_TRY(AddNames(request, &names));
  const auto render = [&](std::size_t count, bool with_prompt) -> Result<Text> {
    jinja::Names all = names;
    const auto end = values.begin() + static_cast<std::ptrdiff_t>(count);
    auto list = BITTERN_TRY(jinja::MakeList({values.begin(), end}));
    all.emplace_back("messages", std::move(list));
    all.emplace_back("add_generation_prompt", Value::Bool(with_prompt));
    return template_.Render(std::move(all));
  };
  auto text = render(values.size(), generates);
  if (!text.has_value()) {
    return tl::unexpected(Within("chat template", std::move(text).error()));
  }
  if (auto beginning = BeginningOf(*text, tokenizer, context_length)) return *std::move(beginning);
  RenderedPrompt prompt{.text = *std::move(text)};
  prompt.answers = FindAnswers(prompt.text, RolesOf(*messages), [&](std::size_t count) {
    return render(count, /*with_prompt=*/true);
  });
  if (continues) {
    prompt.text = BITTERN_TRY(CutAfterFinal(prompt.text, *messages));
    std::erase_if(prompt.answers, [&](std::size_t at) { return at > prompt.text.size(); });
  }
  prompt.ids = EncodeTemplateText(prompt, tokenizer);
  return prompt;
}

}  // namespace bittern::runtime
