// SPDX-License-Identifier: Apache-2.0
// One sequence with execution resources of its own. Checks happen before any work, so a refused
// call leaves the session as it was.
#include "runtime/session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "model/skip_stats.hpp"
#include "runtime/execution_resources.hpp"
#include "runtime/prompt_check.hpp"
#include "runtime/sequence.hpp"

namespace bittern::runtime {
namespace {

/// Adds the time of its life to a counter of seconds.
class Stopwatch {
 public:
  explicit Stopwatch(double* seconds) : seconds_(seconds) {}
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;
  ~Stopwatch() {
    *seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  double* seconds_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

bool Cancelled(const std::atomic<bool>* cancel) {
  return cancel != nullptr && cancel->load(std::memory_order_relaxed);
}

/// How to report that a prompt is being read, and to stop it.
struct PromptWatch {
  const std::atomic<bool>* cancel;
  const std::function<void(double)>& on_prompt;

  [[nodiscard]] bool wanted() const noexcept { return cancel != nullptr || on_prompt; }
};

/// A sequence generates as long as this lives.
class TextScope {
 public:
  TextScope(Sequence* sequence, Generation generation) : sequence_(sequence) {
    sequence->Start(std::move(generation));
  }
  TextScope(const TextScope&) = delete;
  TextScope& operator=(const TextScope&) = delete;
  ~TextScope() { sequence_->EndText(); }

 private:
  Sequence* sequence_;
};

constexpr int kMostSequences = 1024;

tl::unexpected<Error> Abandoned() {
  return Fail(ErrorCode::kCancelled, "cancelled while reading the prompt");
}

}  // namespace

struct Session::Impl {
  /// The state of the last position's results.
  enum class Last : std::uint8_t {
    kNothing,
    kLogits,      ///< the results have all of them
    kCandidates,  ///< the results have what their request asks for
    kUnneeded,    ///< a generation has used what it wanted and gave no logits to the caller
  };

  std::shared_ptr<ExecutionResources> resources;  // of all forks
  Sequence sequence;
  std::size_t batch_size, kept_states;
  Last last = Last::kNothing;
  Timings timings = {};
  DraftPolicy policy = {};

  [[nodiscard]] const LoadedModel& model() const noexcept { return resources->model(); }
  [[nodiscard]] std::span<const float> logits() const noexcept {
    return sequence.results().logits.subspan(sequence.row() * resources->vocab_size(),
                                             resources->vocab_size());
  }

