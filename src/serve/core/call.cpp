// SPDX-License-Identifier: Apache-2.0
// A call lives as long as the callbacks of its sequences. It starts only if there is room for all
// of them.
#include "serve/core/call.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text/percent.hpp"
#include "proof/receipt/receipt.hpp"
#include "runtime/prompt_check.hpp"
#include "runtime/sampling/sampler.hpp"
#include "serve/core/weight_hash.hpp"

namespace bittern::serve {
namespace {

/// The unit of the service's counters.
std::uint64_t Microseconds(double seconds) { return static_cast<std::uint64_t>(seconds * 1e6); }

/// The fields that had no effect, as a header may hold them.
std::string NamesOf(const request::UnreadFields& unread) {
  std::string names;
  for (const std::string& path : unread) {
    names += (names.empty() ? "" : ", ") + PercentEncoded(path, "-._~[]");
  }
  return names;
}

/// Log-probabilities that are written out at once: the engine's thread has no time for more.
constexpr std::size_t kQuickEntries = 2'000;

Error TooManyEntries() {
  return {
      ErrorCode::kInvalidArgument,
      fmt::format("logprobs: {} log-probabilities at most expected in one answer; ask for fewer "
                  "tokens, choices or alternatives, or for a stream",
                  kMostEntries)};
}

/// Log-probabilities of a request that says how many tokens it wants; its answer may be shorter.
std::size_t EntriesOf(const TextRequest& request, int context) {
  if (request.stream || request.options.logprobs < 0) return 0;
  std::size_t tokens = 0;
  for (const auto& prompt : request.prompts) {
    if (request.echo) tokens += prompt.size();
    const int most = std::min(request.options.max_tokens, context);
    tokens += static_cast<std::size_t>(std::max(most, 0));
  }
  return tokens * static_cast<std::size_t>(request.choices) *
         static_cast<std::size_t>(request.options.logprobs + 1);
}

/// Held by the callbacks of its sequences.
class Call : public std::enable_shared_from_this<Call> {
 public:
  Call(Service* service, std::unique_ptr<AnswerShape> shape, std::shared_ptr<Exchange> exchange,
       std::size_t sequences, const TextRequest& request)
      : service_(service),
        shape_(std::move(shape)),
        exchange_(std::move(exchange)),
        outcomes_(sequences),
        pending_(sequences),
        left_(sequences),
        entries_a_token_(static_cast<std::size_t>(request.options.logprobs + 1)),
        stream_(request.stream),
        progress_(request.stream && (request.telemetry.timings || request.telemetry.progress)),
        receipt_(request.receipt),
        slot_(request.slot),
        ignored_(NamesOf(request.unread)) {}

  /// By the thread that starts the call, before the engine has its requests.
  void Begin() {
    if (!ignored_.empty()) exchange_->AddHeader("bittern-ignored", ignored_);
    if (!stream_) return;
    exchange_->Begin(shape_->StreamType(), shape_->Ping());
    exchange_->Write(shape_->Begin());
  }
  /// The request of sequence `index` for the engine. Call it for 0, 1, 2, ... in turn: each call
  /// adds an element to the lists below.
  runtime::Request MakeRequest(std::size_t index, std::vector<TokenId> prompt,
                               const runtime::GenerateOptions& options);

 private:
  void PrepareReceipt(const runtime::Request& request);
  // By the engine's thread, until Finish.
  bool OnText(std::size_t index, std::string_view text);
  void OnLogprobs(std::size_t index, const runtime::TokenLogprobs& token);
  void OnProgress(std::size_t index, const runtime::SequenceTimings& so_far);
  void OnDone(std::size_t index, runtime::Completion completion);
  void Count(const Outcome& outcome);
  void Fail(const Error& error);
  void Finish();

