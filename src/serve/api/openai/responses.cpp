// SPDX-License-Identifier: Apache-2.0
// An answer is a list of items: a message, and calls of functions. A stream tells of each item as
// it begins, grows and ends, with the events that OpenAI's client waits for.
#include "serve/api/openai/responses.hpp"

#include <ctime>
#include <utility>

#include "serve/api/openai/errors.hpp"
#include "serve/api/openai/responses_fields.hpp"
#include "serve/api/shared/json_text.hpp"
#include "serve/api/shared/telemetry.hpp"

namespace bittern::serve {
namespace {

/// The answer of /v1/responses. A whole answer runs through the same events as a stream and keeps
/// only the items that they leave behind, so the two cannot differ.
class ResponsesShape : public AnswerShape {
 public:
  ResponsesShape(const Service& service, const ResponsesRequest& request)
      : tokenizer_(service.tokenizer()),
        model_(service.options().model_name),
        id_(NewId("resp_")),
        created_(std::time(nullptr)),
        told_(request.told),
        reading_(request.call.tools),
        stream_(request.call.tools),
        telemetry_(request.call.telemetry, 1),
        logprobs_(request.call.options.logprobs >= 0) {}

  HttpReply Refusal(const ApiError& error) const override { return OpenAiError(error); }
  /// The two events that come before any item.
  std::string Begin() override {
    const Json response = Response("in_progress");
    return Named("response.created", {{"response", response}}) +
           Named("response.in_progress", {{"response", response}});
  }
  std::string Progress(std::size_t choice, const runtime::SequenceTimings& so_far) override {
    const auto progress = telemetry_.Note(choice, so_far);
    if (!progress) return {};
    Json members = {{"response", Response("in_progress")}, {"prompt_progress", *progress}};
    telemetry_.AddTimings(choice, &members);
    return Named("response.in_progress", std::move(members));
  }
  std::string Piece(std::size_t, std::string_view text, const TokenList& tokens) override {
    Carry(tokens);
    return Events(stream_.Feed(text));
  }
  /// Closes the open item and sends the whole response. An answer without text still has a message.
  std::string Finished(std::size_t, const Outcome& outcome, const TokenList& tokens) override {
    Carry(tokens);
    std::string text = Events(stream_.Finish());
    const bool whole = IsWhole(outcome);
    if (items_.empty()) text += OpenMessage();
    text += CloseItem(whole);
    Json response = Response(whole ? "completed" : "incomplete");
    AddEnd(outcome, &response);
    Json members = {{"response", std::move(response)}};
    telemetry_.AddTimings(0, &members);
    if (members.contains("timings")) members["timings"] = TimingsJson(outcome);
    return text + Named(whole ? "response.completed" : "response.incomplete", std::move(members));
  }
  std::string End(std::span<const Outcome>) override { return {}; }
  /// An "error" event ends the stream.
  std::string Broken(const ApiError& error) override {
    return Named("error",
                 {{"code", "server_error"}, {"message", error.message}, {"param", nullptr}});
  }
  std::string Whole(std::span<const Outcome> outcomes) override {
    const Outcome& outcome = outcomes.front();
    const bool whole = IsWhole(outcome);
    Carry(outcome.result.logprobs);
    Events(stream_.Feed(outcome.result.text));
    Events(stream_.Finish());
    if (items_.empty()) OpenMessage();
    CloseItem(whole);
    Json response = Response(whole ? "completed" : "incomplete");
    AddEnd(outcome, &response);
    return Dump(response);
  }

 private:
  /// False: a limit cut the answer; its status is "incomplete".
  static bool IsWhole(const Outcome& outcome) {
    return OpenAiFinish(outcome.result.finish) != "length";
  }
  /// An event with its name as "type". "sequence_number" counts all events of the stream from 0.
  [[nodiscard]] std::string Named(const std::string& type, Json members) {
    Json json = {{"type", type}, {"sequence_number", sequence_++}};
    json.Update(std::move(members));
    return "event: " + type + "\n" + Event(json);
  }
  /// Keeps tokens until the next event with text tells them.
  void Carry(const TokenList& tokens) {
    if (!logprobs_) return;
    const Json list = LogprobsJson(tokens, tokenizer_);
    for (const Json& token : list.elements()) carried_.push_back(token);
  }
  /// The response object as it stands: with the items so far, and the request's fields (told_).
  [[nodiscard]] Json Response(std::string_view status) const {
    Json json = {{"id", id_},
                 {"object", "response"},
                 {"created_at", created_},
                 {"status", std::string(status)},
                 {"background", false},
                 {"error", nullptr},
                 {"incomplete_details", nullptr},
                 {"model", model_},
                 {"output", items_},
                 {"previous_response_id", nullptr},
                 {"reasoning", {{"effort", nullptr}, {"summary", nullptr}}},
                 {"store", false},
                 {"truncation", "disabled"},
                 {"usage", nullptr}};
    json.Update(told_);
    return json;
  }
  /// Adds the fields that are known at the end only: "usage" and the reason of a cut.
  static void AddEnd(const Outcome& outcome, Json* response) {
    if (!IsWhole(outcome)) (*response)["incomplete_details"]["reason"] = "max_output_tokens";
    const int prompt = outcome.timings.prompt_tokens;
    (*response)["usage"] = {
        {"input_tokens", prompt},
        {"input_tokens_details", {{"cached_tokens", outcome.timings.cached_tokens}}},
        {"output_tokens", outcome.predicted()},
        {"output_tokens_details", {{"reasoning_tokens", 0}}},
        {"total_tokens", prompt + outcome.predicted()}};
    (*response)["timings"] = TimingsJson(outcome);
    if (!outcome.receipt.empty()) (*response)["receipt"] = ReceiptJson(outcome);
  }

