// SPDX-License-Identifier: Apache-2.0
// The network: validated hyperparameters and weights in the layout the kernels want, the KV
// cache, and one forward pass over a batch of tokens.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>

#include "base/decision.hpp"
#include "base/result.hpp"
#include "base/threads/thread_pool.hpp"
#include "formats/checkpoint.hpp"
#include "model/batch.hpp"
#include "model/candidates.hpp"
#include "model/config.hpp"
#include "model/kv_pool.hpp"
#include "model/load_options.hpp"

namespace bittern::model {

struct PassFacts;   // rank_leader.hpp
struct RowFailure;  // row_failure.hpp
struct SkipStats;   // skip_stats.hpp

struct Weights;
class Tracer;

/// Weights bound, checked and repacked once. Immutable after Load; any number of threads and
/// caches may share one.
class Model {
 public:
  /// Takes the checkpoint over (embeddings stay mapped) and repacks ternary matrices as `options`
  /// says. The caller checks the rows of the embedding against the tokenizer. Errors:
  /// kCorruptFile, kUnsupported, kOutOfMemory; messages name the tensor or key.
  [[nodiscard]] static Result<Model> Load(formats::Checkpoint checkpoint, ThreadPool& pool,
                                          Decisions* decisions, const LoadOptions& options = {});
  /// The same of a checkpoint that others read, too.
  [[nodiscard]] static Result<Model> Load(std::shared_ptr<const formats::Checkpoint> checkpoint,
                                          ThreadPool& pool, Decisions* decisions,
                                          const LoadOptions& options = {});
  Model(Model&&) noexcept;
  Model& operator=(Model&&) noexcept;
  ~Model();

  [[nodiscard]] const ModelConfig& config() const noexcept;
  [[nodiscard]] const Weights& weights() const noexcept;
  [[nodiscard]] const formats::Checkpoint& checkpoint() const noexcept;
  /// On rank 0 of a network that is shared out: tells the other ranks of a pass (RankLeader), which
  /// lasts as long as the lock.
  [[nodiscard]] std::unique_lock<std::mutex> Lead(std::span<const Segment> segments,
                                                  const PassFacts& facts) const;
  /// True if ForwardCandidates can serve the request (the head is screened, the count small).
  [[nodiscard]] bool CanScreen(const CandidateRequest& request) const noexcept;
  /// Bytes of all tensors in the file, and elements in them: llama-bench's "size" and "params".
  [[nodiscard]] std::uint64_t tensor_bytes() const noexcept;
  [[nodiscard]] std::uint64_t num_parameters() const noexcept;

 private:
  struct Impl;
  explicit Model(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// Told between the layers of a pass how many are done, by one thread while the others wait. False
/// abandons the pass.
using PassWatcher = std::function<bool(int layers_done)>;

/// Scratch memory of forward passes, one at a time; its size is fixed.
class ForwardState {
 public:
  /// For batches of up to `max_tokens` tokens, sequences of up to `max_positions` and pools of up
  /// to `num_threads` threads. One scan of a screened head serves `screen_vectors`
  /// (1..kMostScreenVectors) rows. Errors: kInvalidArgument, kOutOfMemory.
  [[nodiscard]] static Result<ForwardState> Create(const Model& model, int max_tokens,
                                                   int max_positions, int num_threads,
                                                   std::size_t screen_vectors = kScreenVectors);
  ForwardState(ForwardState&&) noexcept;
  ForwardState& operator=(ForwardState&&) noexcept;
  ~ForwardState();

  /// Shows every step of the passes to come to `tracer` (trace.hpp), which outlives them; null:
  /// no tracer.
  void SetTracer(Tracer* tracer) noexcept;

  /// Watches the passes to come that take long enough for it, of more than kFewTokens tokens;
  /// outlives them. Null: no watcher.
  void SetWatcher(const PassWatcher* watcher) noexcept;

  /// For each token of the last pass, the place where its values were first not finite. Such a
  /// token's logits are zeros; those after it in its sequence mean nothing.
  [[nodiscard]] std::span<const std::optional<RowFailure>> failures() const noexcept;

  struct Impl;
  [[nodiscard]] Impl& impl() noexcept { return *impl_; }
  [[nodiscard]] const Impl& impl() const noexcept { return *impl_; }

 private:
  explicit ForwardState(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// Runs a batch: the tokens of all segments (1..max_tokens in all) at the next positions of their
/// sequences, which are extended by them, and writes the logits that each segment wants. The result
/// of a token depends on nothing but the tokens before it in its sequence: not on the batch, chunk,
/// thread count or instruction set. Returns false if its watcher abandoned the pass: then the
/// sequences are as they were; those with a recurrent state are where they kept it last, or empty.
/// One pass at a time with a state, a pool and the pages of a KvPool.
bool Forward(const Model& model, std::span<const Segment> segments, ForwardState& state,
             ThreadPool& pool);

/// Totals of zero skipping over the passes of a few tokens since this state was created.
[[nodiscard]] SkipStats SkipStatsOf(const ForwardState& state) noexcept;

/// Totals of the screen over all passes with this state.
[[nodiscard]] ScreenStats ScreenStatsOf(const ForwardState& state) noexcept;

}  // namespace bittern::model