  Service* service_;
  std::unique_ptr<AnswerShape> shape_;
  std::shared_ptr<Exchange> exchange_;
  std::vector<Outcome> outcomes_;
  std::vector<TokenList> pending_;  // of each sequence, until its next piece
  std::vector<std::shared_ptr<ActiveSequence>> active_ = {};
  std::vector<proof::Receipt> receipts_ = {};  // what is known before the answer
  std::size_t left_;
  std::vector<std::vector<TokenId>> prompts_ = {};  // where slots are saved
  std::size_t entries_a_token_, entries_ = 0;       // log-probabilities of the answer so far
  bool stream_, progress_, receipt_, failed_ = false;
  int slot_;
  std::string ignored_;  // fields of the request
};

runtime::Request Call::MakeRequest(std::size_t index, std::vector<TokenId> prompt,
                                   const runtime::GenerateOptions& options) {
  active_.push_back(service_->AddActive(static_cast<int>(prompt.size())));
  if (!service_->options().slot_save_path.empty()) prompts_.push_back(prompt);
  runtime::Request request{
      .prompt = std::move(prompt), .turn = static_cast<int>(index), .options = options};
  if (receipt_) PrepareReceipt(request);
  request.options.cancel = &exchange_->gone();
  if (receipt_) proof::WantReceipt(&request.options);
  const auto self = shared_from_this();
  if (options.logprobs >= 0) {
    request.options.on_token = [self, index](TokenId, const runtime::TokenLogprobs* logprobs) {
      if (logprobs != nullptr) self->OnLogprobs(index, *logprobs);
    };
  }
  if (progress_) {
    request.on_progress = [self, index](const runtime::SequenceTimings& so_far) {
      self->OnProgress(index, so_far);
    };
  }
  request.on_text = [self, index](std::string_view text) { return self->OnText(index, text); };
  request.on_done = [self, index](runtime::Completion completion) {
    self->OnDone(index, std::move(completion));
  };
  return request;
}

/// Notes everything of a receipt that is known before the answer. REQUIRES: the hash is known.
void Call::PrepareReceipt(const runtime::Request& request) {
  receipts_.push_back({.model = service_->options().model_name,
                       .model_hash = **service_->model_hash().Known(),
                       .arithmetic = proof::ArithmeticName(service_->options().engine.kv_type),
                       .context_length = service_->engine().context_length(),
                       .prompt = request.prompt,
                       .options = request.options});
}

/// Kept for the next piece of a stream; counted for an answer that is given as a whole.
void Call::OnLogprobs(std::size_t index, const runtime::TokenLogprobs& token) {
  if (stream_) return pending_[index].push_back(token);
  entries_ += entries_a_token_;
  if (entries_ > kMostEntries) Fail(TooManyEntries());
}

/// Hands out a piece and the tokens sampled since the last one. False, which ends the sequence,
/// once the call has failed.
bool Call::OnText(std::size_t index, std::string_view text) {
  ++active_[index]->pieces;
  const TokenList tokens = std::exchange(pending_[index], {});
  if (stream_ && !failed_) exchange_->Write(shape_->Piece(index, text, tokens));
  return !failed_;
}

void Call::OnProgress(std::size_t index, const runtime::SequenceTimings& so_far) {
  if (failed_) return;
  const std::string told = shape_->Progress(index, so_far);
  if (!told.empty()) exchange_->Write(told);
}

/// Adds a sequence to the sums of /metrics. By the engine's thread alone: most_tokens is read and
/// written in two steps.
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
  const double first = outcome.timings.queued_s + outcome.timings.prompt_s;
  counters.queue_wait.Observe(outcome.timings.queued_s);
  counters.first_token.Observe(first);
  counters.whole.Observe(first + outcome.timings.predicted_s);
  counters.most_tokens = std::max(counters.most_tokens.load(), prompt + predicted);
}

/// A sequence has ended, with a result or an error. The last one ends the answer.
void Call::OnDone(std::size_t index, runtime::Completion completion) {
  service_->RemoveActive(*active_[index]);
  --left_;
  if (!completion.result.has_value()) {
    Fail(completion.result.error());
  } else {
    Outcome& outcome = outcomes_[index];
    outcome = {*std::move(completion.result), completion.timings};
    Count(outcome);
    if (receipt_)
      outcome.receipt = proof::FinishReceipt(std::move(receipts_[index]), outcome.result);
    if (!prompts_.empty()) {
      std::vector<TokenId> tokens = std::move(prompts_[index]);
      tokens.insert(tokens.end(), outcome.result.ids.begin(), outcome.result.ids.end());
      service_->SetSlotTokens(slot_, std::move(tokens));
    }
    if (stream_ && !failed_) exchange_->Write(shape_->Finished(index, outcome, pending_[index]));
  }
  if (left_ == 0) Finish();
}

/// The first error is the answer, or ends the stream. Other sequences of the call end with their
/// next piece.
void Call::Fail(const Error& error) {
  if (std::exchange(failed_, true)) return;
  ++service_->counters().failed;
  if (!stream_) return exchange_->Reply(shape_->Refusal(ApiErrorOf(error)));
  exchange_->Write(shape_->Broken(ApiErrorOf(error)));
  exchange_->End();
}

/// Writes the note for the access log, then the answer. A failed call has answered already.
void Call::Finish() {
  int prompt = 0, cached = 0, predicted = 0;
  for (const Outcome& outcome : outcomes_) {
    prompt += outcome.timings.prompt_tokens;
    cached += outcome.timings.cached_tokens;
    predicted += outcome.predicted();
  }
  exchange_->SetUsage({.model = service_->options().model_name,
                       .prompt_tokens = prompt,
                       .cached_tokens = cached,
                       .completion_tokens = predicted});
  exchange_->SetNote(fmt::format("prompt={} cached={} predicted={}{}{}", prompt, cached, predicted,
                                 ignored_.empty() ? "" : " ignored=", ignored_));
  if (exchange_->gone().load()) ++service_->counters().cancelled;
  if (failed_) return;
  if (stream_) {
    exchange_->Write(shape_->End(outcomes_));
    exchange_->End();
  } else {
    const auto reply = [self = shared_from_this()] {
      self->exchange_->Reply({.body = self->shape_->Whole(self->outcomes_)});
    };
    if (entries_ < kQuickEntries) return reply();
    service_->slow_worker().Post(reply);
  }
}

/// As StartCall, once the hash of the weights is known, which a receipt holds.
void StartWithHash(Service* service, TextRequest request, std::unique_ptr<AnswerShape> shape,
                   std::shared_ptr<Exchange> exchange) {
  struct Waiting {
    TextRequest request;
    std::unique_ptr<AnswerShape> shape;
  };
  const auto waiting = std::make_shared<Waiting>(Waiting{std::move(request), std::move(shape)});
  service->slow_worker().Post([service, waiting, exchange = std::move(exchange)] {
    if (exchange->gone().load()) return;
    const Result<std::string>& hash = service->model_hash().Wait();
    if (!hash.has_value()) {
      return exchange->Reply(waiting->shape->Refusal(ApiErrorOf(hash.error())));
    }
    StartCall(service, std::move(waiting->request), std::move(waiting->shape), exchange);
  });
}

}  // namespace

