// SPDX-License-Identifier: Apache-2.0
// A chat answer and a text answer differ in names only: one shape serves both.
#include "serve/api/openai.hpp"

#include <ctime>

#include "serve/api/json_text.hpp"
#include "serve/api/request_fields.hpp"
#include "serve/core/field_reader.hpp"

namespace bittern::serve {
namespace {

/// What a request says beside how tokens are drawn.
struct OpenAiRequest {
  CallRequest call;
  bool include_usage = false;
};

class OpenAiShape : public AnswerShape {
 public:
  OpenAiShape(const Service& service, bool chat, const OpenAiRequest& request)
      : model_(service.options().model_name),
        fingerprint_(service.fingerprint()),
        id_(NewId(chat ? "chatcmpl-" : "cmpl-")),
        created_(std::time(nullptr)),
        choices_(static_cast<std::size_t>(request.call.choices)),
        sequences_(choices_ * request.call.prompts.size()),
        chat_(chat),
        include_usage_(request.include_usage) {}

  std::string Begin() override {
    std::string text;
    for (std::size_t i = 0; chat_ && i < sequences_; ++i) {
      text += Chunk(i, {{"role", "assistant"}, {"content", ""}}, nullptr);
    }
    return text;
  }
  std::string Piece(std::size_t choice, std::string_view text) override {
    return Chunk(choice, {{"content", std::string(text)}}, nullptr);
  }
  std::string Finished(std::size_t choice, const Outcome& outcome) override {
    return Chunk(choice, OrderedJson::object(), OpenAiFinish(outcome.result.finish));
  }
  std::string End(std::span<const Outcome> outcomes) override {
    std::string text;
    if (include_usage_) {
      OrderedJson chunk = Outline(true);
      chunk["choices"] = OrderedJson::array();
      AddUsage(outcomes, &chunk);
      text = Event(chunk);
    }
    return text + "data: [DONE]\n\n";
  }
  std::string Whole(std::span<const Outcome> outcomes) override;

 private:
  [[nodiscard]] OrderedJson Outline(bool chunk) const {
    const char* const object = !chat_  ? "text_completion"
                               : chunk ? "chat.completion.chunk"
                                       : "chat.completion";
    return {{"id", id_},
            {"object", object},
            {"created", created_},
            {"model", model_},
            {"system_fingerprint", fingerprint_}};
  }
  [[nodiscard]] std::string Chunk(std::size_t choice, OrderedJson delta, OrderedJson finish) const {
    OrderedJson part = {{"index", choice}};
    if (chat_) {
      part["delta"] = std::move(delta);
    } else {
      part["text"] = delta.value("content", "");
    }
    part["logprobs"] = nullptr;
    part["finish_reason"] = std::move(finish);
    OrderedJson chunk = Outline(true);
    chunk["choices"] = OrderedJson::array({std::move(part)});
    return Event(chunk);
  }
  void AddUsage(std::span<const Outcome> outcomes, OrderedJson* to) const {
    (*to)["usage"] = UsageJson(outcomes, choices_);
    if (outcomes.size() == 1) (*to)["timings"] = TimingsJson(outcomes.front());
  }

