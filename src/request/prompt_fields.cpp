// SPDX-License-Identifier: Apache-2.0
// Prompts first, then conversations. Contents of messages are texts or lists of parts; parts that
// are no text are refused by their type.
#include "request/prompt_fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "request/tool_fields.hpp"
#include "runtime/prompt_check.hpp"

namespace bittern::request {
namespace {

constexpr std::int64_t kMostTokenId = std::numeric_limits<int>::max();

/// Adds the tokens of a text. BOS can stand before the first part only.
void AddText(std::string_view text, const Target& target, bool* cut, std::vector<TokenId>* ids) {
  const auto read = runtime::ReadWithinContext(text, target.tokenizer(),
                                               {.add_bos = ids->empty(), .parse_special = true},
                                               target.context_length);
  ids->insert(ids->end(), read.ids.begin(), read.ids.end());
  *cut = *cut || read.cut;
}

/// Adds the tokens of one part: a text, an id, or llama-server's {"prompt_string"}.
Result<void> AddIds(const std::string& path, const Json& value, const Target& target, bool* cut,
                    std::vector<TokenId>* ids) {
  if (const std::string* text = value.AsString()) {
    AddText(*text, target, cut, ids);
    return {};
  }
  const auto id = value.AsUint();
  if (value.Find("prompt_string") != nullptr) {  // llama-server's way to send pictures with a text
    auto fields = BITTERN_TRY(FieldReader::Open(value, path));
    std::string text;
    BITTERN_TRY(fields.Text("prompt_string", &text));
    BITTERN_TRY(fields.OnlyNeutral({"multimodal_data"}));
    BITTERN_TRY(fields.Finish());
    AddText(text, target, cut, ids);
    return {};
  }
  if (!id || *id > static_cast<std::uint64_t>(kMostTokenId)) {
    return WrongField(path, "a text or a token id", value);
  }
  ids->push_back(static_cast<TokenId>(*id));
  return {};
}

/// One prompt: a text, or a list of ids and texts.
Result<std::vector<TokenId>> ReadPrompt(const std::string& path, const Json& value,
                                        const Target& target, bool* cut) {
  std::vector<TokenId> ids;
  const Json::Array* parts = value.AsArray();
  if (parts == nullptr) {
    BITTERN_TRY(AddIds(path, value, target, cut, &ids));
    return ids;
  }
  for (std::size_t i = 0; i < parts->size(); ++i) {
    BITTERN_TRY(AddIds(fmt::format("{}[{}]", path, i), (*parts)[i], target, cut, &ids));
  }
  return ids;
}

}  // namespace

/// A list with a number in it is one prompt of mixed parts, any other list is several prompts. That
/// is how llama-server tells them apart.
Result<std::vector<std::vector<TokenId>>> ReadPrompts(FieldReader* fields, const Target& target,
                                                      bool* cut) {
  const bool has_ids = fields->Has("prompt_ids");
  if (has_ids && fields->Has("prompt")) {
    return Fail(ErrorCode::kInvalidArgument, "prompt_ids: one prompt expected, two found");
  }
  const std::string path = fields->PathOf(has_ids ? "prompt_ids" : "prompt");
  const Json* ids = fields->Take("prompt_ids");
  const Json* given = has_ids ? ids : fields->Take("prompt");
  if (given == nullptr) {
    return Fail(ErrorCode::kInvalidArgument,
                path + ": a text or token ids (or \"messages\") expected, none found");
  }
  const Json& value = *given;
  std::vector<std::vector<TokenId>> prompts;
  const Json::Array* list = value.AsArray();
  const auto is_id = [](const Json& part) { return part.AsNumber().has_value(); };
  if (list == nullptr || std::ranges::any_of(*list, is_id)) {
    prompts.push_back(BITTERN_TRY(ReadPrompt(path, value, target, cut)));
    return prompts;
  }
  if (list->empty() || list->size() > static_cast<std::size_t>(kMostChoices)) {
    return Fail(ErrorCode::kInvalidArgument, fmt::format("{}: 1 to {} prompts expected, {} found",
                                                         path, kMostChoices, list->size()));
  }
  for (std::size_t i = 0; i < list->size(); ++i) {
    prompts.push_back(
        BITTERN_TRY(ReadPrompt(fmt::format("{}[{}]", path, i), (*list)[i], target, cut)));
  }
  return prompts;
}

namespace {

/// A message as templates expect it.
Result<Json> ReadMessage(const std::string& path, const Json& given, UnreadFields* unread) {
  constexpr std::array<std::string_view, 6> kRoles = {"system",    "developer", "user",
                                                      "assistant", "tool",      "function"};
  auto fields = BITTERN_TRY(FieldReader::Open(given, path, unread));
  const Json* role = fields.Take("role");
  const bool known = role != nullptr && role->AsString() != nullptr &&
                     std::ranges::find(kRoles, *role->AsString()) != kRoles.end();
  if (!known) {
    return WrongField(fields.PathOf("role"), "system, developer, user, assistant or tool",
                      role == nullptr ? Json() : *role);
  }
  const Json* content = fields.Take("content");
  std::string text = BITTERN_TRY(ReadContent(fields.PathOf("content"), content, unread));
  // An assistant's message may consist of calls alone.
  if (content == nullptr && *role->AsString() != "assistant") {
    return Fail(ErrorCode::kInvalidArgument,
                fields.PathOf("content") + ": a text expected, none found");
  }
  const bool developer = *role->AsString() == "developer";
  Json::Object message;
  message.push_back({"role", developer ? Json("system") : *role});
  message.push_back({"content", Json(std::move(text))});
  if (const Json* calls = fields.Take("tool_calls");
      calls != nullptr && !(calls->AsArray() != nullptr && calls->AsArray()->empty())) {
    auto read = BITTERN_TRY(ReadToolCalls(fields.PathOf("tool_calls"), *calls, unread));
    message.push_back({"tool_calls", std::move(read)});
  }
  for (const char* const key : {"name", "tool_call_id", "reasoning_content"}) {
    if (const Json* value = fields.Take(key)) message.push_back({key, *value});
  }
  // Ollama's name for it.
  if (const Json* name = fields.Take("tool_name")) message.push_back({"name", *name});
  fields.Ignore({"refusal", "annotations", "audio", "function_call", "thinking"});
  BITTERN_TRY(fields.OnlyNeutral({"images"}));
  BITTERN_TRY(fields.Finish());
  return Json(std::move(message));
}

}  // namespace

/// The parts are joined without anything between them. "input_text" and "output_text" are the names
/// of /v1/responses.
Result<std::string> ReadContent(const std::string& path, const Json* content,
                                UnreadFields* unread) {
  if (content == nullptr || content->is_null()) return std::string();
  if (const std::string* text = content->AsString()) return *text;
  const Json::Array* parts = content->AsArray();
  if (parts == nullptr) return WrongField(path, "a text or a list of parts", *content);
  std::string text;
  for (std::size_t i = 0; i < parts->size(); ++i) {
    const std::string part_path = fmt::format("{}[{}]", path, i);
    auto part = BITTERN_TRY(FieldReader::Open((*parts)[i], part_path, unread));
    std::string type, piece;
    BITTERN_TRY(part.Text("type", &type));
    constexpr std::array<std::string_view, 3> kText = {"text", "input_text", "output_text"};
    if (std::ranges::find(kText, type) == kText.end()) {
      return Fail(ErrorCode::kInvalidArgument,
                  fmt::format("{}.type: \"text\" expected (the model reads nothing else), \"{}\" "
                              "found",
                              part_path, type));
    }
    if (!part.Has("text")) {
      return Fail(ErrorCode::kInvalidArgument, part_path + ".text: a text expected, none found");
    }
    BITTERN_TRY(part.Text("text", &piece));
    part.Ignore({"annotations", "logprobs", "cache_control"});
    BITTERN_TRY(part.Finish());
    text += piece;
  }
  return text;
}

Result<Json::Array> ReadMessages(const std::string& path, const Json* given, UnreadFields* unread) {
  const Json::Array* list = given == nullptr ? nullptr : given->AsArray();
  if (list == nullptr || list->empty()) {
    return WrongField(path, "a list of one message or more", given == nullptr ? Json() : *given);
  }
  Json::Array messages;
  for (std::size_t i = 0; i < list->size(); ++i) {
    messages.push_back(
        BITTERN_TRY(ReadMessage(fmt::format("{}[{}]", path, i), (*list)[i], unread)));
  }
  return messages;
}

Json MessageOf(std::string_view role, std::string content) {
  return {{"role", role}, {"content", std::move(content)}};
}

namespace {

/// True if the conversation ends with the beginning of an answer.
bool EndsWithAnswer(const Json::Array& messages) {
  if (messages.empty()) return false;
  const Json& last = messages.back();
  return last["role"].text() == "assistant" && last["tool_calls"].is_null() &&
         !last["content"].text().empty();
}

}  // namespace

/// ChatPrompt reads the messages from a member "messages" beside the request's other members.
Result<runtime::RenderedPrompt> RenderConversation(Json::Array messages, Json::Object more,
                                                   const Target& target) {
  if (target.chat == nullptr) return tl::unexpected(*target.why_no_chat);
  const bool told = std::ranges::any_of(more, [](const Json::Member& member) {
    return member.key == "continue_final_message" || member.key == "add_generation_prompt";
  });
  if (!told && EndsWithAnswer(messages)) more.push_back({"continue_final_message", Json(true)});
  more.push_back({"messages", Json(std::move(messages))});
  return target.chat->Apply(Json(std::move(more)), target.tokenizer(), target.context_length);
}

/// Members that are for the template, as vLLM names them.
Result<Json::Object> ReadTemplateFields(FieldReader* fields) {
  Json::Object more;
  for (const char* const key :
       {"add_generation_prompt", "continue_final_message", "chat_template_kwargs"}) {
    if (const Json* value = fields->Take(key)) more.push_back({key, *value});
  }
  return more;
}

}  // namespace bittern::request