/// The sampler is created only to see whether its options are good.
std::optional<ApiError> CheckCall(Service* service, const TextRequest& request) {
  const int context = service->engine().context_length();
  const int vocab_size = service->model().model.config().vocab_size;
  for (const auto& prompt : request.prompts) {
    const auto fits = runtime::CheckPrompt(prompt, vocab_size, context);
    if (fits) continue;
    ApiError error = ApiErrorOf(fits.error());
    if (fits.error().code == ErrorCode::kContextFull) {
      if (request.cut) {
        error.message = fmt::format("the prompt has at least {} tokens, but the context holds {}",
                                    prompt.size(), context);
      }
      error.too_long = PromptTooLong{prompt.size(), context};
    }
    return error;
  }
  if (EntriesOf(request, context) > kMostEntries) return ApiErrorOf(TooManyEntries());
  if (const auto checked = runtime::Sampler::Create(request.options.sampler, &service->tokenizer());
      !checked) {
    return ApiErrorOf(checked.error());
  }
  return std::nullopt;
}

/// Room for all sequences is reserved at once: a call never waits half started. Begin comes before
/// Submit, or the engine's first piece could overtake the head of the stream.
void StartCall(Service* service, TextRequest request, std::unique_ptr<AnswerShape> shape,
               std::shared_ptr<Exchange> exchange) {
  if (const auto wrong = CheckCall(service, request)) {
    return exchange->Reply(shape->Refusal(*wrong));
  }
  // Answers that show control tokens depend on an option that no receipt holds.
  if (service->options().receipts && !request.options.render_special) request.receipt = true;
  if (const auto* hash = service->model_hash().Known();
      request.receipt && (hash == nullptr || !hash->has_value())) {
    return StartWithHash(service, std::move(request), std::move(shape), std::move(exchange));
  }
  const std::size_t sequences = request.sequences();
  const ServiceOptions& options = service->options();
  const int most = options.engine.max_sequences + options.most_waiting;
  if (sequences > static_cast<std::size_t>(most)) {  // trying again would not help
    return exchange->Reply(
        shape->Refusal({.status = 400,
                        .message = fmt::format(
                            "n: {} answers at most expected in one request here ({} slots and a "
                            "queue of {}), {} found",
                            most, options.engine.max_sequences, options.most_waiting, sequences),
                        .param = "n"}));
  }
  if (!service->engine().Reserve(sequences, static_cast<std::size_t>(most))) {
    ++service->counters().refused;
    return exchange->Reply(shape->Refusal(QueueFull(service->engine().active())));
  }
  ++service->counters().requests;
  const auto call = std::make_shared<Call>(service, std::move(shape), exchange, sequences, request);
  std::vector<runtime::Request> requests;
  for (std::size_t i = 0; i < sequences; ++i) {
    const auto choices = static_cast<std::size_t>(request.choices);
    requests.push_back(call->MakeRequest(i, request.prompts[i / choices],
                                         request::OptionsOfChoice(request, i % choices)));
  }
  call->Begin();
  service->engine().Submit(std::move(requests));
}

}  // namespace bittern::serve