  std::string OpenMessage();
  std::string OpenCall(const std::string& name);
  std::string CloseItem(bool whole);
  std::string Events(const std::vector<ToolEvent>& events);
  /// An event about the item that is open.
  std::string ItemEvent(const std::string& type, Json members) {
    Json json = {{"item_id", items_.back()["id"]}, {"output_index", items_.size() - 1}};
    if (items_.back()["type"] == "message") json["content_index"] = 0;
    json.Update(std::move(members));
    return Named(type, std::move(json));
  }
  /// Adds an item to "output". It stays open until CloseItem.
  std::string OpenItem(Json item) {
    items_.push_back(item);
    open_ = true;
    return Named("response.output_item.added",
                 {{"output_index", items_.size() - 1}, {"item", std::move(item)}});
  }

  const tokenizer::Tokenizer& tokenizer_;
  std::string model_, id_;
  std::time_t created_;
  Json told_;
  ToolReading reading_;
  ToolStream stream_;
  Telemetry telemetry_;
  Json::Array items_;
  Json carried_ = Json::MakeArray();  // tokens that no event has told
  std::uint64_t sequence_ = 0;
  bool open_ = false;  // the last item is not whole
  bool logprobs_;
};

/// The one content part of a message.
Json TextPart(std::string text, Json logprobs) {
  return {{"type", "output_text"},
          {"text", std::move(text)},
          {"annotations", Json::MakeArray()},
          {"logprobs", std::move(logprobs)}};
}

/// Opens a message with one text part, unless one is open. Closes a call before it.
std::string ResponsesShape::OpenMessage() {
  if (open_ && items_.back()["type"] == "message") return {};
  std::string text = CloseItem(true);
  text += OpenItem({{"id", NewId("msg_")},
                    {"type", "message"},
                    {"status", "in_progress"},
                    {"role", "assistant"},
                    {"content", Json::MakeArray()}});
  const Json part = TextPart("", Json::MakeArray());
  items_.back()["content"].push_back(part);
  return text + ItemEvent("response.content_part.added", {{"part", part}});
}

/// Opens a function_call item. "call_id" is the name by which the client's result refers to it.
std::string ResponsesShape::OpenCall(const std::string& name) {
  std::string text = CloseItem(true);
  return text + OpenItem({{"id", NewId("fc_")},
                          {"type", "function_call"},
                          {"status", "in_progress"},
                          {"call_id", NewId("call_")},
                          {"name", name},
                          {"arguments", ""}});
}

/// Ends the open item, if there is one: its parts first, then the item. `whole`: not cut.
std::string ResponsesShape::CloseItem(bool whole) {
  if (!std::exchange(open_, false)) return {};
  Json& item = items_.back();
  item["status"] = whole ? "completed" : "incomplete";
  std::string text;
  if (item["type"] == "message") {
    const Json part = item["content"][0];
    text = ItemEvent("response.output_text.done",
                     {{"text", part["text"]}, {"logprobs", part["logprobs"]}}) +
           ItemEvent("response.content_part.done", {{"part", part}});
  } else {
    text = ItemEvent("response.function_call_arguments.done",
                     {{"name", item["name"]}, {"arguments", item["arguments"]}});
  }
  return text +
         Named("response.output_item.done", {{"output_index", items_.size() - 1}, {"item", item}});
}

/// Turns events of the tool reader into events of the API and grows the items with them.
std::string ResponsesShape::Events(const std::vector<ToolEvent>& events) {
  std::string text;
  for (const ToolEvent& event : events) {
    if (event.kind == ToolEvent::Kind::kStart) {
      text += OpenCall(event.text);
    } else if (event.kind == ToolEvent::Kind::kArguments) {
      Json& arguments = items_.back()["arguments"];
      arguments = arguments.text() + event.text;
      text += ItemEvent("response.function_call_arguments.delta", {{"delta", event.text}});
    } else if (event.kind == ToolEvent::Kind::kContent) {
      text += OpenMessage();
      Json& part = items_.back()["content"][0];
      part["text"] = part["text"].text() + event.text;
      Json tokens = std::exchange(carried_, Json::MakeArray());
      for (const Json& token : tokens.elements()) part["logprobs"].push_back(token);
      Json members = {{"delta", event.text}, {"logprobs", std::move(tokens)}};
      telemetry_.AddTimings(0, &members);
      text += ItemEvent("response.output_text.delta", std::move(members));
    }
  }
  return text;
}

}  // namespace

/// POST /v1/responses.
Result<void> Responses(Service* service, const ApiRequest& request,
                       const std::shared_ptr<Exchange>& exchange) {
  const Json& body = request.body;
  ResponsesRequest read = BITTERN_TRY(ReadResponses(*service, service->target(), body));
  auto shape = std::make_unique<ResponsesShape>(*service, read);
  StartCall(service, std::move(read.call), std::move(shape), exchange);
  return {};
}

/// POST /v1/responses/input_tokens.
Result<void> ResponseInputTokens(Service* service, const ApiRequest& request,
                                 const std::shared_ptr<Exchange>& exchange) {
  const Json& body = request.body;
  const ResponsesRequest read =
      BITTERN_TRY(ReadResponses(*service, service->counting_target(), body));
  exchange->Reply({.body = Dump({{"object", "response.input_tokens"},
                                 {"input_tokens", read.call.prompts.front().size()}})});
  return {};
}

}  // namespace bittern::serve
