// SPDX-License-Identifier: Apache-2.0
// One sequence on a machine of its own. Checks happen before any work, so a refused call leaves the
// session as it was.
#include "runtime/session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "runtime/generation.hpp"
#include "runtime/machine.hpp"
#include "runtime/session_state.hpp"

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

/// Passes are watched as long as this lives.
class Watched {
 public:
  Watched(model::ForwardState* state, const model::PassWatcher* watcher) : state_(state) {
    state->SetWatcher(watcher);
  }
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;
  ~Watched() { state_->SetWatcher(nullptr); }

 private:
  model::ForwardState* state_;
};

constexpr int kMostSessions = 1024;

tl::unexpected<Error> Abandoned() {
  return Fail(ErrorCode::kCancelled, "cancelled while reading the prompt");
}

}  // namespace

struct Session::Impl {
  /// What is known about the last position.
  enum class Last : std::uint8_t {
    kNothing,
    kLogits,      ///< results.logits has all of them
    kCandidates,  ///< results.candidates has what results.request asks for
    kUnneeded,    ///< a generation has used what it wanted and gave no logits to the caller
  };

  std::shared_ptr<Machine> machine;  // of all forks
  model::KvSequence cache;
  int context_length;
  std::size_t batch_size;
  std::vector<TokenId> tokens = {};  // in the cache
  RowResults results = {};           // of the last pass
  std::size_t row = 0;               // of the last token, in results
  Last last = Last::kNothing;
  Timings timings = {};
  DraftPolicy policy = {};

  [[nodiscard]] const LoadedModel& model() const noexcept { return machine->model(); }
  [[nodiscard]] std::size_t vocab_size() const noexcept { return machine->vocab_size(); }
  [[nodiscard]] std::size_t room() const noexcept {
    return static_cast<std::size_t>(context_length) - tokens.size();
  }
  [[nodiscard]] std::span<const float> logits() const noexcept {
    return std::span<const float>(results.logits).subspan(row * vocab_size(), vocab_size());
  }

  Result<void> Check(std::span<const TokenId> ids) const;
  Result<void> Run(std::span<const TokenId> ids, std::size_t rows,
                   const std::optional<RowRequest>& request);
  Result<void> RunChunk(std::span<const TokenId> ids, std::size_t rows,
                        const std::optional<RowRequest>& request);
  Result<void> Prefill(std::span<const TokenId> ids, const PromptWatch& watch,
                       const std::optional<RowRequest>& request);
  Result<void> Resume(const std::optional<RowRequest>& wanted);
  Result<void> Decode(const GenerateOptions& options, Generation* generation);
  Result<void> Advance(bool screened, Generation* generation);
  Result<void> RunForced(std::span<const TokenId> ids, bool screened, Generation* generation);
};

Result<void> Session::Impl::Check(std::span<const TokenId> ids) const {
  if (ids.empty()) return Fail(ErrorCode::kInvalidArgument, "there are no tokens to run");
  for (const TokenId id : ids) {
    if (id >= 0 && static_cast<std::size_t>(id) < vocab_size()) continue;
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("token id {} is outside the vocabulary (0..{})", id, vocab_size() - 1));
  }
  if (ids.size() > room()) {
    return Fail(ErrorCode::kContextFull,
                tokens.empty()
                    ? fmt::format("the prompt has {} tokens, but the context holds {}", ids.size(),
                                  context_length)
                    : fmt::format("{} tokens do not fit: the context holds {}, {} are in use",
                                  ids.size(), context_length, tokens.size()));
  }
  return {};
}

/// One pass over tokens that fit, to the results of the last `rows` of them. Errors as
/// Machine::Run: then nothing has changed but that nothing is known about the last position.
Result<void> Session::Impl::Run(std::span<const TokenId> ids, std::size_t rows,
                                const std::optional<RowRequest>& request) {
  last = Last::kNothing;
  if (!cache.Reserve(static_cast<int>(ids.size()))) {  // only beside forks: Check
    return Fail(ErrorCode::kContextFull,
                fmt::format("the sequences that share {} pages of {} tokens have used them up",
                            cache.pool().num_pages(), model::kPagePositions),
                "max_sequences=N reserves more");
  }
  model::Segment segment{.sequence = &cache, .tokens = ids};
  results.Prepare(rows, request, vocab_size(), &segment);
  BITTERN_TRY(machine->Run({&segment, 1}));
  const auto failures = machine->state().failures();
  std::ranges::copy(failures.last(rows), results.failures.begin());
  row = rows == 0 ? 0 : rows - 1;
  return {};
}