  Result<void> Check(std::span<const TokenId> ids) const;
  [[nodiscard]] tl::unexpected<Error> NoPages() const;
  Result<void> Run(const Part& part, const model::PassWatcher* watcher);
  Result<void> Read(const PromptWatch& watch, const std::optional<RowRequest>& request);
  Result<void> Prefill(std::span<const TokenId> ids, const PromptWatch& watch,
                       const std::optional<RowRequest>& request);
  Result<void> CatchUp();
  Result<void> Resume(const std::optional<RowRequest>& wanted);
  Result<void> Decode(const GenerateOptions& options);
};

Result<void> Session::Impl::Check(std::span<const TokenId> ids) const {
  return CheckPrompt(ids, model().model.config().vocab_size, sequence.context_length(),
                     sequence.tokens().size());
}

/// Happens only beside forks.
tl::unexpected<Error> Session::Impl::NoPages() const {
  return Fail(ErrorCode::kContextFull,
              fmt::format("the sequences that share {} pages of {} tokens have used them up",
                          resources->pages().num_pages(), model::kPagePositions),
              "max_sequences=N reserves more");
}

/// One pass over a part. Error kInternal where the values of a token are not finite: the session is
/// then as before that token. After any error nothing is known about the last position.
Result<void> Session::Impl::Run(const Part& part, const model::PassWatcher* watcher) {
  last = Last::kNothing;
  if (!sequence.pages().Reserve(static_cast<int>(part.tokens.size()))) return NoPages();
  std::vector<std::optional<Error>> errors;
  BITTERN_TRY(RunParts(resources.get(), {&part, 1}, watcher, &errors));
  if (errors[0]) return tl::unexpected(*std::move(errors[0]));
  return {};
}

/// The tokens that wait, chunk by chunk; of the last position what `request` asks for, or all
/// logits.
Result<void> Session::Impl::Read(const PromptWatch& watch,
                                 const std::optional<RowRequest>& request) {
  const auto all = static_cast<double>(sequence.left_to_read());
  const auto layers = static_cast<double>(model().model.config().num_layers);
  double before = 0, chunk = 0;  // tokens
  const model::PassWatcher watcher = [&](int layers_done) {
    if (watch.on_prompt) watch.on_prompt((before + chunk * layers_done / layers) / all);
    return !Cancelled(watch.cancel);
  };
  while (sequence.left_to_read() > 0) {
    if (!watcher(0)) return Abandoned();
    Part part = sequence.Plan({.tokens = batch_size});
    if (part.rows > 0) part.request = request;
    chunk = static_cast<double>(part.tokens.size());
    const int count = static_cast<int>(part.tokens.size());
    BITTERN_TRY(Run(part, watch.wanted() ? &watcher : nullptr));
    timings.prompt_tokens += count;
    before += std::exchange(chunk, 0);
  }
  last = request ? Last::kCandidates : Last::kLogits;
  return {};
}

/// Runs the tokens; of a call that fails or is cancelled those that have run stay.
Result<void> Session::Impl::Prefill(std::span<const TokenId> ids, const PromptWatch& watch,
                                    const std::optional<RowRequest>& request) {
  BITTERN_TRY(Check(ids));
  const auto use = BITTERN_TRY(resources->Begin());
  const Stopwatch stopwatch(&timings.prompt_s);
  sequence.Append(ids);
  const Result<void> done = Read(watch, request);
  sequence.DropWaiting();
  return done;
}

/// Runs all tokens that wait: one, or after a truncation of a recurrent state all of them.
Result<void> Session::Impl::CatchUp() {
  Result<void> done;
  while (done && sequence.left_to_read() > 0) {
    done = Run(sequence.Plan({.tokens = batch_size}), nullptr);
  }
  return done;
}

/// Makes the results those that the first token is sampled from.
Result<void> Session::Impl::Resume(const std::optional<RowRequest>& wanted) {
  if (last == Last::kLogits) return {};
  if (last == Last::kCandidates && sequence.results().request == wanted) return {};
  if (sequence.tokens().empty()) {
    return Fail(ErrorCode::kInvalidArgument, "nothing to continue: run a prompt first");
  }
  // The last position was read for another sampler, by the session that this one was forked from,
  // or before a truncation or restore: its token has to be run again.
  if (sequence.LastPageIsShared() && resources->pages().free_pages() == 0) return NoPages();
  const TokenId id = sequence.tokens().back();
  sequence.Truncate(static_cast<int>(sequence.tokens().size()) - 1);
  sequence.Append({&id, 1});
  const Result<void> done = CatchUp();
  sequence.DropWaiting();
  if (done) last = Last::kLogits;
  return done;
}

/// Samples and runs in turn until the text ends. A token is run only when another one is wanted
/// after it.
Result<void> Session::Impl::Decode(const GenerateOptions& options) {
  Generation& generation = *sequence.generation();
  if (generation.finish()) return {};
  // Whether a caller is given no logits must not depend on where a grammar is.
  const bool screened = options.constraint ? options.logprobs < 0 : generation.Wanted().has_value();
  if (Cancelled(options.cancel)) {
    generation.End(FinishReason::kCancelled);
    return {};
  }
  BITTERN_TRY(sequence.SampleLast());
  while (!generation.finish()) {
    const Part part = sequence.Plan({.tokens = batch_size});
    double seconds = 0;
    {
      const Stopwatch stopwatch(&seconds);
      BITTERN_TRY(Run(part, nullptr));
    }
    if (part.rows == 0) continue;
    last = screened ? Last::kUnneeded : Last::kLogits;
    auto used = sequence.Sample(part);
    if (!used) last = Last::kNothing;
    const std::size_t count = BITTERN_TRY(std::move(used));
    if (part.drafts) generation.ObservePass(seconds, count);
  }
  return {};
}

namespace {

/// The options of the resources. Error kInvalidArgument: an option is out of range.
Result<ExecutionOptions> ResourcesFor(const LoadedModel& model, const SessionOptions& options) {
  const int limit = model.model.config().context_length;
  if (options.context_length < 0 || options.context_length > limit) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("context length: 1..{} (the model's limit) or 0 for all expected, {} "
                            "found",
                            limit, options.context_length));
  }
  if (options.batch_size < 1) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("batch size: at least 1 expected, {} found", options.batch_size));
  }
  if (options.max_sequences < 1 || options.max_sequences > kMostSequences) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("sessions that share pages: 1..{} expected, {} found", kMostSequences,
                            options.max_sequences));
  }
  const int capacity = options.context_length == 0 ? limit : options.context_length;
  return ExecutionOptions{.max_tokens = std::min(options.batch_size, capacity),
                          .max_positions = capacity,
                          .num_pages = options.max_sequences * model::PagesFor(capacity),
                          .num_threads = options.num_threads,
                          .kv_type = options.kv_type,
                          .lender = options.lender};
}

}  // namespace

