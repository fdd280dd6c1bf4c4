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

#include "runtime/generation.hpp"
#include "runtime/machine.hpp"
#include "runtime/session_state.hpp"

namespace bittern::runtime {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsBetween(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

/// One request on its way. `tokens` are the prompt and what was sampled; the first cache.length()
/// of them have run.
struct Sequence {
  Sequence(SequenceId number, Request made, Generation text, model::KvPool* pages)
      : id(number),
        request(std::move(made)),
        generation(std::move(text)),
        cache(pages),
        tokens(request.prompt) {}

  [[nodiscard]] int left_to_read() const noexcept {
    const int left = static_cast<int>(tokens.size()) - cache.length();
    // The token sampled last is run with its draft: that is generating, not reading.
    return sampled() && left == 1 ? 0 : left;
  }
  [[nodiscard]] bool sampled() const noexcept { return generation.sampled() > 0; }
  [[nodiscard]] bool wants_to_end() const noexcept {
    const std::atomic<bool>* cancel = request.options.cancel;
    return cancelled || (cancel != nullptr && cancel->load(std::memory_order_relaxed));
  }
  [[nodiscard]] SequenceView View(const PrefixCache& prefixes) const noexcept {
    return {.arrival = id,
            .length = cache.length(),
            .left_to_read = left_to_read(),
            .pages = static_cast<int>(cache.pages().size()),
            .copies_last = CopiesLast(prefixes)};
  }
  /// Whether writing needs a copy of the last page. Where the prefix cache alone shares it, the
  /// cache can do without (Reserve): else a pool without a page to spare would wait for ever.
  [[nodiscard]] bool CopiesLast(const PrefixCache& prefixes) const noexcept {
    if (cache.length() % model::kPagePositions == 0) return false;
    const std::uint32_t last =
        cache.pages()[static_cast<std::size_t>(cache.length() / model::kPagePositions)];
    const int references = cache.pool().references(last);
    return references > 2 || (references == 2 && !prefixes.CanForget(last));
  }
  [[nodiscard]] SequenceTimings TimingsAt(Clock::time_point now) const noexcept {
    SequenceTimings so_far = timings;
    const Clock::time_point first_run = started.value_or(now);
    const Clock::time_point first_token = first_sampled.value_or(now);
    so_far.queued_s = SecondsBetween(submitted, first_run);
    so_far.prompt_s = SecondsBetween(first_run, first_token);
    so_far.predicted_s = SecondsBetween(first_token, now);
    so_far.sampled_tokens = generation.sampled();
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

  SequenceId id;
  Request request;
  Generation generation;
  model::KvSequence cache;
  std::vector<TokenId> tokens;
  RowResults results = {};
  std::optional<Error> error = {};  // in a part of the prompt
  bool cancelled = false;
  bool gave_up_alone = false;  // nothing ran beside it: what it shares was in its way
  SequenceTimings timings = {};
  Clock::time_point submitted = Clock::now();
  std::optional<Clock::time_point> started = {}, first_sampled = {};
};

/// A sequence's part in a pass.
struct Part {
  Sequence* sequence;
  int planned;                       // tokens that the policy gave it
  std::vector<TokenId> window = {};  // the tokens of the segment
  bool generates = false;            // window is the token sampled last and a draft; else it reads
  bool samples = false;              // the window ends with the last token known
};

}  // namespace

struct Engine::Impl {
  std::unique_ptr<Machine> machine;
  PrefixCache prefixes;
  std::shared_ptr<SchedulingPolicy> policy;
  int context_length;
  StepLimits limits;  // without free_pages
  std::deque<std::unique_ptr<Sequence>> waiting = {};
  std::vector<std::unique_ptr<Sequence>> running = {};
  DraftPolicy drafts = {};
  SequenceId next_id = 1;
  std::uint64_t steps = 0, rows = 0, preemptions = 0;

  Result<void> Check(const Request& request) const;
  [[nodiscard]] StepLimits Limits();
  void EndCancelled();
  void Admit();
  void Preempt(const std::vector<std::size_t>& indices);
  void MakeWindow(Part* part, bool alone, int* spare);
  [[nodiscard]] bool Reserve(Sequence* sequence, int tokens);
  [[nodiscard]] std::vector<Part> MakeParts(const StepPlan& plan);
  [[nodiscard]] Result<void> RunPass(std::span<const Part> parts, double* seconds);
  [[nodiscard]] std::optional<Error> Absorb(const Part& part, double seconds, bool alone);
  void ShareFailures(std::span<const Part> parts);
  void KeepPrefix(const Sequence& sequence, bool whole_pages_only);
  void End(std::unique_ptr<Sequence> sequence, std::optional<Error> error);
  void EndIf(const std::function<bool(Sequence*, std::optional<Error>*)>& ended);
};

Result<void> Engine::Impl::Check(const Request& request) const {
  const std::size_t vocab_size = machine->vocab_size();
  if (request.prompt.empty()) {
    return Fail(ErrorCode::kInvalidArgument, "there are no tokens to run");
  }
  for (const TokenId id : request.prompt) {
    if (id >= 0 && static_cast<std::size_t>(id) < vocab_size) continue;
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("token id {} is outside the vocabulary (0..{})", id, vocab_size - 1));
  }
  if (request.prompt.size() > static_cast<std::size_t>(context_length)) {
    return Fail(ErrorCode::kContextFull,
                fmt::format("the prompt has {} tokens, the context holds {}", request.prompt.size(),
                            context_length));
  }
  return {};
}

StepLimits Engine::Impl::Limits() {
  StepLimits now = limits;
  now.free_pages = machine->pages().free_pages() + prefixes.evictable_pages();
  return now;
}

/// Keeps the pages of the positions that have run. A sequence that goes on writing keeps its last,
/// partial page for itself, so that it need not be copied.
void Engine::Impl::KeepPrefix(const Sequence& sequence, bool whole_pages_only) {
  int length = sequence.cache.length();
  if (whole_pages_only) length -= length % model::kPagePositions;
  prefixes.Insert(std::span(sequence.tokens).first(static_cast<std::size_t>(length)),
                  sequence.cache);
}

/// Reports the end of a sequence and gives its pages back.
void Engine::Impl::End(std::unique_ptr<Sequence> sequence, std::optional<Error> error) {
  if (!error) KeepPrefix(*sequence, false);
  sequence->cache.Truncate(0);
  const SequenceTimings timings = sequence->TimingsAt(Clock::now());
  Result<GenerateResult> result = [&]() -> Result<GenerateResult> {
    if (error) return tl::unexpected(std::move(*error));
    return sequence->generation.Finish();
  }();
  if (sequence->request.on_done) {
    sequence->request.on_done({sequence->id, std::move(result), timings});
  }
}

/// Ends the running sequences for which `ended` returns true.
void Engine::Impl::EndIf(const std::function<bool(Sequence*, std::optional<Error>*)>& ended) {
  std::vector<std::pair<std::unique_ptr<Sequence>, std::optional<Error>>> done;
  for (std::unique_ptr<Sequence>& sequence : running) {
    std::optional<Error> error;
    if (ended(sequence.get(), &error)) done.emplace_back(std::move(sequence), std::move(error));
  }
  std::erase(running, nullptr);
  for (auto& [sequence, error] : done) End(std::move(sequence), std::move(error));
}

void Engine::Impl::EndCancelled() {
  const auto cancel = [](Sequence* sequence) {
    if (!sequence->wants_to_end()) return false;
    sequence->generation.End(FinishReason::kCancelled);
    return true;
  };
  EndIf([&](Sequence* sequence, std::optional<Error>*) { return cancel(sequence); });
  std::vector<std::unique_ptr<Sequence>> done;
  for (std::unique_ptr<Sequence>& sequence : waiting) {
    if (cancel(sequence.get())) done.push_back(std::move(sequence));
  }
  std::erase(waiting, nullptr);
  for (auto& sequence : done) End(std::move(sequence), std::nullopt);
}

void Engine::Impl::Admit() {
  while (!waiting.empty()) {
    Sequence& next = *waiting.front();
    if (!policy->Admits(static_cast<int>(next.tokens.size()), running.size(), Limits())) return;
    // The last token must run, for its logits.
    const int most = next.gave_up_alone ? 0 : static_cast<int>(next.tokens.size()) - 1;
    const int found = prefixes.Attach(next.tokens, most, &next.cache);
    if (!next.started) {
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

/// Sends running sequences back to the queue, in the order in which they came.
void Engine::Impl::Preempt(const std::vector<std::size_t>& indices) {
  for (const std::size_t i : indices) {
    std::unique_ptr<Sequence>& sequence = running[i];
    sequence->gave_up_alone = running.size() == 1;
    KeepPrefix(*sequence, false);  // what is not evicted meanwhile need not be computed again
    sequence->cache.Truncate(0);
    ++sequence->timings.preemptions;
    ++preemptions;
    const auto place = std::ranges::upper_bound(waiting, sequence->id, {},
                                                [](const auto& other) { return other->id; });
    waiting.insert(place, std::move(sequence));
  }
  std::erase(running, nullptr);
}

/// Room for more tokens, if need be instead of pages of the prefix cache.
bool Engine::Impl::Reserve(Sequence* sequence, int tokens) {
  model::KvSequence& cache = sequence->cache;
  while (!cache.Reserve(tokens)) {
    if (prefixes.Evict()) continue;
    // The last page may be shared with the prefix cache only: then it need not be copied.
    const auto last = static_cast<std::size_t>(cache.length() / model::kPagePositions);
    if (last >= cache.pages().size() || !prefixes.Forget(cache.pages()[last])) return false;
  }
  return true;
}

/// The tokens that a sequence runs; `spare` rows of the step are left for drafts.
void Engine::Impl::MakeWindow(Part* part, bool alone, int* spare) {
  Sequence& sequence = *part->sequence;
  const int done = sequence.cache.length(), left = sequence.left_to_read();
  part->generates = left == 0;
  if (part->generates) {
    const int most = std::min(context_length - done, 1 + *spare);
    part->window = sequence.generation.NextWindow(static_cast<std::size_t>(most), alone);
    *spare -= static_cast<int>(part->window.size()) - 1;
    part->samples = true;
    return;
  }
  const int count = std::min(part->planned, left);
  const auto first = sequence.tokens.begin() + done;
  part->window.assign(first, first + count);
  part->samples = count == left;
}

/// Frees the pages of preempted sequences and gives pages to the others; one that gets none waits.
std::vector<Part> Engine::Impl::MakeParts(const StepPlan& plan) {
  std::vector<Part> parts, ready;
  int spare = limits.max_tokens;
  for (const StepPlan::Run& run : plan.run) {
    parts.push_back({running[run.index].get(), run.tokens});
    spare -= run.tokens;
  }
  Preempt(plan.preempt);
  for (Part& part : parts) {
    MakeWindow(&part, parts.size() == 1, &spare);
    if (!Reserve(part.sequence, static_cast<int>(part.window.size()))) continue;
    ready.push_back(std::move(part));
  }
  return ready;
}

/// One pass over the parts. Error kCancelled: every sequence in it is cancelled.
Result<void> Engine::Impl::RunPass(std::span<const Part> parts, double* seconds) {
  std::vector<model::Segment> segments;
  for (const Part& part : parts) {
    Sequence& sequence = *part.sequence;
    model::Segment segment{.sequence = &sequence.cache,
                           .tokens = part.window,
                           .tag = static_cast<int>(sequence.id & 0x7fffffffu)};
    if (part.samples) {
      // Rows of a draft are sampled one after the other; of a prompt only the last one.
      const std::size_t count = part.generates ? part.window.size() : 1;
      sequence.results.Prepare(count, sequence.generation.Wanted(count), machine->vocab_size(),
                               &segment);
    }
    segments.push_back(segment);
    rows += part.window.size();
  }
  const model::PassWatcher watcher = [&](int) {
    return !std::ranges::all_of(parts,
                                [](const Part& part) { return part.sequence->wants_to_end(); });
  };
  machine->state().SetWatcher(&watcher);
  const Clock::time_point begin = Clock::now();
  Result<void> done = machine->Run(segments);
  *seconds = SecondsBetween(begin, Clock::now());
  machine->state().SetWatcher(nullptr);
  if (done) ShareFailures(parts);
  return done;
}

/// Tells each sequence which of its tokens are not finite numbers; its neighbours go on.
void Engine::Impl::ShareFailures(std::span<const Part> parts) {
  auto failures = machine->state().failures();
  for (const Part& part : parts) {
    const auto mine = failures.first(part.window.size());
    failures = failures.subspan(part.window.size());
    Sequence& sequence = *part.sequence;
    const int first = sequence.cache.length() - static_cast<int>(part.window.size());
    sequence.error.reset();
    for (std::size_t i = 0; i < mine.size() && !part.generates && !sequence.error; ++i) {
      if (mine[i]) sequence.error = model::NotFiniteError(*mine[i], first + static_cast<int>(i));
    }
    if (!part.samples) continue;
    std::ranges::copy(mine.last(sequence.results.failures.size()),
                      sequence.results.failures.begin());
  }
}

/// Samples what a sequence's part of the pass has given.
std::optional<Error> Engine::Impl::Absorb(const Part& part, double seconds, bool alone) {
  Sequence& sequence = *part.sequence;
  Generation& generation = sequence.generation;
  if (sequence.error) return sequence.error;
  if (!part.generates) sequence.NoteRead(sequence.cache.length(), Clock::now());
  if (!part.samples || generation.finish()) return std::nullopt;
  const std::span<const TokenId> window(part.window);
  auto used = generation.Sample(part.generates ? window : window.last(1), 0, sequence.results);
  if (!used) return std::move(used).error();
  if (part.generates) {
    // Positions of a draft that did not come true are forgotten.
    const int before = sequence.cache.length() - static_cast<int>(window.size());
    sequence.cache.Truncate(before + static_cast<int>(*used));
    if (alone) generation.ObservePass(seconds, *used);
  }
  sequence.tokens.resize(sequence.request.prompt.size());
  sequence.tokens.insert(sequence.tokens.end(), generation.ids().begin(), generation.ids().end());
  if (!sequence.first_sampled) {
    sequence.first_sampled = Clock::now();
    KeepPrefix(sequence, /*whole_pages_only=*/true);  // for those that come meanwhile
  }
  if (!generation.finish() && sequence.cache.length() >= context_length) {
    generation.End(FinishReason::kContextFull);
  }
  return std::nullopt;
}

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
  const std::int64_t all = std::int64_t{pages_of_one} * options.max_sequences;
  if (all > (1 << 24)) {
    return Fail(ErrorCode::kOutOfMemory, fmt::format("{} sequences of {} tokens are too many",
                                                     options.max_sequences, context));
  }
  int num_pages = static_cast<int>(all);
  if (options.cache_tokens != 0) {
    BITTERN_TRY(check("cache tokens", options.cache_tokens, context, INT32_MAX));
    num_pages = model::PagesFor(options.cache_tokens);
  }
  const int batch_size =
      std::max(1, static_cast<int>(std::min<std::int64_t>(
                      options.batch_size, std::int64_t{context} * options.max_sequences)));
  auto machine =
      BITTERN_TRY(Machine::Create(std::move(model), {.max_tokens = batch_size,
                                                     .max_positions = context,
                                                     .num_pages = num_pages,
                                                     .num_threads = options.num_threads,
                                                     .screened_rows = options.max_sequences,
                                                     .kv_type = options.kv_type}));
  model::KvPool* pages = &machine->pages();
  return Engine(std::unique_ptr<Impl>(
      new Impl{.machine = std::move(machine),
               .prefixes = PrefixCache(pages, options.prefix_cache ? num_pages : 0),
               .policy = options.policy ? options.policy : std::make_shared<FairPolicy>(),
               .context_length = context,
               .limits = {.max_tokens = batch_size, .max_sequences = options.max_sequences}}));
}

Engine::Engine(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Engine::Engine(Engine&&) noexcept = default;
Engine& Engine::operator=(Engine&&) noexcept = default;
Engine::~Engine() = default;

Result<SequenceId> Engine::Submit(Request request) {
  BITTERN_TRY(impl_->Check(request));
  const auto made = std::make_shared<Sequence*>(nullptr);  // before its generation gives text
  auto on_text = request.on_text;
  if (on_text && request.on_progress) {
    on_text = [made, next = std::move(on_text)](std::string_view text) {
      (*made)->TellProgress(Clock::now());
      return next(text);
    };
  }
  Generation generation = BITTERN_TRY(Generation::Create(impl_->machine->model(), request.options,
                                                         std::move(on_text), &impl_->drafts));
  generation.AddContext(request.prompt);
  generation.LimitTo(static_cast<std::size_t>(impl_->context_length) - request.prompt.size() + 1);
  const SequenceId id = impl_->next_id++;
  impl_->waiting.push_back(std::make_unique<Sequence>(id, std::move(request), std::move(generation),
                                                      &impl_->machine->pages()));
  *made = impl_->waiting.back().get();
  return id;
}

void Engine::Cancel(SequenceId id) noexcept {
  for (auto& sequence : impl_->running) {
    if (sequence->id == id) sequence->cancelled = true;
  }
  for (auto& sequence : impl_->waiting) {
    if (sequence->id == id) sequence->cancelled = true;
  }
}

bool Engine::Step() {
  Impl& impl = *impl_;
  impl.EndCancelled();
  impl.Admit();
  if (impl.running.empty()) return !impl.waiting.empty();
  ++impl.steps;
  std::vector<SequenceView> views;
  views.reserve(impl.running.size());
  for (const auto& sequence : impl.running) views.push_back(sequence->View(impl.prefixes));
  const StepPlan plan = impl.policy->Next(views, impl.Limits());
  const std::vector<Part> parts = impl.MakeParts(plan);
  if (parts.empty() && impl.running.size() > 1) {
    // Pages that sequences share are not free when one of them gives them up: take more.
    const auto youngest = std::ranges::max_element(
        impl.running, {}, [](const auto& sequence) { return sequence->id; });
    impl.Preempt({static_cast<std::size_t>(youngest - impl.running.begin())});
  }
  double seconds = 0;
  const Result<void> done = parts.empty() ? Result<void>() : impl.RunPass(parts, &seconds);
  std::vector<std::pair<Sequence*, Error>> failed;
  if (!done && done.error().code != ErrorCode::kCancelled) {
    for (const Part& part : parts) failed.emplace_back(part.sequence, done.error());
  } else if (done && !parts.empty()) {
    std::size_t rows = 0;
    for (const Part& part : parts) rows += part.window.size();
    impl.policy->Observe(rows, seconds);
    for (const Part& part : parts) {
      if (auto error = impl.Absorb(part, seconds, parts.size() == 1)) {
        failed.emplace_back(part.sequence, std::move(*error));
      }
    }
  }
  impl.EndIf([&](Sequence* sequence, std::optional<Error>* error) {
    for (auto& [which, why] : failed) {
      if (which == sequence) *error = std::move(why);
    }
    return error->has_value() || sequence->generation.finish().has_value();
  });
  return !impl.running.empty() || !impl.waiting.empty();
}

std::string Engine::SavePrefix(std::span<const TokenId> tokens, int* saved) {
  model::KvSequence known(&impl_->machine->pages());
  *saved = impl_->prefixes.Attach(tokens, static_cast<int>(tokens.size()), &known);
  return WriteSessionState(model().model.config(), tokens.first(static_cast<std::size_t>(*saved)),
                           known);
}

Result<std::vector<TokenId>> Engine::RestorePrefix(std::span<const std::byte> bytes) {
  model::KvPool& pool = impl_->machine->pages();
  SessionState state = BITTERN_TRY(ReadSessionState(bytes, model().model.config(), pool));
  if (state.tokens.size() > static_cast<std::size_t>(impl_->context_length)) {
    return Fail(ErrorCode::kContextFull,
                fmt::format("the state has {} tokens, the context holds {}", state.tokens.size(),
                            impl_->context_length));
  }
  model::KvSequence restored(&pool);
  while (!restored.Reserve(static_cast<int>(state.tokens.size()))) {
    if (impl_->prefixes.Evict()) continue;
    return Fail(ErrorCode::kOutOfMemory,
                "running sequences need the memory for keys and values; try again later");
  }
  ReadPages(state, &restored);
  impl_->prefixes.Insert(state.tokens, restored);
  return std::move(state.tokens);
}

int Engine::ErasePrefix(std::span<const TokenId> tokens) {
  std::vector<std::uint32_t> pages;
  int known = 0;
  {
    model::KvSequence sequence(&impl_->machine->pages());
    known = impl_->prefixes.Attach(tokens, static_cast<int>(tokens.size()), &sequence);
    pages.assign(sequence.pages().begin(), sequence.pages().end());
  }
  while (!pages.empty() && impl_->prefixes.Forget(pages.back())) pages.pop_back();
  return known;
}

std::size_t Engine::active() const noexcept {
  return impl_->running.size() + impl_->waiting.size();
}
EngineStats Engine::stats() const noexcept {
  const model::KvPool& pages = impl_->machine->pages();
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
int Engine::num_threads() const noexcept { return impl_->machine->threads().size(); }
const LoadedModel& Engine::model() const noexcept { return impl_->machine->model(); }
void Engine::SetTracer(model::Tracer* tracer) noexcept {
  impl_->machine->state().SetTracer(tracer);
}

}  // namespace bittern::runtime