/// A part of the context, which is known to be right. Error kInternal where the values of a token
/// are not finite; the session is then as before that token.
Result<void> Session::Impl::RunChunk(std::span<const TokenId> ids, std::size_t rows,
                                     const std::optional<RowRequest>& request) {
  BITTERN_TRY(Run(ids, rows, request));
  const std::size_t before = tokens.size();
  tokens.insert(tokens.end(), ids.begin(), ids.end());
  const std::size_t unseen = ids.size() - rows;  // tokens whose logits are not wanted
  for (std::size_t i = 0; i < ids.size(); ++i) {
    Result<void> good;
    if (i >= unseen) {
      good = CheckRow(results, i - unseen, vocab_size());
    } else if (const auto& failure = machine->state().failures()[i]) {
      good = tl::unexpected(model::NotFiniteError(*failure, static_cast<int>(before + i)));
    }
    if (good) continue;
    tokens.resize(before + i);
    cache.Truncate(static_cast<int>(tokens.size()));
    return good;
  }
  if (rows > 0) last = request ? Last::kCandidates : Last::kLogits;
  return {};
}

/// Chunk by chunk; of the last position what `request` asks for, or all logits.
Result<void> Session::Impl::Prefill(std::span<const TokenId> ids, const PromptWatch& watch,
                                    const std::optional<RowRequest>& request) {
  BITTERN_TRY(Check(ids));
  const Stopwatch stopwatch(&timings.prompt_s);
  const auto all = static_cast<double>(ids.size());
  const auto layers = static_cast<double>(model().model.config().num_layers);
  std::span<const TokenId> chunk;
  const model::PassWatcher watcher = [&](int layers_done) {
    const double read = all - static_cast<double>(ids.size() + chunk.size()) +
                        static_cast<double>(chunk.size()) * layers_done / layers;
    if (watch.on_prompt) watch.on_prompt(read / all);
    return !Cancelled(watch.cancel);
  };
  const Watched watched(&machine->state(), watch.wanted() ? &watcher : nullptr);
  while (!ids.empty()) {
    if (!watcher(0)) return Abandoned();
    chunk = ids.first(std::min(ids.size(), batch_size));
    ids = ids.subspan(chunk.size());
    BITTERN_TRY(RunChunk(chunk, ids.empty() ? 1 : 0, ids.empty() ? request : std::nullopt));
    timings.prompt_tokens += static_cast<int>(chunk.size());
    chunk = {};
  }
  return {};
}

/// Makes `results` those that the first token is sampled from.
Result<void> Session::Impl::Resume(const std::optional<RowRequest>& wanted) {
  if (last == Last::kLogits) return {};
  if (last == Last::kCandidates && results.request == wanted) return {};
  if (last == Last::kNothing || tokens.empty()) {
    return Fail(ErrorCode::kInvalidArgument, "nothing to continue: run a prompt first");
  }
  // The last position was read for another sampler: its token has to be run again.
  const TokenId id = tokens.back();
  tokens.pop_back();
  cache.Truncate(static_cast<int>(tokens.size()));
  return RunChunk({&id, 1}, 1, std::nullopt);
}

/// Runs the last sampled token with its draft and samples from the results. `screened`: without
/// drafts only some logits would be computed; so a caller sees none.
Result<void> Session::Impl::Advance(bool screened, Generation* generation) {
  const std::vector<TokenId>& window = generation->NextWindow(std::min(room(), batch_size), true);
  const auto request = generation->Wanted(window.size());
  double seconds = 0;
  {
    const Stopwatch stopwatch(&seconds);
    BITTERN_TRY(Run(window, window.size(), request));
  }
  // Listeners see the state of a session without drafts: a token joins when its turn comes.
  last = screened ? Last::kUnneeded : Last::kLogits;
  auto accepted = generation->Sample(window, 0, results, [&](std::size_t next) {
    tokens.push_back(window[next]);
    row = next;
  });
  if (!accepted) {  // as before the token that failed
    tokens.pop_back();
    last = Last::kNothing;
  }
  cache.Truncate(static_cast<int>(tokens.size()));
  const std::size_t count = BITTERN_TRY(std::move(accepted));
  generation->ObservePass(seconds, count);
  return {};
}