Result<SessionMemory> MemoryOf(const LoadedModel& model, const SessionOptions& options) {
  const ExecutionOptions wanted = BITTERN_TRY(ResourcesFor(model, options));
  const WorkbenchSize size = wanted.bench_size();
  const auto page = BITTERN_TRY(model::KvPool::Create(model.model.config(), 1, options.kv_type));
  const std::size_t before = BytesAskedByThread();
  const auto scratch = BITTERN_TRY(model::ForwardState::Create(
      model.model, size.max_tokens, size.max_positions, size.num_threads, size.screen_vectors));
  return SessionMemory{.context_length = wanted.max_positions,
                       .num_threads = size.num_threads,
                       .pages = static_cast<std::size_t>(wanted.num_pages),
                       .page_bytes = page.page_bytes(),
                       .state_bytes = page.state_size() * sizeof(float),
                       .scratch_bytes = BytesAskedByThread() - before};
}

Result<Session> Session::Create(std::shared_ptr<const LoadedModel> model,
                                const SessionOptions& options) {
  const ExecutionOptions wanted = BITTERN_TRY(ResourcesFor(*model, options));
  std::shared_ptr<ExecutionResources> resources =
      BITTERN_TRY(ExecutionResources::Create(std::move(model), wanted));
  Sequence sequence(&resources->pages(), wanted.max_positions);
  sequence.KeepStates(options.kept_states);
  return Session(
      std::unique_ptr<Impl>(new Impl{.resources = std::move(resources),
                                     .sequence = std::move(sequence),
                                     .batch_size = static_cast<std::size_t>(wanted.max_tokens),
                                     .kept_states = options.kept_states}));
}

