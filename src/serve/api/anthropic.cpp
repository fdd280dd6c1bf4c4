// SPDX-License-Identifier: Apache-2.0
#include "serve/api/anthropic.hpp"

#include <algorithm>
#include <limits>

#include "serve/api/json_text.hpp"
#include "serve/api/request_fields.hpp"
#include "serve/core/field_reader.hpp"

namespace bittern::serve {
namespace {

std::string NamedEvent(const OrderedJson& json) {
  return "event: " + json["type"].get<std::string>() + "\n" + Event(json);
}

std::string_view StopReason(const runtime::GenerateResult& result) {
  switch (result.finish) {
    case runtime::FinishReason::kLength:
      return "max_tokens";
    case runtime::FinishReason::kContextFull:
      return "model_context_window_exceeded";
    case runtime::FinishReason::kStopString:
      return "stop_sequence";
    default:
      return "end_turn";
  }
}

class MessagesShape : public AnswerShape {
 public:
  MessagesShape(const Service& service, std::size_t prompt_tokens)
      : model_(service.options().model_name), id_(NewId("msg_")), prompt_tokens_(prompt_tokens) {}

  ErrorStyle error_style() const override { return ErrorStyle::kAnthropic; }
  std::string Ping() const override { return NamedEvent({{"type", "ping"}}); }
  std::string Begin() override {
    OrderedJson message = Outline();
    message["content"] = OrderedJson::array();
    message["stop_reason"] = message["stop_sequence"] = nullptr;
    message["usage"] = {{"input_tokens", prompt_tokens_}, {"output_tokens", 0}};
    return NamedEvent({{"type", "message_start"}, {"message", std::move(message)}}) +
           NamedEvent({{"type", "content_block_start"},
                       {"index", 0},
                       {"content_block", {{"type", "text"}, {"text", ""}}}});
  }
  std::string Piece(std::size_t, std::string_view text, const TokenList&) override {
    return NamedEvent({{"type", "content_block_delta"},
                       {"index", 0},
                       {"delta", {{"type", "text_delta"}, {"text", std::string(text)}}}});
  }
  std::string Finished(std::size_t, const Outcome& outcome, const TokenList&) override {
    OrderedJson delta = {{"type", "message_delta"}, {"delta", OrderedJson::object()}};
    AddStop(outcome.result, &delta["delta"]);
    delta["usage"] = Usage(outcome);
    if (!outcome.receipt.empty()) delta["receipt"] = ReceiptJson(outcome);
    return NamedEvent({{"type", "content_block_stop"}, {"index", 0}}) + NamedEvent(delta) +
           NamedEvent({{"type", "message_stop"}});
  }
  std::string End(std::span<const Outcome>) override { return {}; }
  std::string Broken(const Error& error) override {
    return "event: error\n" + AnswerShape::Broken(error);
  }
  std::string Whole(std::span<const Outcome> outcomes) override {
    const Outcome& outcome = outcomes.front();
    OrderedJson message = Outline();
    const OrderedJson block = {{"type", "text"}, {"text", outcome.result.text}};
    message["content"] = OrderedJson::array({block});
    AddStop(outcome.result, &message);
    message["usage"] = Usage(outcome);
    if (!outcome.receipt.empty()) message["receipt"] = ReceiptJson(outcome);
    return Dump(message);
  }

 private:
  [[nodiscard]] OrderedJson Outline() const {
    return {{"id", id_}, {"type", "message"}, {"role", "assistant"}, {"model", model_}};
  }
  static void AddStop(const runtime::GenerateResult& result, OrderedJson* to) {
    (*to)["stop_reason"] = std::string(StopReason(result));
    (*to)["stop_sequence"] = nullptr;
    if (!result.stopping_word.empty()) (*to)["stop_sequence"] = result.stopping_word;
  }
  static OrderedJson Usage(const Outcome& outcome) {
    const int cached = outcome.timings.cached_tokens;
    return {{"input_tokens", outcome.timings.prompt_tokens - cached},
            {"cache_creation_input_tokens", 0},
            {"cache_read_input_tokens", cached},
            {"output_tokens", outcome.predicted()}};
  }