/// Runs the last sampled token and those that were forced after it, and samples what follows.
Result<void> Session::Impl::RunForced(std::span<const TokenId> ids, bool screened,
                                      Generation* generation) {
  const std::vector<TokenId> all(ids.begin(), ids.end());
  std::span<const TokenId> rest(all);
  for (; rest.size() > batch_size; rest = rest.subspan(batch_size)) {
    BITTERN_TRY(RunChunk(rest.first(batch_size), 0, std::nullopt));
  }
  BITTERN_TRY(RunChunk(rest, 1, generation->Wanted()));
  last = screened ? Last::kUnneeded : Last::kLogits;
  BITTERN_TRY(generation->Sample(std::span(tokens).last(1), 0, results));
  return {};
}

Result<void> Session::Impl::Decode(const GenerateOptions& options, Generation* generation) {
  if (generation->finish()) return {};
  // Whether a caller is given no logits must not depend on where a grammar is.
  const bool screened =
      options.constraint ? options.logprobs < 0 : generation->Wanted().has_value();
  const std::size_t before = tokens.size();
  generation->LimitTo(static_cast<std::size_t>(context_length) - before + 1);
  if (Cancelled(options.cancel)) {
    generation->End(FinishReason::kCancelled);
    return {};
  }
  BITTERN_TRY(generation->Sample(std::span(tokens).last(1), row, results));
  while (!generation->finish()) {
    // A token is run only when another one is wanted after it.
    const auto waiting = generation->ids().subspan(tokens.size() - before);
    if (room() == 0) {
      generation->End(FinishReason::kContextFull);
    } else if (waiting.size() > 1) {
      BITTERN_TRY(RunForced(waiting, screened, generation));
    } else {
      BITTERN_TRY(Advance(screened, generation));
    }
  }
  return {};
}

Result<Session> Session::Create(std::shared_ptr<const LoadedModel> model,
                                const SessionOptions& options) {
  const int limit = model->model.config().context_length;
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
  if (options.max_sessions < 1 || options.max_sessions > kMostSessions) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("sessions that share pages: 1..{} expected, {} found", kMostSessions,
                            options.max_sessions));
  }
  const int capacity = options.context_length == 0 ? limit : options.context_length;
  const int batch_size = std::min(options.batch_size, capacity);
  std::shared_ptr<Machine> machine = BITTERN_TRY(Machine::Create(
      std::move(model), {.max_tokens = batch_size,
                         .max_positions = capacity,
                         .num_pages = options.max_sessions * model::PagesFor(capacity),
                         .num_threads = options.num_threads,
                         .kv_type = options.kv_type}));
  model::KvPool* pages = &machine->pages();
  return Session(
      std::unique_ptr<Impl>(new Impl{.machine = std::move(machine),
                                     .cache = model::KvSequence(pages),
                                     .context_length = capacity,
                                     .batch_size = static_cast<std::size_t>(batch_size)}));
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
  generation.AddContext(impl_->tokens);
  generation.AddContext(tokens);
  return impl_->Prefill(tokens, {next.cancel, next.on_prompt}, generation.Wanted());
}

Result<void> Session::CheckFits(std::span<const TokenId> tokens) const {
  return impl_->Check(tokens);
}

Result<void> Session::PrefillAll(
    std::span<const TokenId> tokens,
    const std::function<void(int position, std::span<const float> logits)>& on_logits) {
  BITTERN_TRY(impl_->Check(tokens));
  const Stopwatch stopwatch(&impl_->timings.prompt_s);
  const std::size_t vocab_size = impl_->vocab_size();
  // Rows of 128k floats are half a megabyte each: few enough at a time to stay near the cache.
  constexpr std::size_t kMaxFloats = std::size_t{4} << 20;
  const std::size_t rows = std::clamp<std::size_t>(kMaxFloats / vocab_size, 1,
                                                   std::min(impl_->batch_size, tokens.size()));
  while (!tokens.empty()) {
    const auto chunk = tokens.first(std::min(tokens.size(), rows));
    tokens = tokens.subspan(chunk.size());
    const int position = impl_->cache.length();
    const Result<void> done = impl_->RunChunk(chunk, chunk.size(), std::nullopt);
    // Those before the first bad one are given out, whatever the size of chunks.
    const std::size_t good = static_cast<std::size_t>(impl_->cache.length() - position);
    impl_->timings.prompt_tokens += static_cast<int>(good);
    for (std::size_t i = 0; i < good; ++i) {
      on_logits(position + static_cast<int>(i),
                std::span<const float>(impl_->results.logits).subspan(i * vocab_size, vocab_size));
    }
    BITTERN_TRY(done);
  }
  return {};
}

