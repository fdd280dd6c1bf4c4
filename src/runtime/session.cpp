// SPDX-License-Identifier: Apache-2.0
// Checks happen before any work, so a refused call leaves the session as it was; after that the
// forward pass cannot fail.
#include "runtime/session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/thread_pool.hpp"
#include "base/utf8.hpp"
#include "runtime/stop.hpp"
#include "tokenizer/detokenizer.hpp"

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

/// A model whose weights or activation are wrong shows itself here at the latest.
Result<void> CheckFinite(std::span<const float> logits) {
  std::size_t bad = 0;
  for (const float logit : logits) {
    // Infinity and NaN have all exponent bits set; integers, so that the loop vectorises.
    constexpr std::uint32_t kExponent = 0x7f800000u;
    bad += (std::bit_cast<std::uint32_t>(logit) & kExponent) == kExponent ? 1 : 0;
  }
  if (bad == 0) return {};
  return Fail(ErrorCode::kInternal,
              fmt::format("{} of {} logits are not finite numbers: the weights are damaged or the "
                          "file is read with a wrong setting (see `bittern inspect`)",
                          bad, logits.size()));
}

bool Cancelled(const std::atomic<bool>* cancel) {
  return cancel != nullptr && cancel->load(std::memory_order_relaxed);
}

/// Who wants to know how far a prompt is read, and to stop it.
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

tl::unexpected<Error> Abandoned() {
  return Fail(ErrorCode::kCancelled, "cancelled while reading the prompt");
}

Result<void> CheckStops(std::span<const std::string> stops) {
  for (const std::string& stop : stops) {
    if (ReplaceInvalidUtf8(stop) == stop) continue;
    return Fail(ErrorCode::kInvalidArgument, "a stop string is not valid UTF-8");
  }
  return {};
}

/// The text side of a generation: token -> characters -> what no stop string holds back.
class TextStream {
 public:
  TextStream(const tokenizer::Tokenizer& tokenizer, const GenerateOptions& options,
             const std::function<bool(std::string_view)>& on_text, std::string* text)
      : detokenizer_(tokenizer, options.render_special),
        stops_(options.stops),
        on_text_(on_text),
        text_(text) {}

  void Push(TokenId id) { Show(stops_.Push(detokenizer_.Push(id))); }
  void Finish() {
    Show(stops_.Push(detokenizer_.Finish()));
    Show(stops_.Finish());
  }
  [[nodiscard]] bool stopped() const noexcept { return stops_.stopped(); }
  /// True once on_text has returned false; it is not called again.
  [[nodiscard]] bool refused() const noexcept { return refused_; }

 private:
  void Show(std::string_view text) {
    if (text.empty() || refused_) return;
    *text_ += text;
    refused_ = on_text_ && !on_text_(text);
  }

  tokenizer::StreamingDetokenizer detokenizer_;
  StopMatcher stops_;
  const std::function<bool(std::string_view)>& on_text_;
  std::string* text_;
  bool refused_ = false;
};

/// One batch over a token and its draft, taken row by row as the draft comes true.
struct DraftWindow {
  std::vector<TokenId> ids = {};                        // what was run; empty: no draft is open
  std::vector<float> logits = {};                       // (ids, vocab_size) at least
  std::vector<model::CandidateLogits> candidates = {};  // (ids), in place of them
  bool screened = false;
  std::size_t row = 0;  // of the last token known to be right
  double seconds = 0;   // that the batch took
};

}  // namespace

struct Session::Impl {
  std::shared_ptr<const LoadedModel> model;
  ThreadPool pool;
  model::KvCache cache;
  model::ForwardState state;
  std::size_t batch_size;
  std::vector<float> last_logits = {};     // (vocab_size)
  model::CandidateLogits candidates = {};  // in place of them after a screened step
  bool screened = false;
  bool has_logits = false;
  std::optional<model::CandidateRequest> prefilled_for = {};  // what `candidates` are, if anything
  std::vector<TokenId> tokens = {};  // as the cache, but for an open window's guesses
  Timings timings = {};
  DraftPolicy policy = {};
  DraftWindow window = {};