  std::string model_, id_;
  std::size_t prompt_tokens_;
};

/// "system" and "messages" as a prompt.
Result<std::vector<TokenId>> ReadPromptOf(FieldReader* fields, const Service& service) {
  Json::Array messages;
  if (const Json* system = fields->Take("system")) {
    std::string text = BITTERN_TRY(ReadContent("system", system));
    if (!text.empty()) messages.push_back(MessageOf("system", std::move(text)));
  }
  auto turns = BITTERN_TRY(ReadMessages("messages", fields->Take("messages")));
  std::ranges::move(turns, std::back_inserter(messages));
  auto prompt = BITTERN_TRY(RenderConversation(std::move(messages), {}, service));
  return std::move(prompt.ids);
}

/// What cannot be done, and what makes no difference.
Result<void> ReadRest(FieldReader* fields) {
  BITTERN_TRY(fields->OnlyNeutral({"tools", "mcp_servers", "container", "output_config"}));
  if (const Json* thinking = fields->Take("thinking")) {
    const Json* type = thinking->Find("type");
    const bool off = type && type->AsString() && *type->AsString() == "disabled";
    if (!off) return WrongField("thinking", R"({"type": "disabled"})", *thinking);
  }
  if (const Json* choice = fields->Take("tool_choice")) {
    const Json* type = choice->Find("type");
    const bool none =
        type && type->AsString() && (*type->AsString() == "none" || *type->AsString() == "auto");
    if (!none) return WrongField("tool_choice", "none or auto (there are no tools)", *choice);
  }
  fields->Ignore({"model", "metadata", "service_tier", "cache_control"});
  return {};
}

}  // namespace

Result<void> Messages(Service* service, const HttpRequest& request,
                      const std::shared_ptr<Exchange>& exchange) {
  const Json body = BITTERN_TRY(ParseBody(request.body));
  auto fields = BITTERN_TRY(FieldReader::Open(body));
  CallRequest call;
  call.options = service->options().defaults;
  if (!fields.Has("max_tokens")) {
    return Fail(ErrorCode::kInvalidArgument, "max_tokens: a whole number expected, none found");
  }
  runtime::SamplerOptions* sampler = &call.options.sampler;
  constexpr int kMostInt = std::numeric_limits<int>::max();
  BITTERN_TRY(fields.Int("max_tokens", 1, kMostInt, &call.options.max_tokens));
  BITTERN_TRY(fields.Float("temperature", &sampler->temperature));
  BITTERN_TRY(fields.Float("top_p", &sampler->top_p, 0, 1));
  BITTERN_TRY(fields.Int("top_k", -1, kMostInt, &sampler->top_k));
  BITTERN_TRY(fields.Seed("seed", &sampler->seed));
  BITTERN_TRY(ReadStops(&fields, "stop_sequences", &call.options.stops));
  BITTERN_TRY(fields.Flag("stream", &call.stream));
  BITTERN_TRY(fields.Flag("receipt", &call.receipt));
  call.prompts.push_back(BITTERN_TRY(ReadPromptOf(&fields, *service)));
  BITTERN_TRY(ReadRest(&fields));
  BITTERN_TRY(fields.Finish());
  auto shape = std::make_unique<MessagesShape>(*service, call.prompts.front().size());
  StartCall(service, std::move(call), std::move(shape), exchange);
  return {};
}

Result<void> CountMessageTokens(Service* service, const HttpRequest& request,
                                const std::shared_ptr<Exchange>& exchange) {
  const Json body = BITTERN_TRY(ParseBody(request.body));
  auto fields = BITTERN_TRY(FieldReader::Open(body));
  const auto prompt = BITTERN_TRY(ReadPromptOf(&fields, *service));
  BITTERN_TRY(ReadRest(&fields));
  BITTERN_TRY(fields.Finish());
  exchange->Reply({.body = Dump({{"input_tokens", prompt.size()}})});
  return {};
}

}  // namespace bittern::serve