Result<GenerateResult> Session::Generate(const GenerateOptions& options,
                                         const std::function<bool(std::string_view)>& on_text) {
  Generation generation =
      BITTERN_TRY(Generation::Create(impl_->model(), options, on_text, &impl_->policy));
  generation.AddContext(impl_->tokens);
  BITTERN_TRY(impl_->Resume(generation.Wanted()));
  const Stopwatch stopwatch(&impl_->timings.predicted_s);
  auto decoded = impl_->Decode(options, &generation);
  impl_->timings.predicted_tokens += generation.sampled();
  impl_->timings.drafted_tokens += generation.drafted();
  impl_->timings.accepted_tokens += generation.accepted();
  impl_->timings.forced_tokens += generation.forced();
  BITTERN_TRY(std::move(decoded));
  return generation.Finish();
}

std::span<const float> Session::logits() const noexcept {
  return impl_->last == Impl::Last::kLogits ? impl_->logits() : std::span<const float>();
}
std::span<const TokenId> Session::tokens() const noexcept { return impl_->tokens; }
int Session::context_length() const noexcept { return impl_->context_length; }
int Session::num_threads() const noexcept { return impl_->machine->threads().size(); }
PassCounts Session::pass_counts() const noexcept { return impl_->machine->threads().pass_counts(); }

void Session::Truncate(int position) noexcept {
  if (position < 0 || position >= impl_->cache.length()) return;
  impl_->cache.Truncate(position);
  impl_->tokens.resize(static_cast<std::size_t>(position));
  impl_->last = Impl::Last::kNothing;
}

Result<Session> Session::Fork(int position) const {
  if (position < 0 || position > impl_->cache.length()) {
    return Fail(ErrorCode::kInvalidArgument, fmt::format("a position of 0 to {} expected, {} found",
                                                         impl_->cache.length(), position));
  }
  return Session(std::unique_ptr<Impl>(
      new Impl{.machine = impl_->machine,
               .cache = impl_->cache.Fork(position),
               .context_length = impl_->context_length,
               .batch_size = impl_->batch_size,
               .tokens = {impl_->tokens.begin(), impl_->tokens.begin() + position}}));
}

std::string Session::SaveState() const {
  return WriteSessionState(model().model.config(), impl_->tokens, impl_->cache);
}

Result<void> Session::RestoreState(std::span<const std::byte> state) {
  const SessionState read =
      BITTERN_TRY(ReadSessionState(state, model().model.config(), impl_->cache.pool()));
  if (read.tokens.size() > static_cast<std::size_t>(impl_->context_length)) {
    return Fail(ErrorCode::kContextFull,
                fmt::format("the state has {} tokens, but the context holds {}", read.tokens.size(),
                            impl_->context_length));
  }
  model::KvSequence cache(&impl_->machine->pages());
  if (!cache.Reserve(static_cast<int>(read.tokens.size()))) {
    return Fail(ErrorCode::kContextFull, "there are no pages for the state beside those in use");
  }
  ReadPages(read, &cache);
  impl_->cache = std::move(cache);
  impl_->tokens = read.tokens;
  impl_->last = Impl::Last::kNothing;
  return {};
}

void Session::SetTracer(model::Tracer* tracer) noexcept {
  impl_->machine->state().SetTracer(tracer);
}

const Timings& Session::timings() const noexcept { return impl_->timings; }
model::SkipStats Session::skip_stats() const noexcept {
  return model::SkipStatsOf(impl_->machine->state());
}
model::ScreenStats Session::screen_stats() const noexcept {
  return model::ScreenStatsOf(impl_->machine->state());
}
const LoadedModel& Session::model() const noexcept { return impl_->machine->model(); }

}  // namespace bittern::runtime
