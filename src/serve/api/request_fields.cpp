// SPDX-License-Identifier: Apache-2.0
#include "serve/api/request_fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "serve/api/tools.hpp"
#include "serve/core/constraint_fields.hpp"

namespace bittern::serve {
namespace {

constexpr std::int64_t kMostInt = std::numeric_limits<int>::max();

/// A message as templates expect it.
Result<Json> ReadMessage(const std::string& path, const Json& given) {
  constexpr std::array<std::string_view, 6> kRoles = {"system",    "developer", "user",
                                                      "assistant", "tool",      "function"};
  auto fields = BITTERN_TRY(FieldReader::Open(given, path));
  const Json* role = fields.Take("role");
  const bool known = role != nullptr && role->AsString() != nullptr &&
                     std::ranges::find(kRoles, *role->AsString()) != kRoles.end();
  if (!known) {
    return WrongField(fields.PathOf("role"), "system, developer, user, assistant or tool",
                      role == nullptr ? Json() : *role);
  }
  const Json* content = fields.Take("content");
  std::string text = BITTERN_TRY(ReadContent(fields.PathOf("content"), content));
  if (content == nullptr && *role->AsString() != "assistant") {
    return Fail(ErrorCode::kInvalidArgument,
                fields.PathOf("content") + ": a text expected, none found");
  }
  const bool developer = *role->AsString() == "developer";
  Json::Object message;
  message.push_back({"role", developer ? Json(Json::Value(std::string("system"))) : *role});
  message.push_back({"content", Json(Json::Value(std::move(text)))});
  if (const Json* calls = fields.Take("tool_calls");
      calls != nullptr && !(calls->AsArray() != nullptr && calls->AsArray()->empty())) {
    auto read = BITTERN_TRY(ReadToolCalls(fields.PathOf("tool_calls"), *calls));
    message.push_back({"tool_calls", std::move(read)});
  }
  for (const char* const key : {"name", "tool_call_id", "reasoning_content"}) {
    if (const Json* value = fields.Take(key)) message.push_back({key, *value});
  }
  if (const Json* name = fields.Take("tool_name")) message.push_back({"name", *name});
  fields.Ignore({"refusal", "annotations", "audio", "function_call", "thinking"});
  BITTERN_TRY(fields.OnlyNeutral({"images"}));
  BITTERN_TRY(fields.Finish());
  return Json(Json::Value(std::move(message)));
}

Result<void> AddIds(const std::string& path, const Json& value,
                    const tokenizer::Tokenizer& tokenizer, std::vector<TokenId>* ids) {
  if (const std::string* text = value.AsString()) {
    const auto more = tokenizer.Encode(*text, {.add_bos = ids->empty(), .parse_special = true});
    ids->insert(ids->end(), more.begin(), more.end());
    return {};
  }
  const auto id = value.AsUint();
  if (value.Find("prompt_string") != nullptr) {  // llama-server's way to send pictures with a text
    auto fields = BITTERN_TRY(FieldReader::Open(value, path));
    std::string text;
    BITTERN_TRY(fields.Text("prompt_string", &text));
    BITTERN_TRY(fields.OnlyNeutral({"multimodal_data"}));
    BITTERN_TRY(fields.Finish());
    const auto more = tokenizer.Encode(text, {.add_bos = ids->empty(), .parse_special = true});
    ids->insert(ids->end(), more.begin(), more.end());
    return {};
  }
  if (!id || *id > static_cast<std::uint64_t>(kMostInt)) {
    return WrongField(path, "a text or a token id", value);
  }
  ids->push_back(static_cast<TokenId>(*id));
  return {};
}

/// One prompt: a text, or a list of ids and texts.
Result<std::vector<TokenId>> ReadPrompt(const std::string& path, const Json& value,
                                        const tokenizer::Tokenizer& tokenizer) {
  std::vector<TokenId> ids;
  const Json::Array* parts = value.AsArray();
  if (parts == nullptr) {
    BITTERN_TRY(AddIds(path, value, tokenizer, &ids));
    return ids;
  }
  for (std::size_t i = 0; i < parts->size(); ++i) {
    BITTERN_TRY(AddIds(fmt::format("{}[{}]", path, i), (*parts)[i], tokenizer, &ids));
  }
  return ids;
}

}  // namespace

Result<std::string> ReadContent(const std::string& path, const Json* content) {
  if (content == nullptr || content->is_null()) return std::string();
  if (const std::string* text = content->AsString()) return *text;
  const Json::Array* parts = content->AsArray();
  if (parts == nullptr) return WrongField(path, "a text or a list of parts", *content);
  std::string text;
  for (std::size_t i = 0; i < parts->size(); ++i) {
    const std::string part_path = fmt::format("{}[{}]", path, i);
    auto part = BITTERN_TRY(FieldReader::Open((*parts)[i], part_path));
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

Result<void> ReadSampling(FieldReader* fields, const Service& service, CallRequest* call) {
  BITTERN_TRY(ReadOptions(fields, service.tokenizer(), &call->options));
  BITTERN_TRY(fields->Flag("receipt", &call->receipt));
  BITTERN_TRY(ReadConstraint(fields, service.model(), &call->options.constraint));
  BITTERN_TRY(fields->OnlyNeutral(
      {"grammar_lazy", "grammar_triggers", "preserved_tokens", "lora", "t_max_predict_ms"}));
  BITTERN_TRY(fields->Int("id_slot", -1, service.options().engine.max_sequences - 1, &call->slot));
  fields->Ignore({"cache_prompt", "n_keep", "n_discard", "n_cache_reuse", "backend_sampling",
                  "model", "user", "metadata", "store", "service_tier", "prompt_cache_key",
                  "prompt_cache_retention", "safety_identifier"});
  return {};
}

Result<TelemetryRequest> ReadTelemetry(FieldReader* fields, CallRequest* call) {
  TelemetryRequest wanted;
  BITTERN_TRY(fields->Flag("timings_per_token", &wanted.timings));
  BITTERN_TRY(fields->Flag("return_progress", &wanted.progress));
  call->progress = wanted.timings || wanted.progress;
  return wanted;
}

Result<void> ReadChoices(FieldReader* fields, std::string_view key, int* choices) {
  return fields->Int(key, 1, kMostChoices, choices);
}

Result<std::vector<std::vector<TokenId>>> ReadPrompts(const std::string& path, const Json& value,
                                                      const tokenizer::Tokenizer& tokenizer) {
  std::vector<std::vector<TokenId>> prompts;
  const Json::Array* list = value.AsArray();
  const auto is_id = [](const Json& part) { return part.AsNumber().has_value(); };
  if (list == nullptr || std::ranges::any_of(*list, is_id)) {
    prompts.push_back(BITTERN_TRY(ReadPrompt(path, value, tokenizer)));
    return prompts;
  }
  if (list->empty() || list->size() > static_cast<std::size_t>(kMostChoices)) {
    return Fail(ErrorCode::kInvalidArgument, fmt::format("{}: 1 to {} prompts expected, {} found",
                                                         path, kMostChoices, list->size()));
  }
  for (std::size_t i = 0; i < list->size(); ++i) {
    prompts.push_back(
        BITTERN_TRY(ReadPrompt(fmt::format("{}[{}]", path, i), (*list)[i], tokenizer)));
  }
  return prompts;
}

Result<Json::Array> ReadMessages(const std::string& path, const Json* given) {
  const Json::Array* list = given == nullptr ? nullptr : given->AsArray();
  if (list == nullptr || list->empty()) {
    return WrongField(path, "a list of messages", given == nullptr ? Json() : *given);
  }
  Json::Array messages;
  for (std::size_t i = 0; i < list->size(); ++i) {
    messages.push_back(BITTERN_TRY(ReadMessage(fmt::format("{}[{}]", path, i), (*list)[i])));
  }
  return messages;
}

Json TextJson(std::string text) { return Json(Json::Value(std::move(text))); }

Json MessageOf(std::string_view role, std::string content) {
  Json::Object message;
  message.push_back({"role", Json(Json::Value(std::string(role)))});
  message.push_back({"content", Json(Json::Value(std::move(content)))});
  return Json(Json::Value(std::move(message)));
}

Result<runtime::RenderedPrompt> RenderConversation(Json::Array messages, Json::Object more,
                                                   const Service& service) {
  if (service.chat() == nullptr) return tl::unexpected(service.why_no_chat());
  more.push_back({"messages", Json(Json::Value(std::move(messages)))});
  return service.chat()->Apply(Json(Json::Value(std::move(more))), service.tokenizer());
}

Result<Json::Object> ReadTemplateFields(FieldReader* fields) {
  Json::Object more;
  for (const char* const key :
       {"add_generation_prompt", "continue_final_message", "chat_template_kwargs"}) {
    if (const Json* value = fields->Take(key)) more.push_back({key, *value});
  }
  return more;
}

}  // namespace bittern::serve
