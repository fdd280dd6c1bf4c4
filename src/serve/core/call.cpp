// SPDX-License-Identifier: Apache-2.0
#include "serve/core/call.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "serve/core/field_reader.hpp"
#include "serve/http/http_text.hpp"

namespace bittern::serve {
namespace {

using nlohmann::ordered_json;

constexpr std::uint32_t kDrawnSeed = 0xffffffffu;  // -1: the sampler draws one

std::string Dumped(const ordered_json& json) {
  return json.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

int StatusOf(const Error& error) {
  switch (error.code) {
    case ErrorCode::kInvalidArgument:
    case ErrorCode::kContextFull:
      return 400;
    case ErrorCode::kUnsupported:
      return 501;
    case ErrorCode::kNotFound:
      return 404;
    case ErrorCode::kOutOfMemory:
    case ErrorCode::kCancelled:
      return 503;
    default:
      return 500;
  }
}

std::uint64_t Microseconds(double seconds) { return static_cast<std::uint64_t>(seconds * 1e6); }

/// Held by the callbacks of its sequences.
class Call : public std::enable_shared_from_this<Call> {
 public:
  Call(Service* service, std::unique_ptr<AnswerShape> shape, std::shared_ptr<Exchange> exchange,
       std::size_t sequences, bool stream)
      : service_(service),
        shape_(std::move(shape)),
        exchange_(std::move(exchange)),
        outcomes_(sequences),
        left_(sequences),
        stream_(stream) {}

  void Begin() {
    if (!stream_) return;
    exchange_->Begin(shape_->StreamType(), shape_->Ping());
    exchange_->Write(shape_->Begin());
  }
  runtime::Request MakeRequest(std::size_t index, std::vector<TokenId> prompt,
                               const runtime::GenerateOptions& options);

 private:
  bool OnText(std::size_t index, std::string_view text);
  void OnDone(std::size_t index, runtime::Completion completion);
  void Count(const Outcome& outcome);
  void Fail(const Error& error);
  void Finish();

  Service* service_;
  std::unique_ptr<AnswerShape> shape_;
  std::shared_ptr<Exchange> exchange_;
  std::vector<Outcome> outcomes_;
  std::vector<std::shared_ptr<ActiveSequence>> active_ = {};
  std::size_t left_;
  bool stream_, failed_ = false;
};

runtime::Request Call::MakeRequest(std::size_t index, std::vector<TokenId> prompt,
                                   const runtime::GenerateOptions& options) {
  active_.push_back(service_->AddActive(static_cast<int>(prompt.size())));
  runtime::Request request{.prompt = std::move(prompt), .options = options};
  request.options.cancel = &exchange_->gone();
  const auto self = shared_from_this();
  request.on_text = [self, index](std::string_view text) { return self->OnText(index, text); };
  request.on_done = [self, index](runtime::Completion completion) {
    self->OnDone(index, std::move(completion));
  };
  return request;
}

bool Call::OnText(std::size_t index, std::string_view text) {
  ++active_[index]->pieces;
  if (stream_ && !failed_) exchange_->Write(shape_->Piece(index, text));
  return true;
}

void Call::Count(const Outcome& outcome) {
  ServiceCounters& counters = service_->counters();
  const auto prompt = static_cast<std::uint64_t>(outcome.timings.prompt_tokens);
  const auto cached = static_cast<std::uint64_t>(outcome.timings.cached_tokens);
  const auto predicted = static_cast<std::uint64_t>(outcome.predicted());
  counters.prompt_tokens += prompt - std::min(prompt, cached);
  counters.cached_tokens += cached;
  counters.predicted_tokens += predicted;
  counters.prompt_us += Microseconds(outcome.timings.prompt_s);
  counters.predicted_us += Microseconds(outcome.timings.predicted_s);
  counters.queued_us += Microseconds(outcome.timings.queued_s);
  counters.most_tokens = std::max(counters.most_tokens.load(), prompt + predicted);
}

void Call::OnDone(std::size_t index, runtime::Completion completion) {
  service_->RemoveActive(*active_[index]);
  --left_;
  if (!completion.result.has_value()) {
    Fail(completion.result.error());
  } else {
    Outcome& outcome = outcomes_[index];
    outcome = {*std::move(completion.result), completion.timings};
    Count(outcome);
    if (stream_ && !failed_) exchange_->Write(shape_->Finished(index, outcome));
  }
  if (left_ == 0) Finish();
}

void Call::Fail(const Error& error) {
  if (std::exchange(failed_, true)) return;
  ++service_->counters().failed;
  if (!stream_) return exchange_->Reply(ErrorReply(shape_->error_style(), error));
  exchange_->Write(shape_->Broken(error));
  exchange_->End();
}

void Call::Finish() {
  int prompt = 0, cached = 0, predicted = 0;
  for (const Outcome& outcome : outcomes_) {
    prompt += outcome.timings.prompt_tokens;
    cached += outcome.timings.cached_tokens;
    predicted += outcome.predicted();
  }
  exchange_->SetNote(fmt::format("prompt={} cached={} predicted={}", prompt, cached, predicted));
  if (exchange_->gone().load()) ++service_->counters().cancelled;
  if (failed_) return;
  if (stream_) {
    exchange_->Write(shape_->End(outcomes_));
    exchange_->End();
  } else {
    exchange_->Reply({.body = shape_->Whole(outcomes_)});
  }
}

HttpReply QueueFull(ErrorStyle style, std::size_t active) {
  HttpReply reply = ErrorReply(
      style, 503, fmt::format("{} requests are running or waiting; try again later", active));
  reply.headers.emplace_back("Retry-After", "1");
  return reply;
}

HttpReply TooLong(ErrorStyle style, std::size_t tokens, int context) {
  const std::string message =
      fmt::format("the prompt has {} tokens, the context holds {}", tokens, context);
  HttpReply reply = ErrorReply(style, 400, message);
  if (style == ErrorStyle::kOpenAi) {
    reply.body = Dumped({{"error",
                          {{"code", 400},
                           {"message", message},
                           {"type", "exceed_context_size_error"},
                           {"param", nullptr},
                           {"n_prompt_tokens", tokens},
                           {"n_ctx", context}}}});
  }
  return reply;
}

}  // namespace

HttpReply ErrorReply(ErrorStyle style, int status, std::string_view message,
                     std::string_view param) {
  HttpReply reply{.status = status};
  if (style == ErrorStyle::kOpenAi) {
    reply.body = ErrorBody(status, message, param);
  } else if (style == ErrorStyle::kOllama) {
    reply.body = Dumped({{"error", std::string(message)}});
  } else {
    std::string type(ErrorType(status));
    if (status == 500) type = "api_error";
    if (status == 503) type = "overloaded_error";
    reply.body =
        Dumped({{"type", "error"}, {"error", {{"type", type}, {"message", std::string(message)}}}});
  }
  return reply;
}

HttpReply ErrorReply(ErrorStyle style, const Error& error) {
  return ErrorReply(style, StatusOf(error), error.message, FieldOfError(error));
}

std::string AnswerShape::Broken(const Error& error) {
  return "data: " + ErrorReply(error_style(), error).body + "\n\n";
}

void StartCall(Service* service, CallRequest request, std::unique_ptr<AnswerShape> shape,
               std::shared_ptr<Exchange> exchange) {
  const int context = service->engine().context_length();
  const auto vocabulary = service->tokenizer().vocab_size();
  const ErrorStyle style = shape->error_style();
  for (const auto& prompt : request.prompts) {
    if (prompt.empty()) return exchange->Reply(ErrorReply(style, 400, "the prompt has no tokens"));
    if (prompt.size() > static_cast<std::size_t>(context)) {
      return exchange->Reply(TooLong(style, prompt.size(), context));
    }
    const auto bad =
        std::ranges::find_if(prompt, [&](TokenId id) { return id < 0 || id >= vocabulary; });
    if (bad == prompt.end()) continue;
    return exchange->Reply(ErrorReply(
        style, 400,
        fmt::format("token id {} is outside the vocabulary (0..{})", *bad, vocabulary - 1)));
  }
  if (const auto checked = runtime::Sampler::Create(request.options.sampler); !checked) {
    return exchange->Reply(ErrorReply(style, checked.error()));
  }
  const std::size_t sequences = request.prompts.size() * static_cast<std::size_t>(request.choices);
  if (!service->engine().Reserve(sequences)) {
    ++service->counters().refused;
    return exchange->Reply(QueueFull(style, service->engine().active()));
  }
  ++service->counters().requests;
  const auto call =
      std::make_shared<Call>(service, std::move(shape), exchange, sequences, request.stream);
  std::vector<runtime::Request> requests;
  for (std::size_t i = 0; i < sequences; ++i) {
    const auto choices = static_cast<std::size_t>(request.choices);
    runtime::GenerateOptions options = request.options;
    std::uint32_t& seed = options.sampler.seed;
    if (seed != kDrawnSeed) seed = (seed + static_cast<std::uint32_t>(i % choices)) % kDrawnSeed;
    requests.push_back(call->MakeRequest(i, request.prompts[i / choices], options));
  }
  call->Begin();
  service->engine().Submit(std::move(requests));
}

}  // namespace bittern::serve
