// SPDX-License-Identifier: Apache-2.0
// Contents are texts or lists of parts; parts that are no text are refused by their type.
#include "request/message_fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "request/tool_fields.hpp"

namespace bittern::request {
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

/// ChatPrompt takes the messages as one member among those of the request.
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
