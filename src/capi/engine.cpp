// SPDX-License-Identifier: Apache-2.0
// The engine of the C interface: a runtime::EngineThread, stepped by callers or by its own thread.
// Requests are checked when they are queued, so that the caller learns at once what is wrong with
// them.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <unordered_map>

#include "base/json/json.hpp"
#include "capi/objects.hpp"
#include "capi/options.hpp"
#include "capi/text_part.hpp"
#include "request/answer_json.hpp"
#include "request/batch/batch_line.hpp"
#include "request/text_request.hpp"
#include "runtime/chat/chat_prompt.hpp"
#include "runtime/engine/engine_thread.hpp"
#include "runtime/generation.hpp"
#include "runtime/prompt_check.hpp"

namespace bittern::capi {
namespace {

/// A request from its submission to its end. It has a sequence for each choice.
struct Job {
  std::uint64_t number = 0;
  std::atomic<bool> cancel = false;
  bittern_done_fn on_done = nullptr;
  void* user = nullptr;
  request::TextRequest request = {};
  bool is_body = false;                               // it came as JSON, and its answer goes so
  std::optional<request::BatchResultName> line = {};  // it came as a line of a batch file
  std::vector<runtime::GenerateResult> results = {};  // of each sequence
  std::vector<proof::Receipt> receipts = {};          // of each, where they were asked for
  std::size_t left = 0;
  std::optional<Error> error = {};
  std::atomic<bool> dropped = false;  // the engine was freed; no callback comes any more
};

/// The model's own chat template. An error is kept, and told to the first request with messages.
Result<runtime::ChatPrompt> ChatOf(const runtime::LoadedModel& model) {
  Decisions unused;
  return runtime::ChatPrompt::Create(model.model.checkpoint().metadata(), model.tokenizer, "",
                                     &unused);
}

/// An engine and the requests that have not ended. It lives during each step, so a callback may
/// free its handle.
class EngineObject : public Object {
 public:
  static constexpr int kKind = 5;
  static constexpr const char* kWhat = "an engine";

  EngineObject(std::shared_ptr<ModelObject> of, std::unique_ptr<runtime::EngineThread> made,
               model::KvType kv_type)
      : Object(kKind, /*of_process=*/true),
        model_(std::move(of)),
        kv_type_(kv_type),
        engine_(std::move(made)) {}

  /// Has the engine step itself. `self`: this object. Error kBusy: it does already.
  [[nodiscard]] Result<void> Start(const std::shared_ptr<EngineObject>& self);
  /// Ends all requests: their on_done are told before it returns, and no callback comes any more.
  void Stop();

  /// Queues the sequences of job->request. Errors as Engine::Submit, with nothing queued.
  [[nodiscard]] Result<std::uint64_t> Submit(const std::shared_ptr<Job>& job,
                                             bittern_text_fn on_text);
  /// Queues the sequences of a line; what is wrong with it becomes its result. Error: the engine is
  /// being freed.
  [[nodiscard]] Result<std::uint64_t> SubmitLine(const std::shared_ptr<Job>& job,
                                                 request::BatchLine line);
  [[nodiscard]] request::Target target() const;
  void Cancel(std::uint64_t number);
  /// True if there is more to do. Error kBusy: another step is on the way, or the engine steps
  /// itself.
  [[nodiscard]] Result<bool> Step();
  [[nodiscard]] runtime::EngineStats Stats() const { return engine_->stats(); }
  [[nodiscard]] const runtime::LoadedModel& model() const noexcept { return *model_->loaded; }

 private:
  [[nodiscard]] Result<void> Check(std::span<const runtime::TokenId> ids,
                                   const runtime::GenerateOptions& options) const;
  /// Queues them unchecked.
  [[nodiscard]] Result<std::uint64_t> Queue(const std::shared_ptr<Job>& job,
                                            std::vector<runtime::Request> sequences);
  /// By the stepping thread.
  void TakeSequence(Job* job, std::size_t index, Result<runtime::GenerateResult> result);
  void Done(const Job& job);