  [[nodiscard]] std::size_t vocab_size() const noexcept {
    return static_cast<std::size_t>(model->model.config().vocab_size);
  }
  [[nodiscard]] std::size_t room() const noexcept {
    return static_cast<std::size_t>(cache.capacity()) - tokens.size();
  }
  /// Of the last token known to be right.
  [[nodiscard]] std::span<const float> window_logits() const noexcept {
    return std::span<const float>(window.logits).subspan(window.row * vocab_size(), vocab_size());
  }
  [[nodiscard]] const model::CandidateLogits& current_candidates() const noexcept {
    return window.ids.empty() ? candidates : window.candidates[window.row];
  }
  [[nodiscard]] std::span<const float> current_logits() const noexcept {
    return window.ids.empty() ? std::span<const float>(last_logits) : window_logits();
  }

  Result<void> Check(std::span<const TokenId> ids) const;
  Result<void> CheckFile();
  Result<void> Forward(std::span<const TokenId> ids, model::LogitsRows rows,
                       std::span<float> logits);
  Result<void> ForwardTo(std::span<const TokenId> ids, const model::CandidateRequest& request);
  [[nodiscard]] std::optional<model::CandidateRequest> ScreenFor(const Sampler& sampler) const;
  Result<void> Prefill(std::span<const TokenId> ids, const PromptWatch& watch,
                       const std::optional<model::CandidateRequest>& request);
  Result<void> Resume(const Sampler& sampler);
  Result<FinishReason> Decode(const GenerateOptions& options, Sampler* sampler, TextStream* stream,
                              std::vector<TokenId>* ids);
  Result<void> Advance(TokenId id, const GenerateOptions& options, int wanted,
                       const Drafter& drafter, const Sampler& sampler);
  Result<void> Step(TokenId id, const Sampler& sampler);
  Result<TokenId> SampleNext(Sampler* sampler) const;
  [[nodiscard]] std::vector<TokenId> Draft(const GenerateOptions& options, int wanted,
                                           const Drafter& drafter) const;
  void OpenWindow(TokenId id, std::span<const TokenId> draft, const Sampler& sampler);
  void RunWindow(const Sampler& sampler);
  void CloseWindow() noexcept;
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
                fmt::format("{} tokens do not fit: the context holds {}, {} are in use", ids.size(),
                            cache.capacity(), cache.length()));
  }
  return {};
}

/// After a pass and before anything of it is used: the mapped file that it read is as it was. Else
/// the pass is undone.
Result<void> Session::Impl::CheckFile() {
  auto unchanged = model->model.checkpoint().CheckUnchanged();
  if (!unchanged) cache.Truncate(static_cast<int>(tokens.size()));
  return unchanged;
}

Result<void> Session::Impl::Forward(std::span<const TokenId> ids, model::LogitsRows rows,
                                    std::span<float> logits) {
  has_logits = false;
  prefilled_for.reset();
  if (!model::Forward(model->model, ids, cache, state, pool, rows, logits)) return Abandoned();
  BITTERN_TRY(CheckFile());
  tokens.insert(tokens.end(), ids.begin(), ids.end());
  BITTERN_TRY(CheckFinite(logits));
  has_logits = rows == model::LogitsRows::kLast;
  return {};
}

/// To `candidates` instead of logits.
Result<void> Session::Impl::ForwardTo(std::span<const TokenId> ids,
                                      const model::CandidateRequest& request) {
  has_logits = false;
  prefilled_for.reset();
  if (!model::ForwardCandidates(model->model, ids, cache, state, pool, request, {&candidates, 1})) {
    return Abandoned();
  }
  BITTERN_TRY(CheckFile());
  tokens.insert(tokens.end(), ids.begin(), ids.end());
  return {};
}

/// What the sampler wants next, if it is not all logits and the head can be screened for it.
std::optional<model::CandidateRequest> Session::Impl::ScreenFor(const Sampler& sampler) const {
  const auto request = sampler.Request();
  return request && model->model.CanScreen(*request) ? request : std::nullopt;
}

/// The guess for what follows `id`, which is run next; empty where none pays.
std::vector<TokenId> Session::Impl::Draft(const GenerateOptions& options, int wanted,
                                          const Drafter& drafter) const {
  std::size_t limit = std::min(room(), batch_size) - 1;
  if (wanted >= 0) limit = std::min(limit, static_cast<std::size_t>(wanted));
  std::vector<TokenId> draft;
  drafter.Draft(limit, &draft);
  if (options.ignore_eos) return draft;
  const auto end = std::ranges::find_if(  // nothing is wanted after it
      draft, [&](TokenId id) { return model->tokenizer.IsEndOfGeneration(id); });
  draft.erase(end, draft.end());
  return draft;
}

