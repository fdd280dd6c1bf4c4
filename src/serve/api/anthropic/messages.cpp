// SPDX-License-Identifier: Apache-2.0
// Content blocks are opened and closed as text and calls come; the events of a stream and a
// whole answer are made from the same blocks.
#include "serve/api/anthropic/messages.hpp"

#include <limits>
#include <utility>

#include "serve/api/anthropic/errors.hpp"
#include "serve/api/anthropic/message_fields.hpp"
#include "serve/api/shared/json_text.hpp"
#include "serve/core/requests.hpp"

namespace bittern::serve {
namespace {

/// A server-sent event whose name is the object's "type", as Anthropic's clients expect.
std::string NamedEvent(const Json& json) {
  return "event: " + json["type"].text() + "\n" + Event(json);
}

/// Anthropic's "stop_reason" of an answer without calls.
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

/// The answer of /v1/messages: blocks of text ("text") and of calls ("tool_use"), counted by
/// blocks_. At most one block is open.
class MessagesShape : public AnswerShape {
 public:
  MessagesShape(const Service& service, const TextRequest& request)
      : model_(service.options().model_name),
        id_(NewId("msg_")),
        prompt_tokens_(request.prompts.front().size()),
        reading_(request.tools),
        stream_(request.tools) {}

  HttpReply Refusal(const ApiError& error) const override { return AnthropicError(error); }
  std::string Ping() const override { return NamedEvent({{"type", "ping"}}); }
  std::string Begin() override {
    Json message = Outline();
    message["content"] = Json::MakeArray();
    message["stop_reason"] = message["stop_sequence"] = nullptr;
    message["usage"] = {{"input_tokens", prompt_tokens_},
                        {"cache_creation_input_tokens", 0},
                        {"cache_read_input_tokens", 0},
                        {"output_tokens", 0}};
    const std::string text =
        NamedEvent({{"type", "message_start"}, {"message", std::move(message)}});
    // With tools the first block may be a call.
    return reading_.form == nullptr ? text + OpenBlock(TextBlock("")) : text;
  }
  std::string Piece(std::size_t, std::string_view text, const TokenList&) override {
    return Events(stream_.Feed(text));
  }
  /// Ends the stream: the open block, then "message_delta" with the reason and the usage, then
  /// "message_stop".
  std::string Finished(std::size_t, const Outcome& outcome, const TokenList&) override {
    std::string text = Events(stream_.Finish());
    Json delta = {{"type", "message_delta"}, {"delta", Json::MakeObject()}};
    AddStop(outcome.result, stream_.any_call(), &delta["delta"]);
    delta["usage"] = Usage(outcome);
    if (!outcome.receipt.empty()) delta["receipt"] = ReceiptJson(outcome);
    return text + CloseBlock() + NamedEvent(delta) + NamedEvent({{"type", "message_stop"}});
  }
  std::string End(std::span<const Outcome>) override { return {}; }
  std::string Broken(const ApiError& error) override {
    return "event: error\n" + AnswerShape::Broken(error);
  }
  std::string Whole(std::span<const Outcome> outcomes) override {
    const Outcome& outcome = outcomes.front();
    Json message = Outline();
    const ToolAnswerParts parts = ReadToolAnswer(reading_, outcome.result.text);
    message["content"] = Json::MakeArray();
    if (!parts.content.empty() || parts.calls.empty()) {
      message["content"].push_back(TextBlock(parts.content));
    }
    for (const FoundCall& call : parts.calls) {
      auto input = CallArguments(call);
      if (!input) {  // cut: it must not look like a call without arguments
        message["content"].push_back(TextBlock(CutCallText(call)));
        continue;
      }
      Json block = CallBlock(call.name);
      block["input"] = *std::move(input);
      message["content"].push_back(std::move(block));
    }
    AddStop(outcome.result, !parts.calls.empty(), &message);
    message["usage"] = Usage(outcome);
    if (!outcome.receipt.empty()) message["receipt"] = ReceiptJson(outcome);
    return Dump(message);
  }

