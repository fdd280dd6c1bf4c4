// SPDX-License-Identifier: Apache-2.0
// Many sequences on one model. The engine owns threads, scratch memory and pages; each sequence has
// its own tokens, sampler, stop strings, text and error. Step() lets waiting sequences join, runs
// one forward pass over tokens of many of them, samples, and reports. What a sequence says depends
// on its request alone: not on its neighbours, on when it came, or on what the prefix cache held.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "runtime/engine/prefix_cache_stats.hpp"
#include "runtime/engine/scheduler.hpp"
#include "runtime/generate_options.hpp"
#include "runtime/loaded_model.hpp"
#include "runtime/pooling.hpp"

namespace bittern::runtime {

struct EngineOptions {
  int max_sequences = 8;   ///< running at the same time, >= 1; more wait
  int context_length = 0;  ///< tokens of a sequence at most; 0: the model's own limit
  int cache_tokens = 0;    ///< positions of all sequences and the prefix cache together, at least
                           ///< one context; 0: what kDefaultCacheBytes hold (CacheTokens)
  model::KvType kv_type = model::KvType::kF16;
  int batch_size = 512;                                ///< tokens of a step at most, >= 1
  int num_threads = 0;                                 ///< 0: DefaultThreadCount()
  bool prefix_cache = true;                            ///< keep pages of earlier sequences
  std::shared_ptr<SchedulingPolicy> policy = nullptr;  ///< null: FairPolicy
};

using SequenceId = std::uint64_t;

/// How a sequence spent its time; while it runs, so far.
struct SequenceTimings {
  int prompt_tokens = 0;   ///< 0 before it first ran
  int cached_tokens = 0;   ///< of the prompt, found in the prefix cache
  int read_tokens = 0;     ///< of the prompt, in the cache or run; never fewer than before
  int sampled_tokens = 0;  ///< with the one that ended the text
  double queued_s = 0;     ///< before it first ran
  double prompt_s = 0;     ///< from then to the first sampled token
  double predicted_s = 0;  ///< from then to the end
  int preemptions = 0;     ///< how often it gave its pages to an older sequence
};

/// A vector of the prompt in place of a text that continues it.
struct VectorRequest {
  Pooling pooling = Pooling::kLast;
  bool normalize = true;
};

/// The end of a sequence: its text or its own error.
struct Completion {
  SequenceId id;
  Result<GenerateResult> result;
  SequenceTimings timings;
  std::vector<float> vector = {};  ///< with VectorRequest
};

struct Request {
  std::vector<TokenId> prompt;
  /// Its place, >= 0, among the sequences of one client: those take turns with other clients'.
  int turn = 0;
  /// options.on_prompt is not called.
  GenerateOptions options = {};
  std::optional<VectorRequest> vector = {};  ///< no token is sampled
  /// Whole UTF-8 characters, as they come; false cancels. May be empty.
  std::function<bool(std::string_view)> on_text = {};
  /// The time so far, inside Step: as the sequence first runs, whenever more of its prompt has been
  /// read, and before each on_text. Changes no token. Must not call the engine. May be empty.
  std::function<void(const SequenceTimings&)> on_progress = {};
  /// Once, at the end, inside Step. May call Submit.
  std::function<void(Completion)> on_done = {};
};

struct EngineStats {
  std::uint64_t steps = 0, rows = 0;  ///< passes; tokens run in them
  std::size_t running = 0, waiting = 0;
  int pages = 0, free_pages = 0;
  std::size_t page_bytes = 0;
  std::uint64_t preemptions = 0;
  PrefixCacheStats prefix_cache = {};
};

/// One thread at a time. GenerateOptions::cancel may be set by any thread; it takes effect within a
/// step.
class Engine {
 public:
  /// Errors: kOutOfMemory, kInvalidArgument (an option out of range).
  [[nodiscard]] static Result<Engine> Create(std::shared_ptr<const LoadedModel> model,
                                             const EngineOptions& options = {});
  Engine(Engine&&) noexcept;
  Engine& operator=(Engine&&) noexcept;
  /// Sequences that have not ended are dropped without a call of on_done.
  ~Engine();

  /// Queues a request. Errors, with nothing queued: kInvalidArgument (no tokens, an id outside the
  /// vocabulary, sampler options, stop strings), kContextFull (the prompt alone fills the context).
  [[nodiscard]] Result<SequenceId> Submit(Request request);
  /// Ends a sequence with kCancelled at the next Step; unknown ids are ignored.
  void Cancel(SequenceId id) noexcept;

  /// One pass over some of the sequences. Returns false if there is nothing to do.
  bool Step();
  /// Steps until nothing is left to do.
  void RunAll() {
    while (Step()) {
    }
  }

  /// The part of these tokens that the prefix cache knows, as the bytes of a session's state;
  /// `saved`: how many tokens that are.
  [[nodiscard]] std::string SavePrefix(std::span<const TokenId> tokens, int* saved);
  /// Puts such bytes into the prefix cache; the tokens they hold. Errors: those of
  /// ReadSessionState, kContextFull, kOutOfMemory (running sequences need the pages).
  [[nodiscard]] Result<std::vector<TokenId>> RestorePrefix(std::span<const std::byte> bytes);
  /// Drops pages of these tokens from the prefix cache; how many tokens it knew.
  int ErasePrefix(std::span<const TokenId> tokens);

  /// Sequences that have not ended.
  [[nodiscard]] std::size_t active() const noexcept;
  [[nodiscard]] EngineStats stats() const noexcept;
  [[nodiscard]] int context_length() const noexcept;
  [[nodiscard]] int num_threads() const noexcept;
  [[nodiscard]] const LoadedModel& model() const noexcept;
  /// Shows every step of the passes to come to `tracer`; TracePlace::sequence is the low 31 bits of
  /// the SequenceId. Null: none.
  void SetTracer(model::Tracer* tracer) noexcept;

 private:
  struct Impl;
  explicit Engine(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace bittern::runtime