/// Runs the window's tokens, to the logits that the sampler may want of each.
void Session::Impl::RunWindow(const Sampler& sampler) {
  // Beyond so many the whole head, read once for all, costs less than a scan for every few.
  constexpr std::size_t kMostScreened = 2 * model::kScreenVectors;
  const auto request = sampler.Request(window.ids.size() - 1);
  prefilled_for.reset();
  window.screened =
      window.ids.size() <= kMostScreened && request && model->model.CanScreen(*request);
  const Stopwatch stopwatch(&window.seconds);
  if (window.screened) {
    window.candidates.resize(window.ids.size());
    model::ForwardCandidates(model->model, window.ids, cache, state, pool, *request,
                             window.candidates);
    return;
  }
  const std::size_t floats = window.ids.size() * vocab_size();
  if (window.logits.size() < floats) window.logits.resize(floats);
  model::Forward(model->model, window.ids, cache, state, pool, model::LogitsRows::kAll,
                 std::span(window.logits).first(floats));
}

/// Runs `id` and the draft after it in one batch. Only `id` is known to be right as yet.
void Session::Impl::OpenWindow(TokenId id, std::span<const TokenId> draft, const Sampler& sampler) {
  window.ids.assign(1, id);
  window.ids.insert(window.ids.end(), draft.begin(), draft.end());
  window.row = 0;
  window.seconds = 0;
  RunWindow(sampler);
  tokens.push_back(id);
  timings.drafted_tokens += static_cast<int>(draft.size());
}

/// Forgets what has not come true; the session is then as if the rest had been run token by token.
void Session::Impl::CloseWindow() noexcept {
  if (window.ids.empty()) return;
  cache.Truncate(static_cast<int>(tokens.size()));
  if (!window.screened) std::ranges::copy(window_logits(), last_logits.begin());
  policy.ObserveBatch(window.ids.size(), window.seconds, window.row + 1);
  timings.accepted_tokens += static_cast<int>(window.row);
  window.ids.clear();
}

/// One token through the model by itself, to the logits that the sampler wants.
Result<void> Session::Impl::Step(TokenId id, const Sampler& sampler) {
  double seconds = 0;
  {
    const Stopwatch stopwatch(&seconds);
    const auto request = ScreenFor(sampler);
    screened = request.has_value();
    if (screened) {
      BITTERN_TRY(ForwardTo({&id, 1}, *request));
    } else {
      BITTERN_TRY(Forward({&id, 1}, model::LogitsRows::kLast, last_logits));
    }
  }
  policy.ObserveStep(seconds);
  return {};
}

/// Makes current_logits() those after `id`, the next token of the text: by the open window where
/// its draft foretold it, else by a run of the model. `wanted` tokens (< 0: any number) are to be
/// sampled after the next one.
Result<void> Session::Impl::Advance(TokenId id, const GenerateOptions& options, int wanted,
                                    const Drafter& drafter, const Sampler& sampler) {
  if (window.row + 1 < window.ids.size() && window.ids[window.row + 1] == id) {
    ++window.row;
    tokens.push_back(id);
  } else {
    CloseWindow();
    const std::vector<TokenId> draft = Draft(options, wanted, drafter);
    if (draft.empty()) return Step(id, sampler);
    OpenWindow(id, draft, sampler);
    BITTERN_TRY(CheckFile());
  }
  has_logits = false;
  screened = window.screened;
  if (screened) return {};
  BITTERN_TRY(CheckFinite(window_logits()));
  // A caller sees logits where it would without drafts, so that what follows does not depend on
  // what happened to be drafted.
  has_logits = !ScreenFor(sampler).has_value();
  return {};
}

Result<TokenId> Session::Impl::SampleNext(Sampler* sampler) const {
  return screened ? sampler->SampleFrom(current_candidates()) : sampler->Sample(current_logits());
}

