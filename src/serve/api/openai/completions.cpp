// SPDX-License-Identifier: Apache-2.0
// A chat answer and a text answer differ in names only: one shape serves both.
#include "serve/api/openai/completions.hpp"

#include <algorithm>
#include <ctime>
#include <optional>
#include <utility>

#include "base/utf8.hpp"
#include "serve/api/openai/echo.hpp"
#include "serve/api/openai/errors.hpp"
#include "serve/api/shared/json_text.hpp"
#include "serve/api/shared/native_answer.hpp"
#include "serve/api/shared/telemetry.hpp"
#include "serve/core/requests.hpp"

namespace bittern::serve {
namespace {

/// A request, and the prompts that its answer repeats.
struct OpenAiRequest {
  TextRequest call = {};
  std::vector<EchoedPrompt> echoed = {};  ///< of each prompt
};

/// The answer of /v1/chat/completions and /v1/completions. `choice` counts over all prompts: those
/// of prompt i are i * choices_ and the following.
class OpenAiShape : public AnswerShape {
 public:
  OpenAiShape(const Service& service, const OpenAiRequest& request)
      : service_(service),
        model_(service.options().model_name),
        id_(NewId(request.call.chat ? "chatcmpl-" : "cmpl-")),
        created_(std::time(nullptr)),
        choices_(static_cast<std::size_t>(request.call.choices)),
        sequences_(request.call.sequences()),
        offsets_(sequences_, 0),
        telemetry_(request.call.telemetry, sequences_),
        chat_(request.call.chat),
        include_usage_(request.call.include_usage),
        logprobs_(request.call.options.logprobs >= 0),
        echoed_(request.echoed),
        tools_(request.call.tools),
        streams_(sequences_, ToolStream(request.call.tools)),
        carried_(sequences_) {
    if (request.call.verbose) native_.emplace(service, request.call, NativeParts{.tokens = true});
  }

  HttpReply Refusal(const ApiError& error) const override { return OpenAiError(error); }
  /// Chat: the first chunk of each choice has the role. Text with "echo": it has the prompt.
  std::string Begin() override {
    std::string text;
    for (std::size_t i = 0; i < sequences_; ++i) {
      if (chat_) {
        text += Chunk(i, {{"role", "assistant"}, {"content", nullptr}}, {});
      } else if (const EchoedPrompt* echo = EchoOf(i)) {
        text += TextChunk(i, echo->text, EchoLogprobs(i));
      }
    }
    return text;
  }
  std::string Progress(std::size_t choice, const runtime::SequenceTimings& so_far) override {
    const auto progress = telemetry_.Note(choice, so_far);
    if (!progress) return {};
    Json chunk = ChunkJson(choice, Json::MakeObject(), {});
    chunk["prompt_progress"] = *progress;
    return Event(chunk);
  }
  std::string Piece(std::size_t choice, std::string_view text, const TokenList& tokens) override {
    if (tools_.form == nullptr) {
      return Chunk(choice, {{"content", std::string(text)}}, tokens);
    }
    return ToolChunks(choice, streams_[choice].Feed(text), tokens);
  }
  /// The last chunk has an empty delta and the "finish_reason". With tools, text that was held back
  /// as a possible call comes before it.
  std::string Finished(std::size_t choice, const Outcome& outcome,
                       const TokenList& tokens) override {
    std::string text;
    TokenList last = tokens;
    if (tools_.form != nullptr) {
      text = ToolChunks(choice, streams_[choice].Finish(), tokens);
      last = std::exchange(carried_[choice], {});
    }
    Json end = ChunkJson(choice, Json::MakeObject(), last);
    Json& part = end["choices"][0];
    part["finish_reason"] = FinishOf(outcome, streams_[choice].any_call());
    if (!outcome.receipt.empty()) part["receipt"] = ReceiptJson(outcome);
    if (end.contains("timings")) end["timings"] = TimingsJson(outcome);
    if (native_) end["__verbose"] = native_->Of(choice, outcome);
    return text + Event(end);
  }
  /// With stream_options.include_usage a chunk without choices comes before the end mark.
  std::string End(std::span<const Outcome> outcomes) override {
    std::string text;
    if (include_usage_) {
      Json chunk = Outline(true);
      chunk["choices"] = Json::MakeArray();
      AddUsage(outcomes, &chunk);
      text = Event(chunk);
    }
    return text + "data: [DONE]\n\n";
  }
  std::string Whole(std::span<const Outcome> outcomes) override;

