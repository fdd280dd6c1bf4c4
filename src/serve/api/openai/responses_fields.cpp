// SPDX-License-Identifier: Apache-2.0
// The input's items become messages and tool results, then the same request as for chat.
#include "serve/api/openai/responses_fields.hpp"

#include <fmt/format.h>

#include <limits>
#include <utility>

#include "grammar/notation/json_text.hpp"
#include "serve/core/requests.hpp"

namespace bittern::serve {
namespace {

/// A field of the request as the answer repeats it, with OpenAI's default where it is missing.
Json Repeated(const Json* value, Json otherwise) {
  return value == nullptr ? std::move(otherwise) : *value;
}

/// The input's items as messages. Calls in a row share one.
class Conversation {
 public:
  void AddMessage(Json message) {
    EndCalls();
    messages_.push_back(std::move(message));
  }
  void AddCall(Json call) { calls_.push_back(std::move(call)); }
  [[nodiscard]] Json::Array Take() {
    EndCalls();
    return std::move(messages_);
  }

 private:
  void EndCalls() {
    if (calls_.empty()) return;
    messages_.push_back(Json(Json::Object{{"role", Json("assistant")},
                                          {"content", Json("")},
                                          {"tool_calls", Json(std::exchange(calls_, {}))}}));
  }

  Json::Array messages_, calls_;
};

/// A call that the model made earlier.
Result<void> AddCall(FieldReader* item, Conversation* conversation) {
  std::string id, name, arguments;
  BITTERN_TRY(item->Text("call_id", &id));
  BITTERN_TRY(item->Text("name", &name));
  BITTERN_TRY(item->Text("arguments", &arguments));
  item->Ignore({"id", "status"});
  Json::Object function = {{"name", Json(name)}, {"arguments", Json(arguments)}};
  Json::Object call = {{"id", Json(id)}, {"function", Json(std::move(function))}};
  conversation->AddCall(Json(std::move(call)));
  return {};
}

/// A function_call_output item: a tool's result becomes a turn of its own.
Result<void> AddOutput(FieldReader* item, Conversation* conversation) {
  std::string id;
  BITTERN_TRY(item->Text("call_id", &id));
  std::string text =
      BITTERN_TRY(ReadContent(item->PathOf("output"), item->Take("output"), item->unread()));
  item->Ignore({"id", "status"});
  Json::Object message = {
      {"role", Json("tool")}, {"content", Json(std::move(text))}, {"tool_call_id", Json(id)}};
  conversation->AddMessage(Json(std::move(message)));
  return {};
}

/// One item of "input". An item without "type" is a message.
Result<void> AddItem(const std::string& path, const Json& given, UnreadFields* unread,
                     Conversation* conversation) {
  auto item = BITTERN_TRY(FieldReader::Open(given, path, unread));
  std::string type = "message";
  BITTERN_TRY(item.Text("type", &type));
  if (type == "function_call") {
    BITTERN_TRY(AddCall(&item, conversation));
  } else if (type == "function_call_output") {
    BITTERN_TRY(AddOutput(&item, conversation));
  } else if (type == "message") {
    Json::Object message;
    for (const char* const key : {"role", "content"}) {
      if (const Json* value = item.Take(key)) message.push_back({key, *value});
    }
    item.Ignore({"id", "status", "phase"});
    conversation->AddMessage(Json(std::move(message)));
  } else if (type == "reasoning" && unread != nullptr) {  // thoughts of an earlier answer
    NoteUnread(unread, path);
    return {};
  } else {
    return WrongField(item.PathOf("type"), "message, function_call or function_call_output",
                      Json(type));
  }
  return item.Finish();
}

/// "instructions" and "input".
Result<Json::Array> ReadInput(FieldReader* fields) {
  Conversation conversation;
  std::string instructions;
  BITTERN_TRY(fields->Text("instructions", &instructions));
  if (!instructions.empty()) conversation.AddMessage(MessageOf("system", instructions));
  const Json* input = fields->Take("input");
  if (input != nullptr && input->AsString() != nullptr) {
    conversation.AddMessage(MessageOf("user", *input->AsString()));
    return conversation.Take();
  }
  if (input == nullptr || input->AsArray() == nullptr || input->AsArray()->empty()) {
    return WrongField("input", "a text or a list of items", input ? *input : Json());
  }
  const Json::Array& items = *input->AsArray();
  for (std::size_t i = 0; i < items.size(); ++i) {
    BITTERN_TRY(AddItem(fmt::format("input[{}]", i), items[i], fields->unread(), &conversation));
  }
  const Json list(Json::Value(conversation.Take()));
  return ReadMessages("input", &list, fields->unread());
}

/// "text": its "format" may constrain the answer; "verbosity" has no effect here.
Result<void> ReadTextField(FieldReader* fields, const Service& service, ResponsesRequest* request) {
  const Json* given = fields->Take("text");
  request->told["text"] = Repeated(given, {{"format", {{"type", "text"}}}});
  if (given == nullptr) return {};
  auto text = BITTERN_TRY(fields->Inside(*given, "text"));
  text.Ignore({"verbosity"});
  const Json* format = text.Take("format");
  BITTERN_TRY(text.Finish());
  if (format == nullptr) return {};
  OptionalConstraint& constraint = request->call.options.constraint;
  constraint = BITTERN_TRY(ReadFormat("text.format", *format, false));
  if (!constraint) return {};
  return CheckConstraint("text.format", service.model(), *constraint);
}

/// Fields that need a memory of earlier answers, or that cut in silence.
Result<void> ReadUnstored(FieldReader* fields) {
  for (const char* const key : {"previous_response_id", "conversation"}) {
    if (fields->Take(key) == nullptr) continue;
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("{}: answers are not stored here; send the whole conversation as "
                            "\"input\"",
                            key));
  }
  std::string truncation = "disabled";
  BITTERN_TRY(fields->Text("truncation", &truncation));
  if (truncation == "auto" && fields->unread() != nullptr) {  // an input that fits is not cut
    NoteUnread(fields->unread(), "truncation");
  } else if (truncation != "disabled") {
    return WrongField("truncation", "\"disabled\" (nothing is cut)", Json(truncation));
  }
  return fields->OnlyNeutral({"background", "prompt", "max_tool_calls"});
}

}  // namespace