Result<FinishReason> Session::Impl::Decode(const GenerateOptions& options, Sampler* sampler,
                                           TextStream* stream, std::vector<TokenId>* ids) {
  Drafter drafter(options.speculation, tokens, &policy);
  for (int count = 0; options.max_tokens < 0 || count < options.max_tokens; ++count) {
    // A token is run only when another one is wanted after it.
    if (count > 0) {
      if (room() == 0) return FinishReason::kContextFull;
      const int wanted = options.max_tokens < 0 ? -1 : options.max_tokens - count - 1;
      BITTERN_TRY(Advance(ids->back(), options, wanted, drafter, *sampler));
    }
    if (Cancelled(options.cancel)) return FinishReason::kCancelled;
    const TokenId id = BITTERN_TRY(SampleNext(sampler));
    ++timings.predicted_tokens;
    if (!options.ignore_eos && model->tokenizer.IsEndOfGeneration(id)) {
      return FinishReason::kEndOfText;
    }
    sampler->Accept(id);
    drafter.Accept(id);
    ids->push_back(id);
    stream->Push(id);
    if (stream->refused()) return FinishReason::kCancelled;
    if (stream->stopped()) return FinishReason::kStopString;
  }
  return FinishReason::kLength;
}

std::string_view FinishReasonName(FinishReason reason) noexcept {
  switch (reason) {
    case FinishReason::kLength:
      return "length";
    case FinishReason::kEndOfText:
      return "end_of_text";
    case FinishReason::kStopString:
      return "stop_string";
    case FinishReason::kContextFull:
      return "context_full";
    case FinishReason::kCancelled:
      return "cancelled";
  }
  return "unknown";
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
  const int capacity = options.context_length == 0 ? limit : options.context_length;
  const int batch_size = std::min(options.batch_size, capacity);
  auto pool = BITTERN_TRY(
      ThreadPool::Create(options.num_threads == 0 ? DefaultThreadCount() : options.num_threads));
  auto cache =
      BITTERN_TRY(model::KvCache::Create(model->model.config(), capacity, options.kv_type));
  auto state =
      BITTERN_TRY(model::ForwardState::Create(model->model, batch_size, capacity, pool.size()));
  Session session(
      std::unique_ptr<Impl>(new Impl{.model = std::move(model),
                                     .pool = std::move(pool),
                                     .cache = std::move(cache),
                                     .state = std::move(state),
                                     .batch_size = static_cast<std::size_t>(batch_size)}));
  session.impl_->last_logits.resize(session.impl_->vocab_size());
  return session;
}