 private:
  /// A call that was cut stays "length" or "stop".
  static std::string FinishOf(const Outcome& outcome, bool calls) {
    const bool whole = outcome.result.finish == runtime::FinishReason::kEndOfText;
    return calls && whole ? "tool_calls" : std::string(OpenAiFinish(outcome.result.finish));
  }
  [[nodiscard]] std::string ToolChunks(std::size_t choice, const std::vector<ToolEvent>& events,
                                       const TokenList& tokens);
  [[nodiscard]] Json MessageOf(const runtime::GenerateResult& result, bool* calls) const;
  /// Fields that every answer and every chunk of it have. "id" and "created" stay the same.
  [[nodiscard]] Json Outline(bool chunk) {
    if (!fingerprint_) fingerprint_ = service_.fingerprint();
    const char* const object = !chat_  ? "text_completion"
                               : chunk ? "chat.completion.chunk"
                                       : "chat.completion";
    return {{"id", id_},
            {"object", object},
            {"created", created_},
            {"model", model_},
            {"system_fingerprint", *fingerprint_ ? Json(**fingerprint_) : Json()}};
  }
  [[nodiscard]] std::string Chunk(std::size_t choice, Json delta, const TokenList& tokens) {
    return Event(ChunkJson(choice, std::move(delta), tokens));
  }
  /// A chunk with one choice. `delta` is a chat's; a text answer has its "content" as "text".
  [[nodiscard]] Json ChunkJson(std::size_t choice, Json delta, const TokenList& tokens) {
    Json part = {{"index", choice}};
    if (chat_) {
      part["delta"] = std::move(delta);
    } else {
      part["text"] = delta["content"].text();
    }
    part["logprobs"] = tokens.empty() ? Json() : Logprobs(choice, tokens);
    part["finish_reason"] = nullptr;
    Json chunk = Outline(true);
    chunk["choices"] = Json::MakeArray({std::move(part)});
    if (include_usage_) chunk["usage"] = nullptr;  // the last chunk has it
    telemetry_.AddTimings(choice, &chunk);
    return chunk;
  }
  [[nodiscard]] Json Logprobs(std::size_t choice, const TokenList& tokens);
  [[nodiscard]] const EchoedPrompt* EchoOf(std::size_t choice) const {
    return echoed_.empty() ? nullptr : &echoed_[choice / choices_];
  }
  /// Log-probabilities of the echoed prompt, as text completions list them; null if not asked for.
  [[nodiscard]] Json EchoLogprobs(std::size_t choice);
  [[nodiscard]] std::string TextChunk(std::size_t choice, const std::string& text, Json logprobs);
  /// Adds "usage", and llama-server's "timings" where there is one sequence.
  void AddUsage(std::span<const Outcome> outcomes, Json* to) const {
    (*to)["usage"] = UsageJson(outcomes, choices_);
    if (outcomes.size() == 1) (*to)["timings"] = TimingsJson(outcomes.front());
  }