Session::Session(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() = default;

Result<void> Session::Prefill(std::span<const TokenId> tokens, const std::atomic<bool>* cancel) {
  return impl_->Prefill(tokens, {cancel, {}}, std::nullopt);
}

Result<void> Session::PrefillFor(std::span<const TokenId> tokens, const GenerateOptions& next) {
  Generation generation = BITTERN_TRY(Generation::Create(impl_->model(), next, {}, &impl_->policy));
  generation.AddContext(impl_->sequence.run_tokens());
  generation.AddContext(tokens);
  return impl_->Prefill(tokens, {next.cancel, next.on_prompt}, generation.Wanted());
}

Result<void> Session::CheckFits(std::span<const TokenId> tokens) const {
  return impl_->Check(tokens);
}

Result<void> Session::PrefillAll(
    std::span<const TokenId> tokens,
    const std::function<void(int position, std::span<const float> logits)>& on_logits) {
  Impl& impl = *impl_;
  BITTERN_TRY(impl.Check(tokens));
  const auto use = BITTERN_TRY(impl.resources->Begin());
  const Stopwatch stopwatch(&impl.timings.prompt_s);
  const std::size_t vocab_size = impl.resources->vocab_size();
  // Rows of 128k floats are half a megabyte each: few enough at a time to stay near the cache.
  constexpr std::size_t kMaxFloats = std::size_t{4} << 20;
  const std::size_t rows =
      std::clamp<std::size_t>(kMaxFloats / vocab_size, 1, std::min(impl.batch_size, tokens.size()));
  Sequence& sequence = impl.sequence;
  BITTERN_TRY(impl.CatchUp());
  sequence.WantFrom(sequence.length());
  sequence.Append(tokens);
  Result<void> done;
  while (done && sequence.left_to_read() > 0) {
    const int position = sequence.length();
    done = impl.Run(sequence.Plan({.tokens = rows}), nullptr);
    if (done) impl.last = Impl::Last::kLogits;
    // Rows before the first bad one are given out, whatever the size of chunks.
    const int good = static_cast<int>(sequence.run_tokens().size()) - position;
    impl.timings.prompt_tokens += good;
    for (int i = 0; i < good; ++i) {
      on_logits(position + i, sequence.results().logits.subspan(
                                  static_cast<std::size_t>(i) * vocab_size, vocab_size));
    }
  }
  sequence.WantLast();
  sequence.DropWaiting();
  return done;
}

Result<void> Session::PrefillHidden(
    std::span<const TokenId> tokens,
    const std::function<void(int position, std::span<const float> hidden)>& on_hidden,
    const std::atomic<bool>* cancel) {
  Impl& impl = *impl_;
  BITTERN_TRY(impl.Check(tokens));
  const auto use = BITTERN_TRY(impl.resources->Begin());
  const Stopwatch stopwatch(&impl.timings.prompt_s);
  Sequence& sequence = impl.sequence;
  BITTERN_TRY(impl.CatchUp());
  const auto size = static_cast<std::size_t>(impl.model().model.config().hidden_size);
  sequence.WantFrom(sequence.length());
  sequence.Append(tokens);
  Result<void> done;
  while (done && sequence.left_to_read() > 0) {
    if (Cancelled(cancel)) {
      done = Abandoned();
      break;
    }
    const int position = sequence.length();
    Part part = sequence.Plan({.tokens = impl.batch_size});
    part.request = {.hidden_size = size};
    done = impl.Run(part, nullptr);
    const int good = static_cast<int>(sequence.run_tokens().size()) - position;
    impl.timings.prompt_tokens += good;
    for (int i = 0; i < good; ++i) {
      on_hidden(position + i,
                sequence.results().hidden.subspan(static_cast<std::size_t>(i) * size, size));
    }
  }
  sequence.WantLast();
  sequence.DropWaiting();
  return done;
}

Result<GenerateResult> Session::Generate(const GenerateOptions& options,
                                         const std::function<bool(std::string_view)>& on_text) {
  Generation generation =
      BITTERN_TRY(Generation::Create(impl_->model(), options, on_text, &impl_->policy));
  generation.AddContext(impl_->sequence.run_tokens());
  const auto use = BITTERN_TRY(impl_->resources->Begin());
  BITTERN_TRY(impl_->Resume(generation.Wanted()));
  const Stopwatch stopwatch(&impl_->timings.predicted_s);
  const TextScope scope(&impl_->sequence, std::move(generation));
  auto decoded = impl_->Decode(options);
  Generation& made = *impl_->sequence.generation();
  impl_->timings.predicted_tokens += made.sampled();
  impl_->timings.drafted_tokens += made.drafted();
  impl_->timings.accepted_tokens += made.accepted();
  impl_->timings.forced_tokens += made.forced();
  BITTERN_TRY(std::move(decoded));
  return made.Finish();
}

Result<void> Session::NeedLogits() {
  if (impl_->last == Impl::Last::kLogits) return {};
  const auto use = BITTERN_TRY(impl_->resources->Begin());
  return impl_->Resume(std::nullopt);
}

std::span<const float> Session::logits() const noexcept {
  return impl_->last == Impl::Last::kLogits ? impl_->logits() : std::span<const float>();
}
std::span<const TokenId> Session::tokens() const noexcept { return impl_->sequence.run_tokens(); }
int Session::context_length() const noexcept { return impl_->sequence.context_length(); }
model::KvType Session::kv_type() const noexcept { return impl_->resources->pages().type(); }
int Session::num_threads() const noexcept { return impl_->resources->num_threads(); }
PassCounts Session::pass_counts() const noexcept {
  const Workbench* bench = impl_->resources->bench();
  return bench == nullptr ? PassCounts{} : bench->threads.pass_counts();
}

void Session::Truncate(int position) noexcept {
  if (position < 0 || position >= static_cast<int>(tokens().size())) return;
  impl_->sequence.Truncate(position);
  impl_->last = Impl::Last::kNothing;
}

Result<Session> Session::Fork(int position) const {
  if (position < 0 || position > static_cast<int>(tokens().size())) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("a position of 0 to {} expected, {} found", tokens().size(), position));
  }
  return Session(std::unique_ptr<Impl>(new Impl{.resources = impl_->resources,
                                                .sequence = impl_->sequence.Fork(position),
                                                .batch_size = impl_->batch_size,
                                                .kept_states = impl_->kept_states}));
}

std::string Session::SaveState() const { return impl_->sequence.Save(model().model.config()); }

/// Replaces the sequence only after everything was read; its last logits are not in the state.
Result<void> Session::RestoreState(std::span<const std::byte> state) {
  const auto reserve = [](model::KvSequence* pages, int tokens) -> Result<void> {
    if (pages->Reserve(tokens)) return {};
    return Fail(ErrorCode::kContextFull, "there are no pages for the state beside those in use");
  };
  impl_->sequence =
      BITTERN_TRY(Sequence::Restore(state, model().model.config(), &impl_->resources->pages(),
                                    impl_->sequence.context_length(), reserve));
  impl_->sequence.KeepStates(impl_->kept_states);
  impl_->last = Impl::Last::kNothing;
  return {};
}

void Session::SetTracer(model::Tracer* tracer) noexcept { impl_->resources->SetTracer(tracer); }

const Timings& Session::timings() const noexcept { return impl_->timings; }
model::SkipStats Session::skip_stats() const noexcept {
  const Workbench* bench = impl_->resources->bench();
  return bench == nullptr ? model::SkipStats{} : model::SkipStatsOf(bench->state);
}
model::ScreenStats Session::screen_stats() const noexcept {
  const Workbench* bench = impl_->resources->bench();
  return bench == nullptr ? model::ScreenStats{} : model::ScreenStatsOf(bench->state);
}
const LoadedModel& Session::model() const noexcept { return impl_->resources->model(); }

}  // namespace bittern::runtime