  std::shared_ptr<ModelObject> model_;
  Result<runtime::ChatPrompt> chat_ = ChatOf(*model_->loaded);
  CheckedMutex alone_;
  std::mutex mutex_;  // of what follows; held for moments only
  std::unordered_map<std::uint64_t, std::shared_ptr<Job>> jobs_;
  std::uint64_t next_ = 1;
  bool started_ = false, stopped_ = false;
  model::KvType kv_type_;
  std::unique_ptr<runtime::EngineThread> engine_;  // last: its requests point at the rest
};

/// The checks of Engine::Submit.
Result<void> EngineObject::Check(std::span<const runtime::TokenId> ids,
                                 const runtime::GenerateOptions& options) const {
  BITTERN_TRY(
      runtime::CheckPrompt(ids, model().model.config().vocab_size, engine_->context_length()));
  runtime::DraftPolicy unused;
  BITTERN_TRY(runtime::Generation::Create(model(), options, {}, &unused));
  return {};
}

/// The model as the readers of requests take it.
request::Target EngineObject::target() const {
  return {.model = &model(),
          .chat = chat_ ? &*chat_ : nullptr,
          .why_no_chat = chat_ ? nullptr : &chat_.error()};
}

/// Waits for the step on the way, unless a callback of it calls. Its other sequences then find that
/// their requests are gone, and end.
void EngineObject::Stop() {
  engine_->Stop();
  const auto step = alone_.Enter(kWhat);  // an error: this is a callback of the step
  std::unordered_map<std::uint64_t, std::shared_ptr<Job>> dropped;
  {
    const std::lock_guard lock(mutex_);
    std::swap(dropped, jobs_);
    stopped_ = true;
  }
  for (const auto& [number, job] : dropped) {
    job->dropped.store(true);
    job->cancel.store(true);
  }
  for (const auto& [number, job] : dropped) {
    job->on_done(job->user, number, KeepError({ErrorCode::kCancelled, "the engine was freed"}),
                 nullptr);
  }
}

/// Only the first sequence streams: one text callback cannot tell several apart. The job has its
/// number before the engine has its sequences, since they may end at once.
Result<std::uint64_t> EngineObject::Submit(const std::shared_ptr<Job>& job,
                                           bittern_text_fn on_text) {
  const request::TextRequest& request = job->request;
  for (const auto& prompt : request.prompts) BITTERN_TRY(Check(prompt, request.options));
  const auto choices = static_cast<std::size_t>(request.choices);
  job->left = request.sequences();
  job->results.resize(job->left);
  std::vector<runtime::Request> sequences;
  for (std::size_t i = 0; i < job->left; ++i) {
    runtime::Request sequence{.prompt = request.prompts[i / choices],
                              .turn = static_cast<int>(i),
                              .options = request::OptionsOfChoice(request, i % choices)};
    if (request.receipt) {
      job->receipts.push_back(BITTERN_TRY(BeginReceipt(*model_, sequence.prompt, sequence.options,
                                                       kv_type_, engine_->context_length())));
      proof::WantReceipt(&sequence.options);
    }
    sequence.options.cancel = &job->cancel;
    if (i == 0 && on_text != nullptr) {
      const auto parts = std::make_shared<TextParts>(model(), on_text, job->user);
      TextParts::Watch(parts, &sequence.options);
      sequence.on_text = [job, show = TextParts::Callback(parts)](std::string_view text) {
        return !job->dropped.load() && show(text);
      };
    }
    sequence.on_done = [this, job, i](runtime::Completion completion) {
      TakeSequence(job.get(), i, std::move(completion.result));
    };
    sequences.push_back(std::move(sequence));
  }
  return Queue(job, std::move(sequences));
}

Result<std::uint64_t> EngineObject::Queue(const std::shared_ptr<Job>& job,
                                          std::vector<runtime::Request> sequences) {
  std::uint64_t number = 0;
  {
    const std::lock_guard lock(mutex_);
    if (stopped_) return Fail(kBadHandle, "an engine expected, one found that is being freed");
    number = job->number = next_++;
    jobs_.emplace(number, job);
  }
  static_cast<void>(engine_->Reserve(sequences.size(), SIZE_MAX));
  engine_->Submit(std::move(sequences));
  return number;
}

/// A line that cannot run is queued as a sequence without tokens, which the engine refuses in its
/// turn: all results come from the thread that steps.
Result<std::uint64_t> EngineObject::SubmitLine(const std::shared_ptr<Job>& job,
                                               request::BatchLine line) {
  job->line = request::BatchResultName{.id = std::move(line.id)};
  if (line.request) {
    job->request = *std::move(line.request);
    auto queued = Submit(job, nullptr);
    if (queued || queued.error().code == kBadHandle) return queued;
    line.request = tl::unexpected(std::move(queued).error());
  }
  job->left = 1;
  runtime::Request none;
  none.on_done = [this, job, error = std::move(line.request).error()](const auto&) {
    TakeSequence(job.get(), 0, tl::unexpected(error));
  };
  std::vector<runtime::Request> sequences;
  sequences.push_back(std::move(none));
  return Queue(job, std::move(sequences));
}

void EngineObject::Cancel(std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  const auto found = jobs_.find(number);
  if (found != jobs_.end()) found->second->cancel.store(true);
}

/// Keeps the result of one sequence. The last one that ends tells the caller, without the lock: the
/// callback may submit and cancel.
void EngineObject::TakeSequence(Job* job, std::size_t index,
                                Result<runtime::GenerateResult> result) {
  if (!result) {
    job->error = std::move(result).error();
  } else {
    job->results[index] = *std::move(result);
  }
  if (--job->left > 0) return;
  {
    const std::lock_guard lock(mutex_);
    if (jobs_.erase(job->number) == 0) return;  // Stop has told it
  }
  Done(*job);
}

/// Calls on_done once. An error is kept for this thread, which the callback runs on.
void EngineObject::Done(const Job& job) {
  if (job.line) {
    auto result = std::make_shared<ResultObject>();
    result->json = request::WriteBatchLine(
        *job.line, job.error ? Json{{"error", MessageAndHint(*job.error)}}
                             : request::AnswerJson(job.request, job.results, model().tokenizer));
    bittern_result* given = nullptr;
    Give(std::move(result), &given);
    job.on_done(job.user, job.number, BITTERN_OK, given);
    return;
  }
  if (job.error) {
    job.on_done(job.user, job.number, KeepError(*job.error), nullptr);
    return;
  }
  const bool logprobs = job.request.options.logprobs >= 0 && !job.is_body;
  std::vector<std::string> receipts;
  for (std::size_t i = 0; i < job.receipts.size(); ++i) {
    receipts.push_back(proof::FinishReceipt(job.receipts[i], job.results[i]));
  }
  auto result =
      ResultOf(job.results.front(), model(), logprobs, receipts.empty() ? "" : receipts.front());
  if (job.is_body) {
    result->json =
        request::AnswerJson(job.request, job.results, model().tokenizer, receipts).Dump();
  }
  bittern_result* given = nullptr;
  Give(std::move(result), &given);
  job.on_done(job.user, job.number, BITTERN_OK, given);
}

Result<void> EngineObject::Start(const std::shared_ptr<EngineObject>& self) {
  auto alone = BITTERN_TRY(alone_.Enter(kWhat));  // no step is on the way
  const std::lock_guard lock(mutex_);
  if (started_) return Fail(kBusy, "the engine steps itself already");
  engine_->Start(std::weak_ptr<const void>(self));
  started_ = true;
  return {};
}

/// Only one thread steps at a time, and no callback of a step may step.
Result<bool> EngineObject::Step() {
  auto alone = BITTERN_TRY(alone_.Enter(kWhat));
  const CheckedMutex::Inside inside(&alone_, std::move(alone));
  {
    const std::lock_guard lock(mutex_);
    if (started_) return Fail(kBusy, "the engine steps itself (bittern_engine_start)");
  }
  return engine_->Step();
}

}  // namespace
}  // namespace bittern::capi