/// The fields that the answer repeats are copied into `told` before any is changed. Take marks a
/// field as read but leaves it in the body, so the readers below find it again.
Result<ResponsesRequest> ReadResponses(const Service& service, const request::Target& target,
                                       const Json& body) {
  ResponsesRequest request;
  TextRequest& call = request.call;
  auto fields = BITTERN_TRY(FieldReader::Open(body, {}, service.UnreadOf(&call)));
  call.options = service.options().defaults;
  BITTERN_TRY(ReadUnstored(&fields));
  for (const char* const key :
       {"instructions", "max_output_tokens", "temperature", "top_p", "metadata", "user"}) {
    const Json* value = fields.Take(key);
    request.told[key] =
        Repeated(value, key == std::string_view("metadata") ? Json::MakeObject() : Json());
  }
  request.told["tools"] = Repeated(fields.Take("tools"), Json::MakeArray());
  request.told["tool_choice"] = Repeated(fields.Take("tool_choice"), "auto");
  request.told["parallel_tool_calls"] = Repeated(fields.Take("parallel_tool_calls"), true);
  BITTERN_TRY(ReadSampling(&fields, target, &call));
  BITTERN_TRY(fields.Int("max_output_tokens", 1, std::numeric_limits<int>::max(),
                         &call.options.max_tokens));
  BITTERN_TRY(fields.Flag("stream", &call.stream));
  BITTERN_TRY(ReadTelemetry(&fields, &call.telemetry));
  int top = -1;
  BITTERN_TRY(fields.Int("top_logprobs", 0, kMostLogprobs, &top));
  if (top > 0) call.options.logprobs = top;
  BITTERN_TRY(ReadTextField(&fields, service, &request));
  const ToolRequest tools = BITTERN_TRY(ReadTools(&fields));
  auto messages = BITTERN_TRY(ReadInput(&fields));
  auto more = BITTERN_TRY(ReadTemplateFields(&fields));
  auto prompt =
      BITTERN_TRY(RenderWithTools(std::move(messages), std::move(more), tools, target, &call));
  call.prompts.push_back(std::move(prompt.ids));
  fields.Ignore({"include", "reasoning", "stream_options", "client_metadata"});
  BITTERN_TRY(fields.Finish());
  return request;
}

}  // namespace bittern::serve
