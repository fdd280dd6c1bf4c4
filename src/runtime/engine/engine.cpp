// SPDX-License-Identifier: Apache-2.0
// A step: end what is cancelled, let sequences join, ask the policy, give pages, run the pass,
// sample. Everything but the pass itself is one thread's work.
#include "runtime/engine/engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <optional>
#include <utility>

#include "runtime/engine/cache_size.hpp"
#include "runtime/engine/prefix_cache.hpp"
#include "runtime/execution_resources.hpp"
#include "runtime/pooled_hidden.hpp"
#include "runtime/prompt_check.hpp"
#include "runtime/sequence.hpp"
#include "runtime/session_state.hpp"

namespace bittern::runtime {
namespace {

constexpr std::size_t kMostKept = 4;  // copies of the recurrent state of a prompt

using Clock = std::chrono::steady_clock;

double SecondsBetween(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

/// One request on its way: a sequence whose tokens are the prompt and the text after it.
struct Job {
  Job(SequenceId number, Request made, Sequence read, Generation text)
      : id(number), request(std::move(made)), sequence(std::move(read)) {
    sequence.Append(request.prompt);
    sequence.Start(std::move(text));
    if (WantsAllHidden()) sequence.WantFrom(0);
  }

  /// A vector is wanted that is made of more positions than the last one: none may be found in the
  /// prefix cache, which has no hidden states.
  [[nodiscard]] bool WantsAllHidden() const noexcept {
    return request.vector && request.vector->pooling != Pooling::kLast;
  }

  [[nodiscard]] Generation& generation() noexcept { return *sequence.generation(); }
  [[nodiscard]] bool wants_to_end() const noexcept {
    const std::atomic<bool>* cancel = request.options.cancel;
    return cancelled || (cancel != nullptr && cancel->load(std::memory_order_relaxed));
  }
  [[nodiscard]] SequenceView View(const PrefixCache& prefixes) const noexcept {
    return {.arrival = arrival,
            .length = sequence.length(),
            .left_to_read = sequence.left_to_read(),
            .pages = static_cast<int>(sequence.pages().pages().size()),
            .copies_last = CopiesLast(prefixes)};
  }
  /// Whether writing needs a copy of the last page. Where the prefix cache alone shares it, the
  /// cache can do without (Reserve): else a pool without a page to spare would wait for ever.
  [[nodiscard]] bool CopiesLast(const PrefixCache& prefixes) const noexcept {
    if (sequence.length() % model::kPagePositions == 0) return false;
    const std::uint32_t last =
        sequence.pages()
            .pages()[static_cast<std::size_t>(sequence.length() / model::kPagePositions)];
    const int references = sequence.pages().pool().references(last);
    return references > 2 || (references == 2 && !prefixes.CanForget(last));
  }
  /// The times up to `now`; phases that have not begun are 0.
  [[nodiscard]] SequenceTimings TimingsAt(Clock::time_point now) const noexcept {
    SequenceTimings so_far = timings;
    const Clock::time_point first_run = started.value_or(now);
    const Clock::time_point first_token = first_sampled.value_or(now);
    so_far.queued_s = SecondsBetween(submitted, first_run);
    so_far.prompt_s = SecondsBetween(first_run, first_token);
    so_far.predicted_s = SecondsBetween(first_token, now);
    so_far.sampled_tokens = sequence.generation()->sampled();
    return so_far;
  }
  void TellProgress(Clock::time_point now) const {
    if (request.on_progress) request.on_progress(TimingsAt(now));
  }
  /// The first `length` tokens have run or were found. Tells of it where that is more of the prompt
  /// than before: a sequence that was preempted reads some of it again.
  void NoteRead(int length, Clock::time_point now) {
    const int read = std::min(length, timings.prompt_tokens);
    if (read <= timings.read_tokens) return;
    timings.read_tokens = read;
    TellProgress(now);
  }

  /// Which of two waiting jobs joins first.
  [[nodiscard]] std::pair<std::uint64_t, SequenceId> place() const noexcept { return {turn, id}; }

  SequenceId id;
  std::uint64_t turn = 0;     // of joining
  std::uint64_t arrival = 0;  // counts those that joined; 0: it never did
  Request request;
  Sequence sequence;
  std::optional<PooledHidden> pooled = {};  // so far, with request.vector
  bool cancelled = false;
  bool gave_up_alone = false;  // nothing ran beside it: what it shares was in its way
  SequenceTimings timings = {};
  Clock::time_point submitted = Clock::now();
  std::optional<Clock::time_point> started = {}, first_sampled = {};
};

/// The jobs of a step and their parts of its pass, in the same order.
struct Pass {
  std::vector<Job*> jobs = {};
  std::vector<Part> parts = {};
  double seconds = 0;
};

}  // namespace

/// A job is in `waiting` (by place) or in `running`, never in both. All of it belongs to the
/// thread that calls Step.
struct Engine::Impl {
  std::unique_ptr<ExecutionResources> resources;
  PrefixCache prefixes;
  std::shared_ptr<SchedulingPolicy> policy;
  int context_length;
  bool keeps_prefixes;
  StepLimits limits;  // without free_pages
  std::deque<std::unique_ptr<Job>> waiting = {};
  std::vector<std::unique_ptr<Job>> running = {};
  DraftPolicy drafts = {};
  SequenceId next_id = 1;
  std::uint64_t turn = 0,
                arrivals = 0;  // the last one that joined for the first time; how many did
  std::uint64_t steps = 0, rows = 0, preemptions = 0;