using namespace bittern;        // NOLINT: the C functions below stand outside of any namespace
using namespace bittern::capi;  // NOLINT

bittern_status bittern_engine_create(const bittern_model* model, const bittern_options* options,
                                     bittern_engine** engine) {
  return Call([&]() -> Result<void> {
    auto found = BITTERN_TRY(Find<ModelObject>(model));
    BITTERN_TRY(NeedPointer(engine, "engine"));
    const Settings settings = BITTERN_TRY(SettingsOf(options));
    const runtime::EngineOptions wanted = EngineOptionsOf(settings);
    auto made = BITTERN_TRY(runtime::EngineThread::Create(found->loaded, wanted));
    *engine = static_cast<bittern_engine*>(AddHandle(
        std::make_shared<EngineObject>(std::move(found), std::move(made), wanted.kv_type)));
    return {};
  });
}

void bittern_engine_free(bittern_engine* engine) {
  const auto removed = RemoveHandle(engine, EngineObject::kKind);
  if (removed) static_cast<EngineObject&>(*removed).Stop();
}

bittern_status bittern_engine_start(bittern_engine* engine) {
  return Call([&]() -> Result<void> {
    const auto found = BITTERN_TRY(Find<EngineObject>(engine));
    return found->Start(found);
  });
}

/// The ids are copied, and may go when the call returns.
bittern_status bittern_engine_submit(bittern_engine* engine, const int32_t* ids, size_t count,
                                     const bittern_options* options, bittern_text_fn on_text,
                                     bittern_done_fn on_done, void* user, uint64_t* request) {
  return Call([&]() -> Result<void> {
    const auto found = BITTERN_TRY(Find<EngineObject>(engine));
    BITTERN_TRY(NeedArray(ids, count, "ids"));
    BITTERN_TRY(NeedPointer(reinterpret_cast<const void*>(on_done), "on_done"));
    const Settings settings = BITTERN_TRY(SettingsOf(options));
    auto generate = BITTERN_TRY(GenerateOptionsOf(settings, &found->model()));
    const auto span = IdSpan(ids, count);
    const auto job = std::make_shared<Job>();
    job->on_done = on_done;
    job->user = user;
    job->request.prompts = {{span.begin(), span.end()}};
    job->request.options = std::move(generate);
    job->request.receipt = WantsReceipt(settings);
    const std::uint64_t number = BITTERN_TRY(found->Submit(job, on_text));
    if (request != nullptr) *request = number;
    return {};
  });
}