Session::Session(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() = default;

/// Chunk by chunk; of the last position what `request` asks for, or all logits.
Result<void> Session::Impl::Prefill(std::span<const TokenId> ids, const PromptWatch& watch,
                                    const std::optional<model::CandidateRequest>& request) {
  BITTERN_TRY(Check(ids));
  const Stopwatch stopwatch(&timings.prompt_s);
  const auto all = static_cast<double>(ids.size());
  const auto layers = static_cast<double>(model->model.config().num_layers);
  std::span<const TokenId> chunk;
  const model::PassWatcher watcher = [&](int layers_done) {
    const double read = all - static_cast<double>(ids.size() + chunk.size()) +
                        static_cast<double>(chunk.size()) * layers_done / layers;
    if (watch.on_prompt) watch.on_prompt(read / all);
    return !Cancelled(watch.cancel);
  };
  const Watched watched(&state, watch.wanted() ? &watcher : nullptr);
  while (!ids.empty()) {
    if (!watcher(0)) return Abandoned();
    chunk = ids.first(std::min(ids.size(), batch_size));
    ids = ids.subspan(chunk.size());
    if (!ids.empty()) {
      BITTERN_TRY(Forward(chunk, model::LogitsRows::kNone, {}));
    } else if (request) {
      BITTERN_TRY(ForwardTo(chunk, *request));
      prefilled_for = request;
    } else {
      BITTERN_TRY(Forward(chunk, model::LogitsRows::kLast, last_logits));
    }
    timings.prompt_tokens += static_cast<int>(chunk.size());
    chunk = {};
  }
  return {};
}

/// Makes current_logits() or current_candidates() those that the first token is sampled from.
Result<void> Session::Impl::Resume(const Sampler& sampler) {
  screened = prefilled_for && prefilled_for == sampler.Request();
  if (screened || has_logits) return {};
  if (!prefilled_for) {
    return Fail(ErrorCode::kInvalidArgument, "nothing to continue: run a prompt first");
  }
  // The prompt was read for another sampler: its last token has to be run again.
  const TokenId last = tokens.back();
  tokens.pop_back();
  cache.Truncate(static_cast<int>(tokens.size()));
  return Forward({&last, 1}, model::LogitsRows::kLast, last_logits);
}

Result<void> Session::Prefill(std::span<const TokenId> tokens, const std::atomic<bool>* cancel) {
  return impl_->Prefill(tokens, {cancel, {}}, std::nullopt);
}

Result<void> Session::PrefillFor(std::span<const TokenId> tokens, const GenerateOptions& next) {
  Sampler sampler = BITTERN_TRY(Sampler::Create(next.sampler));
  for (const TokenId id : impl_->tokens) sampler.Accept(id);
  for (const TokenId id : tokens) sampler.Accept(id);
  return impl_->Prefill(tokens, {next.cancel, next.on_prompt}, impl_->ScreenFor(sampler));
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
  std::vector<float> logits(rows * vocab_size);
  while (!tokens.empty()) {
    const auto chunk = tokens.first(std::min(tokens.size(), rows));
    tokens = tokens.subspan(chunk.size());
    const auto chunk_logits = std::span(logits).first(chunk.size() * vocab_size);
    const int position = impl_->cache.length();
    BITTERN_TRY(impl_->Forward(chunk, model::LogitsRows::kAll, chunk_logits));
    impl_->timings.prompt_tokens += static_cast<int>(chunk.size());
    for (std::size_t i = 0; i < chunk.size(); ++i) {
      on_logits(position + static_cast<int>(i), chunk_logits.subspan(i * vocab_size, vocab_size));
    }
    std::ranges::copy(chunk_logits.last(vocab_size), impl_->last_logits.begin());
  }
  impl_->has_logits = true;
  return {};
}

Result<GenerateResult> Session::Generate(const GenerateOptions& options,
                                         const std::function<bool(std::string_view)>& on_text) {
  BITTERN_TRY(CheckStops(options.stops));
  Sampler sampler = BITTERN_TRY(Sampler::Create(options.sampler));
  for (const TokenId id : impl_->tokens) sampler.Accept(id);
  BITTERN_TRY(impl_->Resume(sampler));
  const Stopwatch stopwatch(&impl_->timings.predicted_s);
  GenerateResult result;
  result.seed = sampler.seed();
  TextStream stream(impl_->model->tokenizer, options, on_text, &result.text);
  const Timings before = impl_->timings;
  auto finish = impl_->Decode(options, &sampler, &stream, &result.ids);
  impl_->CloseWindow();
  result.finish = BITTERN_TRY(std::move(finish));
  result.drafted = impl_->timings.drafted_tokens - before.drafted_tokens;
  result.accepted = impl_->timings.accepted_tokens - before.accepted_tokens;
  stream.Finish();
  return result;
}

std::span<const float> Session::logits() const noexcept {
  return impl_->has_logits ? impl_->current_logits() : std::span<const float>();
}
std::span<const TokenId> Session::tokens() const noexcept { return impl_->tokens; }
int Session::context_length() const noexcept { return impl_->cache.capacity(); }
int Session::num_threads() const noexcept { return impl_->pool.size(); }
PassCounts Session::pass_counts() const noexcept { return impl_->pool.pass_counts(); }

void Session::Truncate(int position) noexcept {
  if (position < 0 || position >= impl_->cache.length()) return;
  impl_->cache.Truncate(position);
  impl_->tokens.resize(static_cast<std::size_t>(position));
  impl_->has_logits = false;
  impl_->prefilled_for.reset();
}

void Session::SetTracer(model::Tracer* tracer) noexcept { impl_->state.SetTracer(tracer); }

const Timings& Session::timings() const noexcept { return impl_->timings; }
model::SkipStats Session::skip_stats() const noexcept { return model::SkipStatsOf(impl_->state); }
model::ScreenStats Session::screen_stats() const noexcept {
  return model::ScreenStatsOf(impl_->state);
}
const LoadedModel& Session::model() const noexcept { return *impl_->model; }

}  // namespace bittern::runtime