  [[nodiscard]] StepLimits Limits();
  [[nodiscard]] std::size_t HiddenSize() const noexcept {
    return static_cast<std::size_t>(resources->model().model.config().hidden_size);
  }
  void EndCancelled();
  void Admit();
  void Queue(std::unique_ptr<Job> job);
  void Preempt(const std::vector<std::size_t>& indices);
  [[nodiscard]] bool Reserve(model::KvSequence* pages, int tokens);
  [[nodiscard]] Pass MakePass(const StepPlan& plan);
  [[nodiscard]] std::vector<std::optional<Error>> Run(Pass* pass);
  [[nodiscard]] std::optional<Error> Absorb(Job* job, const Part& part, const Pass& pass);
  void KeepPrefix(Job* job, bool whole_pages_only);
  void End(std::unique_ptr<Job> job, std::optional<Error> error);
  void EndIf(const std::function<bool(Job*, std::optional<Error>*)>& ended);
};

/// Pages that the prefix cache would give back count as free.
StepLimits Engine::Impl::Limits() {
  StepLimits now = limits;
  now.free_pages = resources->pages().free_pages() + prefixes.evictable_pages();
  return now;
}

/// Keeps the pages of the positions that have run. A sequence that goes on writing keeps its last,
/// partial page for itself, so that it need not be copied.
void Engine::Impl::KeepPrefix(Job* job, bool whole_pages_only) {
  Sequence& sequence = job->sequence;
  int length = sequence.length();
  if (whole_pages_only) length -= length % model::kPagePositions;
  if (!whole_pages_only && keeps_prefixes) static_cast<void>(sequence.pages().KeepState());
  prefixes.Insert(sequence.tokens().first(static_cast<std::size_t>(length)), sequence.pages());
}

/// Reports the end of a job and gives its pages back.
void Engine::Impl::End(std::unique_ptr<Job> job, std::optional<Error> error) {
  if (!error && !job->WantsAllHidden()) KeepPrefix(job.get(), false);
  job->sequence.Unload();
  const SequenceTimings timings = job->TimingsAt(Clock::now());
  Result<GenerateResult> result = [&]() -> Result<GenerateResult> {
    if (error) return tl::unexpected(std::move(*error));
    return job->generation().Finish();
  }();
  std::vector<float> vector;
  if (result && job->pooled) vector = job->pooled->Finish(job->request.vector->normalize);
  if (job->request.on_done) {
    job->request.on_done({job->id, std::move(result), timings, std::move(vector)});
  }
}

/// Ends the running jobs for which `ended` returns true.
void Engine::Impl::EndIf(const std::function<bool(Job*, std::optional<Error>*)>& ended) {
  std::vector<std::pair<std::unique_ptr<Job>, std::optional<Error>>> done;
  for (std::unique_ptr<Job>& job : running) {
    std::optional<Error> error;
    if (ended(job.get(), &error)) done.emplace_back(std::move(job), std::move(error));
  }
  std::erase(running, nullptr);
  for (auto& [job, error] : done) End(std::move(job), std::move(error));
}

/// Ends jobs that were cancelled, the waiting ones, too. on_done may call Submit, which changes
/// `waiting`: so jobs are taken out first and reported afterwards.
void Engine::Impl::EndCancelled() {
  const auto cancel = [](Job* job) {
    if (!job->wants_to_end()) return false;
    job->generation().End(FinishReason::kCancelled);
    return true;
  };
  EndIf([&](Job* job, std::optional<Error>*) { return cancel(job); });
  std::vector<std::unique_ptr<Job>> done;
  for (std::unique_ptr<Job>& job : waiting) {
    if (cancel(job.get())) done.push_back(std::move(job));
  }
  std::erase(waiting, nullptr);
  for (auto& job : done) End(std::move(job), std::nullopt);
}

/// Puts a job to its place in the queue.
void Engine::Impl::Queue(std::unique_ptr<Job> job) {
  const auto place = std::ranges::upper_bound(waiting, job->place(), {},
                                              [](const auto& other) { return other->place(); });
  waiting.insert(place, std::move(job));
}

/// Moves jobs from the queue to the running ones, in order. A large job that does not fit holds up
/// those behind it: else small ones would pass it for ever.
void Engine::Impl::Admit() {
  while (!waiting.empty()) {
    Job& next = *waiting.front();
    const int tokens = static_cast<int>(next.sequence.tokens().size());
    if (!policy->Admits(tokens, running.size(), Limits())) return;
    // The last token must run, for its logits.
    const int most = next.gave_up_alone || next.WantsAllHidden() ? 0 : tokens - 1;
    if (next.pooled) next.pooled->Reset();  // what was read before it gave its pages up
    const int found = prefixes.Attach(next.sequence.tokens(), most, &next.sequence.pages());
    next.sequence.NotePages();
    if (!next.started) {
      turn = next.turn;
      next.arrival = ++arrivals;
      next.started = Clock::now();
      next.timings.prompt_tokens = static_cast<int>(next.request.prompt.size());
      next.timings.cached_tokens = found;
      next.timings.read_tokens = found;
      next.TellProgress(*next.started);
    }
    running.push_back(std::move(waiting.front()));
    waiting.pop_front();
  }
}

/// Sends running jobs back to the front of the queue, in the order in which they joined.
void Engine::Impl::Preempt(const std::vector<std::size_t>& indices) {
  for (const std::size_t i : indices) {
    std::unique_ptr<Job>& job = running[i];
    job->gave_up_alone = running.size() == 1;
    KeepPrefix(job.get(), false);  // what is not evicted meanwhile need not be computed again
    job->sequence.Unload();
    ++job->timings.preemptions;
    ++preemptions;
    Queue(std::move(job));
  }
  std::erase(running, nullptr);
}

/// Room for more tokens, if need be instead of pages of the prefix cache.
bool Engine::Impl::Reserve(model::KvSequence* pages, int tokens) {
  while (!pages->Reserve(tokens)) {
    if (prefixes.Evict()) continue;
    // The last page may be shared with the prefix cache only: then it need not be copied.
    const auto last = static_cast<std::size_t>(pages->length() / model::kPagePositions);
    if (last >= pages->pages().size() || !prefixes.Forget(pages->pages()[last])) return false;
  }
  return true;
}

/// Frees the pages of preempted jobs and gives pages to the others; one that gets none waits. Rows
/// of the step that no job reads with are left for drafts.
Pass Engine::Impl::MakePass(const StepPlan& plan) {
  std::vector<std::pair<Job*, int>> planned;
  int spare = limits.max_tokens;
  for (const StepPlan::Run& run : plan.run) {
    planned.emplace_back(running[run.index].get(), run.tokens);
    spare -= run.tokens;
  }
  Preempt(plan.preempt);
  Pass pass;
  for (const auto& [job, tokens] : planned) {
    const bool reads = job->sequence.left_to_read() > 0;
    Part part = job->sequence.Plan({.tokens = static_cast<std::size_t>(reads ? tokens : 1 + spare),
                                    .may_draft = planned.size() == 1});
    part.tag = static_cast<int>(job->id & 0x7fffffffu);
    if (job->pooled) part.request = {.hidden_size = HiddenSize()};
    const int count = static_cast<int>(part.tokens.size());
    if (part.drafts) spare -= count - 1;
    if (!Reserve(&job->sequence.pages(), count)) continue;
    pass.jobs.push_back(job);
    pass.parts.push_back(std::move(part));
  }
  return pass;
}

/// The pass, and what it gave. Returns an error for each job that ends with one.
std::vector<std::optional<Error>> Engine::Impl::Run(Pass* pass) {
  std::vector<std::optional<Error>> errors(pass->jobs.size());
  if (pass->jobs.empty()) return errors;
  std::size_t tokens = 0;
  for (const Part& part : pass->parts) tokens += part.tokens.size();
  rows += tokens;
  const model::PassWatcher watcher = [&](int) {
    return !std::ranges::all_of(pass->jobs, [](const Job* job) { return job->wants_to_end(); });
  };
  const Clock::time_point begin = Clock::now();
  const Result<void> done = RunParts(resources.get(), pass->parts, &watcher, &errors);
  pass->seconds = SecondsBetween(begin, Clock::now());
  if (!done) {  // kCancelled: every job in the pass is
    const bool cancelled = done.error().code == ErrorCode::kCancelled;
    errors.assign(pass->jobs.size(), cancelled ? std::nullopt : std::optional(done.error()));
    return errors;
  }
  policy->Observe(tokens, pass->seconds);
  for (std::size_t i = 0; i < pass->jobs.size(); ++i) {
    if (!errors[i]) errors[i] = Absorb(pass->jobs[i], pass->parts[i], *pass);
  }
  return errors;
}

/// Samples what a job's part of the pass has given.
std::optional<Error> Engine::Impl::Absorb(Job* job, const Part& part, const Pass& pass) {
  Generation& generation = job->generation();
  if (!part.drafts) job->NoteRead(job->sequence.length(), Clock::now());
  if (part.rows == 0 || generation.finish()) return std::nullopt;
  if (job->pooled) {
    const std::span<const float> hidden = job->sequence.results().hidden;
    for (std::size_t i = 0; i < part.rows; ++i) {
      job->pooled->Add(hidden.subspan(i * HiddenSize(), HiddenSize()));
    }
    if (job->sequence.left_to_read() == 0) generation.End(FinishReason::kLength);
    return std::nullopt;
  }
  auto used = job->sequence.Sample(part);
  if (!used) return std::move(used).error();
  if (part.drafts && pass.jobs.size() == 1) generation.ObservePass(pass.seconds, *used);
  if (!job->first_sampled) {
    job->first_sampled = Clock::now();
    KeepPrefix(job, /*whole_pages_only=*/true);  // for those that come meanwhile
  }
  return std::nullopt;
}

/// The bound of 2^24 pages keeps products of pages in range.
Result<Engine> Engine::Create(std::shared_ptr<const LoadedModel> model,
                              const EngineOptions& options) {
  const int limit = model->model.config().context_length;
  const auto check = [](const char* what, int value, int least, int most) -> Result<void> {
    if (value >= least && value <= most) return {};
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("{}: {}..{} expected, {} found", what, least, most, value));
  };
  BITTERN_TRY(check("context length", options.context_length, 0, limit));
  BITTERN_TRY(check("batch size", options.batch_size, 1, 1 << 20));
  BITTERN_TRY(check("number of sequences", options.max_sequences, 1, 1 << 20));
  const int context = options.context_length == 0 ? limit : options.context_length;
  const int pages_of_one = model::PagesFor(context);
  if (std::int64_t{pages_of_one} * options.max_sequences > (1 << 24)) {
    return Fail(ErrorCode::kOutOfMemory, fmt::format("{} sequences of {} tokens are too many",
                                                     options.max_sequences, context));
  }
  int cache_tokens = options.cache_tokens;
  if (cache_tokens == 0) {
    cache_tokens = BITTERN_TRY(CacheTokens(model->model.config(), context, options.max_sequences,
                                           kDefaultCacheBytes, options.kv_type));
  }
  BITTERN_TRY(check("cache tokens", cache_tokens, context, INT32_MAX));
  const int num_pages = model::PagesFor(cache_tokens);
  const int batch_size =
      std::max(1, static_cast<int>(std::min<std::int64_t>(
                      options.batch_size, std::int64_t{context} * options.max_sequences)));
  auto resources = BITTERN_TRY(
      ExecutionResources::Create(std::move(model), {.max_tokens = batch_size,
                                                    .max_positions = context,
                                                    .num_pages = num_pages,
                                                    .num_threads = options.num_threads,
                                                    .screened_rows = options.max_sequences,
                                                    .kv_type = options.kv_type}));
  model::KvPool* pages = &resources->pages();
  return Engine(std::unique_ptr<Impl>(
      new Impl{.resources = std::move(resources),
               .prefixes = PrefixCache(pages, options.prefix_cache ? num_pages : 0),
               .policy = options.policy ? options.policy : std::make_shared<FairPolicy>(),
               .context_length = context,
               .keeps_prefixes = options.prefix_cache,
               .limits = {.max_tokens = batch_size, .max_sequences = options.max_sequences}}));
}

Engine::Engine(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Engine::Engine(Engine&&) noexcept = default;
Engine& Engine::operator=(Engine&&) noexcept = default;
Engine::~Engine() = default;

/// The generation's on_text needs the job, but the job is made after the generation. So `made` is
/// filled in last. A new request gets the next turn, so it never overtakes those that wait.
Result<SequenceId> Engine::Submit(Request request) {
  const model::ModelConfig& config = model().model.config();
  BITTERN_TRY(CheckPrompt(request.prompt, config.vocab_size, impl_->context_length));
  const auto made = std::make_shared<Job*>(nullptr);  // before its generation gives text
  auto on_text = request.on_text;
  if (on_text && request.on_progress) {
    on_text = [made, next = std::move(on_text)](std::string_view text) {
      (*made)->TellProgress(Clock::now());
      return next(text);
    };
  }
  Generation generation = BITTERN_TRY(Generation::Create(impl_->resources->model(), request.options,
                                                         std::move(on_text), &impl_->drafts));
  generation.AddContext(request.prompt);
  const SequenceId id = impl_->next_id++;
  const auto turn = static_cast<std::uint64_t>(std::max(request.turn, 0));
  auto job = std::make_unique<Job>(id, std::move(request),
                                   Sequence(&impl_->resources->pages(), impl_->context_length),
                                   std::move(generation));
  job->turn = impl_->turn + 1 + turn;
  if (impl_->keeps_prefixes) job->sequence.KeepStates(kMostKept);
  if (job->request.vector) {
    job->pooled.emplace(job->request.vector->pooling, config.hidden_size);
  }
  *made = job.get();
  impl_->Queue(std::move(job));
  return id;
}

void Engine::Cancel(SequenceId id) noexcept {
  for (auto& job : impl_->running) {
    if (job->id == id) job->cancelled = true;
  }
  for (auto& job : impl_->waiting) {
    if (job->id == id) job->cancelled = true;
  }
}

/// In this order: end what was cancelled, admit, plan, make room, run one pass, end what is done.
bool Engine::Step() {
  Impl& impl = *impl_;
  impl.EndCancelled();
  impl.Admit();
  if (impl.running.empty()) return !impl.waiting.empty();
  ++impl.steps;
  std::vector<SequenceView> views;
  views.reserve(impl.running.size());
  for (const auto& job : impl.running) views.push_back(job->View(impl.prefixes));
  const StepPlan plan = impl.policy->Next(views, impl.Limits());
  Pass pass = impl.MakePass(plan);
  if (pass.jobs.empty() && impl.running.size() > 1) {
    // Pages that sequences share are not free when one of them gives them up: take more.
    const auto youngest =
        std::ranges::max_element(impl.running, {}, [](const auto& job) { return job->arrival; });
    impl.Preempt({static_cast<std::size_t>(youngest - impl.running.begin())});
  }
  std::vector<std::optional<Error>> errors = impl.Run(&pass);
  impl.EndIf([&](Job* job, std::optional<Error>* error) {
    for (std::size_t i = 0; i < errors.size(); ++i) {
      if (pass.jobs[i] == job) *error = std::move(errors[i]);
    }
    return error->has_value() || job->generation().finish().has_value();
  });
  return !impl.running.empty() || !impl.waiting.empty();
}

std::string Engine::SavePrefix(std::span<const TokenId> tokens, int* saved) {
  model::KvSequence known(&impl_->resources->pages());
  *saved = impl_->prefixes.Attach(tokens, static_cast<int>(tokens.size()), &known);
  return WriteSessionState(model().model.config(), tokens.first(static_cast<std::size_t>(*saved)),
                           known);
}

Result<std::vector<TokenId>> Engine::RestorePrefix(std::span<const std::byte> bytes) {
  const auto reserve = [&](model::KvSequence* pages, int tokens) -> Result<void> {
    if (impl_->Reserve(pages, tokens)) return {};
    return Fail(ErrorCode::kOutOfMemory,
                "running sequences need the memory for keys and values; try again later");
  };
  Sequence restored = BITTERN_TRY(Sequence::Restore(
      bytes, model().model.config(), &impl_->resources->pages(), impl_->context_length, reserve));
  static_cast<void>(restored.pages().KeepState());
  impl_->prefixes.Insert(restored.tokens(), restored.pages());
  return std::vector<TokenId>(restored.tokens().begin(), restored.tokens().end());
}

int Engine::ErasePrefix(std::span<const TokenId> tokens) { return impl_->prefixes.Erase(tokens); }

std::size_t Engine::active() const noexcept {
  return impl_->running.size() + impl_->waiting.size();
}
EngineStats Engine::stats() const noexcept {
  const model::KvPool& pages = impl_->resources->pages();
  return {.steps = impl_->steps,
          .rows = impl_->rows,
          .running = impl_->running.size(),
          .waiting = impl_->waiting.size(),
          .pages = pages.num_pages(),
          .free_pages = pages.free_pages(),
          .page_bytes = pages.page_bytes(),
          .preemptions = impl_->preemptions,
          .prefix_cache = impl_->prefixes.stats()};
}
int Engine::context_length() const noexcept { return impl_->context_length; }
int Engine::num_threads() const noexcept { return impl_->resources->num_threads(); }
const LoadedModel& Engine::model() const noexcept { return impl_->resources->model(); }
void Engine::SetTracer(model::Tracer* tracer) noexcept { impl_->resources->SetTracer(tracer); }

}  // namespace bittern::runtime