 private:
  static std::string CutCallText(const FoundCall& call) {
    return R"({"name": ")" + call.name + R"(", "input": )" + call.arguments;
  }
  static Json TextBlock(std::string text) { return {{"type", "text"}, {"text", std::move(text)}}; }
  static Json CallBlock(const std::string& name) {
    return {{"type", "tool_use"},
            {"id", NewId("toolu_")},
            {"name", name},
            {"input", Json::MakeObject()}};
  }
  /// Begins a block, unless it would be text and text is open already.
  std::string OpenBlock(Json block) {
    const bool text = block["type"] == "text";
    if (open_ && text && open_text_) return {};
    std::string events = CloseBlock();
    open_ = true;
    open_text_ = text;
    return events + NamedEvent({{"type", "content_block_start"},
                                {"index", blocks_},
                                {"content_block", std::move(block)}});
  }
  /// Ends the open block; its number is used up.
  std::string CloseBlock() {
    if (!std::exchange(open_, false)) return {};
    return NamedEvent({{"type", "content_block_stop"}, {"index", blocks_++}});
  }
  std::string Delta(Json delta) const {
    return NamedEvent(
        {{"type", "content_block_delta"}, {"index", blocks_}, {"delta", std::move(delta)}});
  }
  /// Turns what the tool reader found into events of blocks.
  std::string Events(const std::vector<ToolEvent>& events) {
    std::string text;
    for (const ToolEvent& event : events) {
      if (event.kind == ToolEvent::Kind::kContent) {
        text += OpenBlock(TextBlock(""));
        text += Delta({{"type", "text_delta"}, {"text", event.text}});
      } else if (event.kind == ToolEvent::Kind::kStart) {
        text += OpenBlock(CallBlock(event.text));
      } else if (event.kind == ToolEvent::Kind::kArguments) {
        text += Delta({{"type", "input_json_delta"}, {"partial_json", event.text}});
      }
    }
    return text;
  }
  [[nodiscard]] Json Outline() const {
    return {{"id", id_}, {"type", "message"}, {"role", "assistant"}, {"model", model_}};
  }
  /// "tool_use" only where the calls are whole: a cut answer keeps the reason of the cut.
  static void AddStop(const runtime::GenerateResult& result, bool calls, Json* to) {
    const bool whole = result.finish == runtime::FinishReason::kEndOfText;
    (*to)["stop_reason"] = calls && whole ? "tool_use" : std::string(StopReason(result));
    (*to)["stop_sequence"] = nullptr;
    if (!result.stopping_word.empty()) (*to)["stop_sequence"] = result.stopping_word;
  }
  /// Anthropic counts cached tokens apart: "input_tokens" are those that had to be computed.
  static Json Usage(const Outcome& outcome) {
    const int cached = outcome.timings.cached_tokens;
    return {{"input_tokens", outcome.timings.prompt_tokens - cached},
            {"cache_creation_input_tokens", 0},
            {"cache_read_input_tokens", cached},
            {"output_tokens", outcome.predicted()}};
  }

  std::string model_, id_;
  std::size_t prompt_tokens_, blocks_ = 0;
  bool open_ = false, open_text_ = false;  // the last block
  ToolReading reading_;
  ToolStream stream_;
};

}  // namespace

/// POST /v1/messages. "max_tokens" is required, as with Anthropic.
Result<void> Messages(Service* service, const ApiRequest& request,
                      const std::shared_ptr<Exchange>& exchange) {
  const Json& body = request.body;
  TextRequest call{.options = service->options().defaults};
  auto fields = BITTERN_TRY(FieldReader::Open(body, {}, service->UnreadOf(&call)));
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
  BITTERN_TRY(ReadAnthropic(&fields, service->target(), &call));
  BITTERN_TRY(fields.Finish());
  auto shape = std::make_unique<MessagesShape>(*service, call);
  StartCall(service, std::move(call), std::move(shape), exchange);
  return {};
}

/// POST /v1/messages/count_tokens. Fields that draw tokens are not accepted here.
Result<void> CountMessageTokens(Service* service, const ApiRequest& request,
                                const std::shared_ptr<Exchange>& exchange) {
  const Json& body = request.body;
  TextRequest call;
  auto fields = BITTERN_TRY(FieldReader::Open(body, {}, service->UnreadOf(&call)));
  BITTERN_TRY(ReadAnthropic(&fields, service->counting_target(), &call));
  BITTERN_TRY(fields.Finish());
  exchange->Reply({.body = Dump({{"input_tokens", call.prompts.front().size()}})});
  return {};
}

}  // namespace bittern::serve