/// The settings are the defaults; the body's fields win over them.
bittern_status bittern_engine_submit_json(bittern_engine* engine, const char* body, size_t size,
                                          const bittern_options* options, bittern_text_fn on_text,
                                          bittern_done_fn on_done, void* user, uint64_t* request) {
  return Call([&]() -> Result<void> {
    const auto found = BITTERN_TRY(Find<EngineObject>(engine));
    BITTERN_TRY(NeedArray(body, size, "body"));
    BITTERN_TRY(NeedPointer(reinterpret_cast<const void*>(on_done), "on_done"));
    const Settings settings = BITTERN_TRY(SettingsOf(options));
    const auto defaults = BITTERN_TRY(GenerateOptionsOf(settings, &found->model()));
    const Json json = BITTERN_TRY(request::ParseBody({body, size}));
    const auto job = std::make_shared<Job>();
    job->on_done = on_done;
    job->user = user;
    job->is_body = true;
    job->request = BITTERN_TRY(request::ReadTextRequest(found->target(), json, defaults));
    BITTERN_TRY(request::RefuseForServer(job->request));
    job->request.receipt = job->request.receipt || WantsReceipt(settings);
    const std::uint64_t number = BITTERN_TRY(found->Submit(job, on_text));
    if (request != nullptr) *request = number;
    return {};
  });
}

/// The seed of a line that names none is 0, so that its result is always the same.
bittern_status bittern_engine_submit_line(bittern_engine* engine, const char* line, size_t size,
                                          uint64_t number, const bittern_options* options,
                                          bittern_done_fn on_done, void* user, uint64_t* request) {
  return Call([&]() -> Result<void> {
    const auto found = BITTERN_TRY(Find<EngineObject>(engine));
    BITTERN_TRY(NeedArray(line, size, "line"));
    BITTERN_TRY(NeedPointer(reinterpret_cast<const void*>(on_done), "on_done"));
    const Settings settings = BITTERN_TRY(SettingsOf(options));
    auto defaults = BITTERN_TRY(GenerateOptionsOf(settings, &found->model()));
    if (!settings.contains("seed")) defaults.sampler.seed = 0;
    const auto job = std::make_shared<Job>();
    job->on_done = on_done;
    job->user = user;
    const std::uint64_t queued = BITTERN_TRY(found->SubmitLine(
        job, request::ReadBatchLine({line, size}, static_cast<std::size_t>(number), found->target(),
                                    defaults)));
    if (request != nullptr) *request = queued;
    return {};
  });
}

bittern_status bittern_engine_cancel(bittern_engine* engine, uint64_t request) {
  return Call([&]() -> Result<void> {
    const auto found = BITTERN_TRY(Find<EngineObject>(engine));
    found->Cancel(request);
    return {};
  });
}

bittern_status bittern_engine_step(bittern_engine* engine, int32_t* more) {
  return Call([&]() -> Result<void> {
    const auto found = BITTERN_TRY(Find<EngineObject>(engine));
    const bool left = BITTERN_TRY(found->Step());
    if (more != nullptr) *more = left ? 1 : 0;
    return {};
  });
}

/// Ends with an error where another thread starts the engine between two steps.
bittern_status bittern_engine_run(bittern_engine* engine) {
  return Call([&]() -> Result<void> {
    const auto found = BITTERN_TRY(Find<EngineObject>(engine));
    while (BITTERN_TRY(found->Step())) {
    }
    return {};
  });
}

/// As they were after the last step, so the call waits for none.
bittern_status bittern_engine_stats(bittern_engine* engine, bittern_result** result) {
  return Call([&]() -> Result<void> {
    const auto found = BITTERN_TRY(Find<EngineObject>(engine));
    BITTERN_TRY(NeedPointer(result, "result"));
    const runtime::EngineStats stats = found->Stats();
    auto given = std::make_shared<ResultObject>();
    given->json = Json{{"steps", stats.steps},
                       {"rows", stats.rows},
                       {"running", stats.running},
                       {"waiting", stats.waiting},
                       {"pages", stats.pages},
                       {"free_pages", stats.free_pages},
                       {"page_bytes", stats.page_bytes},
                       {"preemptions", stats.preemptions},
                       {"prefix_asked_tokens", stats.prefix_cache.asked_tokens},
                       {"prefix_found_tokens", stats.prefix_cache.found_tokens},
                       {"prefix_bytes", stats.prefix_cache.bytes}}
                      .Dump();
    Give(std::move(given), result);
    return {};
  });
}
