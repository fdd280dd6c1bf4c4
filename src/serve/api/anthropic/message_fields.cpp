// SPDX-License-Identifier: Apache-2.0
// Blocks become messages in OpenAI's form, which templates know: calls of an assistant's turn lie
// beside its text, and each result is a turn of its own.
#include "serve/api/anthropic/message_fields.hpp"

#include <fmt/format.h>

#include <utility>

#include "base/json/json.hpp"
#include "serve/core/requests.hpp"

namespace bittern::serve {
namespace {

/// The blocks of one message, taken apart.
struct Blocks {
  Json::Array text = {}, calls = {}, results = {};
};

/// {"type": "tool_use", "id", "name", "input"}: a call that the model made earlier.
Result<void> ReadCallBlock(FieldReader* block, Blocks* blocks) {
  std::string id, name;
  BITTERN_TRY(block->Text("id", &id));
  BITTERN_TRY(block->Text("name", &name));
  const Json* input = block->Take("input");
  const Json arguments = input == nullptr ? Json::MakeObject() : *input;
  if (arguments.AsObject() == nullptr) {
    return WrongField(block->PathOf("input"), "an object", arguments);
  }
  if (name.empty()) return WrongField(block->PathOf("name"), "a name", Json(name));
  Json::Object function = {{"name", Json(name)}, {"arguments", arguments}};
  Json::Object call = {
      {"id", Json(id)}, {"type", Json("function")}, {"function", Json(std::move(function))}};
  blocks->calls.push_back(Json(std::move(call)));
  return {};
}

/// {"type": "tool_result", "tool_use_id", "content"}. "is_error" has no place in a template.
Result<void> ReadResultBlock(FieldReader* block, Blocks* blocks) {
  std::string id;
  BITTERN_TRY(block->Text("tool_use_id", &id));
  std::string text =
      BITTERN_TRY(ReadContent(block->PathOf("content"), block->Take("content"), block->unread()));
  block->Ignore({"is_error"});
  Json::Object result = {
      {"role", Json("tool")}, {"content", Json(std::move(text))}, {"tool_call_id", Json(id)}};
  blocks->results.push_back(Json(std::move(result)));
  return {};
}

/// Sorts one block. A block that is neither a call nor a result counts as text; ReadMessages
/// checks it later.
Result<void> ReadBlock(const std::string& path, const Json& given, UnreadFields* unread,
                       Blocks* blocks) {
  const Json* type = given.Find("type");
  const std::string* name = type == nullptr ? nullptr : type->AsString();
  const bool call = name != nullptr && *name == "tool_use";
  if (!call && (name == nullptr || *name != "tool_result")) {
    blocks->text.push_back(given);
    return {};
  }
  auto block = BITTERN_TRY(FieldReader::Open(given, path, unread));
  block.Ignore({"type", "cache_control", "caller"});
  BITTERN_TRY(call ? ReadCallBlock(&block, blocks) : ReadResultBlock(&block, blocks));
  return block.Finish();
}

/// A message with blocks of calls and results as several plain ones.
Result<void> AddMessage(const std::string& path, const Json& given, UnreadFields* unread,
                        Json::Array* messages) {
  const Json* content = given.Find("content");
  const Json::Array* list = content == nullptr ? nullptr : content->AsArray();
  if (list == nullptr) {
    messages->push_back(given);
    return {};
  }
  Blocks blocks;
  for (std::size_t i = 0; i < list->size(); ++i) {
    BITTERN_TRY(ReadBlock(fmt::format("{}.content[{}]", path, i), (*list)[i], unread, &blocks));
  }
  for (Json& result : blocks.results) messages->push_back(std::move(result));
  if (blocks.text.empty() && blocks.calls.empty() && !blocks.results.empty()) return {};
  Json::Object message = *given.AsObject();
  for (Json::Member& member : message) {
    if (member.key == "content") member.value = Json(Json::Value(std::move(blocks.text)));
  }
  if (!blocks.calls.empty()) {
    message.push_back({"tool_calls", Json(Json::Value(std::move(blocks.calls)))});
  }
  messages->push_back(Json(std::move(message)));
  return {};
}

/// "system" and "messages".
Result<Json::Array> ReadTurns(FieldReader* fields) {
  Json::Array messages, turns;
  if (const Json* system = fields->Take("system")) {
    std::string text = BITTERN_TRY(ReadContent("system", system, fields->unread()));
    if (!text.empty()) messages.push_back(MessageOf("system", std::move(text)));
  }
  const Json* given = fields->Take("messages");
  if (given != nullptr && given->AsArray() != nullptr) {
    for (std::size_t i = 0; i < given->AsArray()->size(); ++i) {
      const Json& turn = (*given->AsArray())[i];
      BITTERN_TRY(AddMessage(fmt::format("messages[{}]", i), turn, fields->unread(), &turns));
    }
  }
  const Json list =
      given == nullptr || given->AsArray() == nullptr ? Json() : Json(std::move(turns));
  auto read =
      BITTERN_TRY(ReadMessages("messages", given == nullptr ? nullptr : &list, fields->unread()));
  for (Json& message : read) messages.push_back(std::move(message));
  return messages;
}

/// {"type": "auto" | "any" | "tool" | "none"}. "any" means that some tool must be called.
Result<void> ReadToolChoice(const FieldReader& fields, const Json& given, ToolRequest* request) {
  auto choice = BITTERN_TRY(fields.Inside(given, "tool_choice"));
  std::string type, name;
  bool single = false;
  BITTERN_TRY(choice.Text("type", &type));
  BITTERN_TRY(choice.Text("name", &name));
  BITTERN_TRY(choice.Flag("disable_parallel_tool_use", &single));
  BITTERN_TRY(choice.Finish());
  request->parallel = !single;
  if (type == "tool") return ChooseTool("tool_choice.name", name, request);
  if (type == "none") request->choice = ToolRequest::Choice::kNone;
  if (type == "any") request->choice = ToolRequest::Choice::kRequired;
  if (type != "none" && type != "any" && type != "auto") {
    return WrongField("tool_choice.type", "auto, any, tool or none", Json(type));
  }
  if (type == "any" && request->tools.empty()) {
    return Fail(ErrorCode::kInvalidArgument, "tool_choice: there are no tools");
  }
  return {};
}

/// "tools" and "tool_choice". Only tools that the client runs itself ("custom") can be served.
Result<ToolRequest> ReadAnthropicTools(FieldReader* fields) {
  ToolRequest request;
  const Json* tools = fields->Take("tools");
  if (tools != nullptr && (!tools->AsArray() || tools->AsArray()->size() > kMostTools)) {
    return WrongField("tools", fmt::format("a list of {} at most", kMostTools), *tools);
  }
  for (std::size_t i = 0; tools != nullptr && i < tools->AsArray()->size(); ++i) {
    auto tool = BITTERN_TRY(fields->Inside((*tools->AsArray())[i], fmt::format("tools[{}]", i)));
    std::string type = "custom", name, description;
    BITTERN_TRY(tool.Text("type", &type));
    BITTERN_TRY(tool.Text("name", &name));
    BITTERN_TRY(tool.Text("description", &description));
    const Json* schema = tool.Take("input_schema");
    tool.Ignore({"cache_control", "strict"});
    BITTERN_TRY(tool.Finish());
    if (type != "custom" && fields->unread() != nullptr) {  // tools of Anthropic's own servers
      NoteUnread(fields->unread(), fmt::format("tools[{}]", i));
      continue;
    }
    if (type != "custom") return WrongField(tool.PathOf("type"), "\"custom\"", Json(type));
    BITTERN_TRY(AddTool(tool.PathOf("name"), tool.PathOf("input_schema"), name, description, schema,
                        &request));
  }
  if (const Json* choice = fields->Take("tool_choice")) {
    BITTERN_TRY(ReadToolChoice(*fields, *choice, &request));
  }
  return request;
}

/// "output_config": a JSON schema for the answer.
Result<void> ReadOutputConfig(FieldReader* fields, const request::Target& target,
                              OptionalConstraint* constraint) {
  const Json* given = fields->Take("output_config");
  if (given == nullptr) return {};
  auto config = BITTERN_TRY(fields->Inside(*given, "output_config"));
  config.Ignore({"effort"});
  if (const Json* format = config.Take("format")) {
    *constraint = BITTERN_TRY(ReadFormat("output_config.format", *format, false));
    if (*constraint) {
      BITTERN_TRY(CheckConstraint("output_config.format", *target.model, **constraint));
    }
  }
  return config.Finish();
}

/// "thread" asks for a conversation that the server keeps. Reading over it would lose all turns but
/// the last; the error makes Anthropic's SDK send all of them (errors.cpp).
Result<void> ReadThread(FieldReader* fields) {
  const Json* thread = fields->Take("thread");
  if (thread == nullptr || thread->is_null()) return {};
  return Fail(ErrorCode::kInvalidArgument,
              "thread: conversations are not stored here; send all messages without it");
}

}  // namespace

/// "output_config" is read first: RenderWithTools refuses tools beside a constraint.
Result<void> ReadAnthropic(FieldReader* fields, const request::Target& target,
                           TextRequest* request) {
  BITTERN_TRY(ReadThread(fields));
  BITTERN_TRY(ReadOutputConfig(fields, target, &request->options.constraint));
  const ToolRequest tools = BITTERN_TRY(ReadAnthropicTools(fields));
  auto messages = BITTERN_TRY(ReadTurns(fields));
  auto prompt = BITTERN_TRY(RenderWithTools(std::move(messages), {}, tools, target, request));
  request->prompts.push_back(std::move(prompt.ids));
  BITTERN_TRY(fields->OnlyNeutral({"mcp_servers", "container"}));
  if (const Json* thinking = fields->Take("thinking")) {
    const Json* type = thinking->Find("type");
    const bool off = type && type->AsString() && *type->AsString() == "disabled";
    if (!off) return WrongField("thinking", R"({"type": "disabled"})", *thinking);
  }
  fields->Ignore({"model", "metadata", "service_tier", "cache_control"});
  return {};
}

}  // namespace bittern::serve
