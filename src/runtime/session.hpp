// SPDX-License-Identifier: Apache-2.0
// One conversation with a model: a KV cache, a position, and generation on top of it.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "runtime/generate_options.hpp"
#include "runtime/loaded_model.hpp"
#include "runtime/row_results.hpp"
#include "runtime/workbench.hpp"

namespace bittern::runtime {

struct SessionOptions {
  int context_length = 0;  ///< tokens the KV cache holds; 0: the model's own limit
  model::KvType kv_type = model::KvType::kF16;
  int batch_size = 512;   ///< tokens per prefill chunk (-ub), >= 1
  int num_threads = 0;    ///< 0: DefaultThreadCount()
  int max_sequences = 1;  ///< full contexts that this session and its forks have pages for, 1..1024
  /// Copies of a network's recurrent state that are kept while a prompt is read, so that Truncate
  /// and Fork need not read all of it again. 0: none.
  std::size_t kept_states = 2;
  /// Lends threads and scratch memory to each call; none: the session has its own.
  std::shared_ptr<Workbenches> lender = {};
};

/// Memory that a session takes.
struct SessionMemory {
  int context_length = 0;
  int num_threads = 0;         ///< during a call
  std::size_t pages = 0;       ///< of all forks; resident as tokens come
  std::size_t page_bytes = 0;  ///< of one
  /// Bytes of a sequence's recurrent state; 0: none. Each copy (kept_states) takes as many.
  std::size_t state_bytes = 0;
  std::size_t scratch_bytes = 0;  ///< at most, with its threads
};

/// The memory that Session::Create with these options asks for. Errors: as there.
[[nodiscard]] Result<SessionMemory> MemoryOf(const LoadedModel& model,
                                             const SessionOptions& options);

struct Timings {
  int prompt_tokens = 0;
  double prompt_s = 0;
  int predicted_tokens = 0;  ///< tokens sampled
  double predicted_s = 0;
  int drafted_tokens = 0;   ///< guessed and run before they were sampled
  int accepted_tokens = 0;  ///< of those, sampled afterwards
  int forced_tokens = 0;    ///< of the sampled ones, those that a constraint left no choice about
};

/// Not thread-safe; one per conversation. Holds pages, and threads and scratch memory unless they
/// are lent; Engine shares them among many sequences.
class Session {
 public:
  /// Allocates the whole KV cache. Errors: kOutOfMemory, kInvalidArgument (an option out of
  /// range; a context longer than the model's own limit).
  [[nodiscard]] static Result<Session> Create(std::shared_ptr<const LoadedModel> model,
                                              const SessionOptions& options = {});
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();

  /// Runs tokens through the model in chunks; logits() are the last one's. Errors, with the
  /// session unchanged: kContextFull, kInvalidArgument (empty, or an id outside the vocabulary).
  /// kCorruptFile (the model's file changed), kCancelled (between chunks): at the chunk reached.
  [[nodiscard]] Result<void> Prefill(std::span<const TokenId> tokens,
                                     const std::atomic<bool>* cancel = nullptr);

  /// As Prefill (cancelled by next.cancel), for a Generate(next) to follow: where that does not
  /// look at all logits of the last position, only those wanted are computed, and logits() are
  /// empty. Errors: also kInvalidArgument (bad sampler options).
  [[nodiscard]] Result<void> PrefillFor(std::span<const TokenId> tokens,
                                        const GenerateOptions& next);

  /// Whether Prefill and PrefillAll would take these tokens. Errors: kInvalidArgument (none, or an
  /// id outside the vocabulary), kContextFull.
  [[nodiscard]] Result<void> CheckFits(std::span<const TokenId> tokens) const;

  /// As Prefill, calling back with the logits of every position in order.
  [[nodiscard]] Result<void> PrefillAll(
      std::span<const TokenId> tokens,
      const std::function<void(int position, std::span<const float> logits)>& on_logits);

  /// As Prefill, calling back with the final norm (float[hidden_size]) of every position in order.
  /// No logits are computed: logits() become empty.
  [[nodiscard]] Result<void> PrefillHidden(
      std::span<const TokenId> tokens,
      const std::function<void(int position, std::span<const float> hidden)>& on_hidden,
      const std::atomic<bool>* cancel = nullptr);

  /// Decodes from logits() on until a stop condition. `on_text` gets whole UTF-8 characters;
  /// returning false cancels. Where the last position's results are not there (after Fork,
  /// Truncate, RestoreState), its token is run again. Needs a token (kInvalidArgument otherwise;
  /// also for bad sampler options and stop strings that are not UTF-8). The last token, and tokens
  /// that a constraint forces, are not run through the model before another one is wanted: to go on
  /// afterwards, give Prefill what tokens() lacks.
  [[nodiscard]] Result<GenerateResult> Generate(
      const GenerateOptions& options, const std::function<bool(std::string_view)>& on_text);

  /// float[vocab_size] of the last position; empty before the first Prefill and where PrefillFor or
  /// Generate computed only the logits it needed (LoadOptions::head); valid until the
  /// next call.
  [[nodiscard]] std::span<const float> logits() const noexcept;
  /// Has logits() hold the last position's, running its token again if need be. Errors:
  /// kInvalidArgument (no token), kContextFull (the token's page is shared and no other one is
  /// free).
  [[nodiscard]] Result<void> NeedLogits();
  /// Tokens in the cache, oldest first.
  [[nodiscard]] std::span<const TokenId> tokens() const noexcept;
  [[nodiscard]] int context_length() const noexcept;
  [[nodiscard]] int num_threads() const noexcept;
  [[nodiscard]] model::KvType kv_type() const noexcept;
  /// Forward passes of a few tokens: fewer than num_threads() may have worked on them where other
  /// programs kept CPUs busy. Zeros where threads are lent, as for the totals below.
  [[nodiscard]] PassCounts pass_counts() const noexcept;
  /// Forgets everything after `position` tokens; logits() become empty.
  void Truncate(int position) noexcept;
  /// Another session with the first `position` (0..tokens().size()) tokens of this one and no
  /// logits. The two share threads, scratch memory and pages, so at most one of them may be used
  /// at a time; the pages are those of SessionOptions::max_sequences contexts. Error
  /// kInvalidArgument: a position outside.
  [[nodiscard]] Result<Session> Fork(int position) const;
  /// All that a session of the same model and KV type needs to go on from here, as bytes.
  [[nodiscard]] std::string SaveState() const;
  /// Takes such bytes in place of the tokens there are; logits() become empty. Errors, with the
  /// session unchanged: kCorruptFile (bytes that are no state, or damaged), kInvalidArgument
  /// (another model or KV type), kContextFull.
  [[nodiscard]] Result<void> RestoreState(std::span<const std::byte> state);
  /// Shows every step of the forward passes to come to `tracer` (model/trace.hpp); null: none.
  void SetTracer(model::Tracer* tracer) noexcept;
  [[nodiscard]] const Timings& timings() const noexcept;
  /// Totals of zero skipping in this session; zeros where nothing is skipped.
  [[nodiscard]] model::SkipStats skip_stats() const noexcept;
  /// Totals of the output head's screen in this session; zeros where there is none.
  [[nodiscard]] model::ScreenStats screen_stats() const noexcept;
  [[nodiscard]] const LoadedModel& model() const noexcept;

 private:
  struct Impl;
  explicit Session(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace bittern::runtime