  std::string model_, fingerprint_, id_;
  std::time_t created_;
  std::size_t choices_, sequences_;
  bool chat_, include_usage_;
};

std::string OpenAiShape::Whole(std::span<const Outcome> outcomes) {
  OrderedJson answer = Outline(false);
  answer["choices"] = OrderedJson::array();
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const runtime::GenerateResult& result = outcomes[i].result;
    OrderedJson choice = {{"index", i}};
    if (chat_) {
      choice["message"] = {{"role", "assistant"}, {"content", result.text}, {"refusal", nullptr}};
    } else {
      choice["text"] = result.text;
    }
    choice["logprobs"] = nullptr;
    choice["finish_reason"] = OpenAiFinish(result.finish);
    answer["choices"].push_back(std::move(choice));
  }
  AddUsage(outcomes, &answer);
  return Dump(answer);
}

/// Fields of both requests.
Result<void> ReadCommon(FieldReader* fields, OpenAiRequest* request) {
  BITTERN_TRY(ReadSampling(fields, &request->call.options));
  BITTERN_TRY(ReadChoices(fields, "n", &request->call.choices));
  BITTERN_TRY(fields->Flag("stream", &request->call.stream));
  if (const Json* given = fields->Take("stream_options")) {
    auto options = BITTERN_TRY(FieldReader::Open(*given, "stream_options"));
    BITTERN_TRY(options.Flag("include_usage", &request->include_usage));
    options.Ignore({"include_obfuscation"});
    BITTERN_TRY(options.Finish());
  }
  return {};
}

Result<OpenAiRequest> ReadChat(const Service& service, const Json& body) {
  auto fields = BITTERN_TRY(FieldReader::Open(body));
  OpenAiRequest request;
  request.call.options = service.options().defaults;
  BITTERN_TRY(ReadCommon(&fields, &request));
  auto prompt = BITTERN_TRY(ReadConversation(&fields, service));
  request.call.prompts.push_back(std::move(prompt.ids));
  BITTERN_TRY(fields.OnlyNeutral({"tools", "functions", "function_call", "logprobs", "top_logprobs",
                                  "audio", "prediction", "web_search_options", "reasoning_effort",
                                  "verbosity"}));
  for (const char* const key : {"tool_choice", "response_format", "modalities"}) {
    const Json* value = fields.Take(key);
    if (value == nullptr) continue;
    const Json* type = value->Find("type");
    const std::string* word = value->AsString();
    if (type != nullptr) word = type->AsString();
    const bool usual = word != nullptr && (*word == "none" || *word == "auto" || *word == "text");
    if (!usual) return WrongField(key, "nothing else than the usual (not supported)", *value);
  }
  fields.Ignore({"parallel_tool_calls", "reasoning_format", "parse_tool_calls"});
  BITTERN_TRY(fields.Finish());
  return request;
}

Result<OpenAiRequest> ReadCompletion(const Service& service, const Json& body) {
  auto fields = BITTERN_TRY(FieldReader::Open(body));
  OpenAiRequest request;
  request.call.options = service.options().defaults;
  BITTERN_TRY(ReadCommon(&fields, &request));
  const Json* prompt = fields.Take("prompt");
  if (prompt == nullptr) {
    return Fail(ErrorCode::kInvalidArgument, "prompt: a text or token ids expected, none found");
  }
  request.call.prompts = BITTERN_TRY(ReadPrompts("prompt", *prompt, service.tokenizer()));
  BITTERN_TRY(fields.OnlyNeutral({"suffix", "echo", "logprobs"}));
  BITTERN_TRY(fields.OnlyNeutral({"best_of"}, 1));
  BITTERN_TRY(fields.Finish());
  return request;
}

}  // namespace

Result<void> ChatCompletions(Service* service, const HttpRequest& request,
                             const std::shared_ptr<Exchange>& exchange) {
  const Json body = BITTERN_TRY(ParseBody(request.body));
  OpenAiRequest read = BITTERN_TRY(ReadChat(*service, body));
  auto shape = std::make_unique<OpenAiShape>(*service, true, read);
  StartCall(service, std::move(read.call), std::move(shape), exchange);
  return {};
}

Result<void> Completions(Service* service, const HttpRequest& request,
                         const std::shared_ptr<Exchange>& exchange) {
  const Json body = BITTERN_TRY(ParseBody(request.body));
  OpenAiRequest read = BITTERN_TRY(ReadCompletion(*service, body));
  auto shape = std::make_unique<OpenAiShape>(*service, false, read);
  StartCall(service, std::move(read.call), std::move(shape), exchange);
  return {};
}

Result<void> ChatInputTokens(Service* service, const HttpRequest& request,
                             const std::shared_ptr<Exchange>& exchange) {
  const Json body = BITTERN_TRY(ParseBody(request.body));
  const OpenAiRequest read = BITTERN_TRY(ReadChat(*service, body));
  exchange->Reply({.body = Dump({{"object", "response.input_tokens"},
                                 {"input_tokens", read.call.prompts.front().size()}})});
  return {};
}

}  // namespace bittern::serve