  const Service& service_;
  std::string model_;
  /// As it was when the answer began: the same in all of its chunks.
  std::optional<std::optional<std::string>> fingerprint_ = {};
  std::string id_;
  std::time_t created_;
  std::size_t choices_, sequences_;
  std::vector<std::size_t> offsets_;  // of each sequence: characters of the tokens shown
  Telemetry telemetry_;
  bool chat_, include_usage_, logprobs_;
  std::vector<EchoedPrompt> echoed_;
  ToolReading tools_;
  std::vector<ToolStream> streams_;          // of each sequence
  std::vector<TokenList> carried_;           // tokens whose text is held back
  std::optional<NativeAnswer> native_ = {};  // "verbose": told beside the answer
};

/// Code points of UTF-8 text: "text_offset" counts characters, not bytes.
std::size_t CharactersOf(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

/// The first token has nothing before it, so its entries are null, as with OpenAI.
Json OpenAiShape::EchoLogprobs(std::size_t choice) {
  const EchoedPrompt& echo = *EchoOf(choice);
  if (!logprobs_) return nullptr;
  Json texts = Json::MakeArray(), values = texts, tops = texts, offsets = texts;
  for (std::size_t i = 0; i < echo.ids.size(); ++i) {
    const std::string text = ReplaceInvalidUtf8(service_.tokenizer().TokenBytes(echo.ids[i], true));
    texts.push_back(text);
    offsets.push_back(offsets_[choice]);
    // Control tokens are no part of the text.
    if (!service_.tokenizer().IsControl(echo.ids[i])) offsets_[choice] += CharactersOf(text);
    if (i == 0) {
      values.push_back(nullptr);
      tops.push_back(nullptr);
      continue;
    }
    const runtime::TokenLogprobs& token = echo.logprobs[i - 1];
    values.push_back(token.picked.logprob);
    Json top = Json::MakeObject();
    for (const runtime::TokenLogprob& other : token.top) {
      top[ReplaceInvalidUtf8(service_.tokenizer().TokenBytes(other.id, true))] = other.logprob;
    }
    tops.push_back(std::move(top));
  }
  return {{"tokens", std::move(texts)},
          {"token_logprobs", std::move(values)},
          {"top_logprobs", std::move(tops)},
          {"text_offset", std::move(offsets)}};
}

/// A chunk of a text answer with logprobs that are made already.
std::string OpenAiShape::TextChunk(std::size_t choice, const std::string& text, Json logprobs) {
  Json part = {{"index", choice},
               {"text", text},
               {"logprobs", std::move(logprobs)},
               {"finish_reason", nullptr}};
  Json chunk = Outline(true);
  chunk["choices"] = Json::MakeArray({std::move(part)});
  return Event(chunk);
}

/// The chat's list, or the four lists of text completions.
Json OpenAiShape::Logprobs(std::size_t choice, const TokenList& tokens) {
  if (!logprobs_) return nullptr;
  Json list = LogprobsJson(tokens, service_.tokenizer());
  if (chat_) return {{"content", std::move(list)}, {"refusal", nullptr}};
  Json texts = Json::MakeArray(), values = texts, tops = texts, offsets = texts;
  for (const Json& token : list.elements()) {
    Json top = Json::MakeObject();
    for (const Json& other : token["top_logprobs"].elements()) {
      top[other["token"].text()] = other["logprob"];
    }
    texts.push_back(token["token"]);
    values.push_back(token["logprob"]);
    tops.push_back(std::move(top));
    offsets.push_back(offsets_[choice]);
    offsets_[choice] += CharactersOf(token["token"].text());
  }
  return {{"tokens", std::move(texts)},
          {"token_logprobs", std::move(values)},
          {"top_logprobs", std::move(tops)},
          {"text_offset", std::move(offsets)}};
}

/// A chunk for each event; the first one brings the tokens.
std::string OpenAiShape::ToolChunks(std::size_t choice, const std::vector<ToolEvent>& events,
                                    const TokenList& tokens) {
  TokenList& carried = carried_[choice];
  carried.insert(carried.end(), tokens.begin(), tokens.end());
  std::string text;
  for (const ToolEvent& event : events) {
    Json delta;
    if (event.kind == ToolEvent::Kind::kContent) {
      delta = {{"content", event.text}};
    } else if (event.kind == ToolEvent::Kind::kEnd) {
      continue;
    } else {
      Json call = {{"index", event.call}};
      if (event.kind == ToolEvent::Kind::kStart) {
        call["id"] = NewId("call_");
        call["type"] = "function";
        call["function"] = {{"name", event.text}, {"arguments", ""}};
      } else {
        call["function"] = {{"arguments", event.text}};
      }
      delta = {{"tool_calls", Json::MakeArray({std::move(call)})}};
    }
    text += Chunk(choice, std::move(delta), std::exchange(carried, {}));
  }
  return text;
}

/// The message of a whole chat answer. `*calls`: whether it calls tools; "content" is null if there
/// is nothing beside the calls.
Json OpenAiShape::MessageOf(const runtime::GenerateResult& result, bool* calls) const {
  Json message = {{"role", "assistant"}, {"content", result.text}, {"refusal", nullptr}};
  if (tools_.form == nullptr) return message;
  const ToolAnswerParts parts = ReadToolAnswer(tools_, result.text);
  *calls = !parts.calls.empty();
  message["content"] = parts.content;
  if (!*calls) return message;
  if (parts.content.empty()) message["content"] = nullptr;
  message["tool_calls"] = Json::MakeArray();
  for (const FoundCall& call : parts.calls) {
    message["tool_calls"].push_back(
        {{"id", NewId("call_")},
         {"type", "function"},
         {"function", {{"name", call.name}, {"arguments", call.arguments}}}});
  }
  return message;
}

/// The echoed prompt's logprobs are made before the answer's: both move the same text_offset. A
/// text that ends at once has the token that ends it there: programs that score prompts ask for one
/// token and take the last entry away.
std::string OpenAiShape::Whole(std::span<const Outcome> outcomes) {
  Json answer = Outline(false);
  answer["choices"] = Json::MakeArray();
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const runtime::GenerateResult& result = outcomes[i].result;
    Json choice = {{"index", i}};
    bool calls = false;
    if (chat_) {
      choice["message"] = MessageOf(result, &calls);
    } else {
      choice["text"] = result.text;
    }
    const EchoedPrompt* echo = EchoOf(i);
    Json front = echo == nullptr ? Json() : EchoLogprobs(i);
    const bool ends_at_once = !front.is_null() && result.ids.empty() &&
                              result.finish == runtime::FinishReason::kEndOfText;
    choice["logprobs"] =
        Logprobs(i, ends_at_once ? TokenList{echo->logprobs.back()} : result.logprobs);
    if (echo != nullptr) choice["text"] = echo->text + result.text;
    if (!front.is_null()) {
      for (const auto& name : {"tokens", "token_logprobs", "top_logprobs", "text_offset"}) {
        for (const Json& one : choice["logprobs"][name].elements()) front[name].push_back(one);
      }
      choice["logprobs"] = std::move(front);
    }
    choice["finish_reason"] = FinishOf(outcomes[i], calls);
    if (!outcomes[i].receipt.empty()) choice["receipt"] = ReceiptJson(outcomes[i]);
    answer["choices"].push_back(std::move(choice));
  }
  AddUsage(outcomes, &answer);
  if (native_) answer["__verbose"] = native_->OfAll(outcomes);
  return Dump(answer);
}

/// With what "echo" asks for.
Result<void> StartEchoed(Service* service, OpenAiRequest read,
                         const std::shared_ptr<Exchange>& exchange) {
  for (const auto& prompt : read.call.prompts) {
    if (!read.call.echo) break;
    EchoedPrompt echo{.text = service->tokenizer().Decode(prompt, false), .ids = prompt};
    const int count = read.call.options.logprobs;
    if (count >= 0) echo.logprobs = BITTERN_TRY(PromptLogprobs(*service, prompt, count));
    read.echoed.push_back(std::move(echo));
  }
  auto shape = std::make_unique<OpenAiShape>(*service, read);
  StartCall(service, std::move(read.call), std::move(shape), exchange);
  return {};
}

}  // namespace

/// POST /v1/chat/completions.
Result<void> ChatCompletions(Service* service, const ApiRequest& request,
                             const std::shared_ptr<Exchange>& exchange) {
  const Json& body = request.body;
  OpenAiRequest read;
  read.call = BITTERN_TRY(ReadChat(service->target(), body, service->options().defaults));
  auto shape = std::make_unique<OpenAiShape>(*service, read);
  StartCall(service, std::move(read.call), std::move(shape), exchange);
  return {};
}

/// POST /v1/completions. An echo with logprobs needs a pass over the prompts before the answer can
/// begin; the check comes first, so that a wrong request does not wait for it.
Result<void> Completions(Service* service, const ApiRequest& request,
                         const std::shared_ptr<Exchange>& exchange) {
  const Json& body = request.body;
  OpenAiRequest read;
  read.call = BITTERN_TRY(ReadCompletion(service->target(), body, service->options().defaults));
  if (read.call.echo && read.call.options.logprobs >= 0) {
    // As long as reading the prompts takes: not on this thread.
    if (const auto wrong = CheckCall(service, read.call)) {
      exchange->Reply(OpenAiError(*wrong));
      return {};
    }
    service->slow_worker().Post([service, exchange, read = std::move(read)]() mutable {
      if (exchange->gone().load()) return;
      const auto done = StartEchoed(service, std::move(read), exchange);
      if (!done.has_value()) exchange->Reply(OpenAiError(ApiErrorOf(done.error())));
    });
    return {};
  }
  return StartEchoed(service, std::move(read), exchange);
}

/// POST /v1/chat/completions/input_tokens, with the body of a chat request.
Result<void> ChatInputTokens(Service* service, const ApiRequest& request,
                             const std::shared_ptr<Exchange>& exchange) {
  const Json& body = request.body;
  const TextRequest read =
      BITTERN_TRY(ReadChat(service->counting_target(), body, service->options().defaults));
  exchange->Reply({.body = Dump({{"object", "response.input_tokens"},
                                 {"input_tokens", read.prompts.front().size()}})});
  return {};
}

}  // namespace bittern::serve
