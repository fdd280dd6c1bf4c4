// SPDX-License-Identifier: Apache-2.0
// The resources of every forward pass besides its batch: threads, scratch memory, pages. One per
// Session or Engine.
#pragma once

#include <memory>
#include <span>

#include "base/result.hpp"
#include "base/threads/thread_pool.hpp"
#include "model/model.hpp"
#include "runtime/loaded_model.hpp"

namespace bittern::runtime {

struct ExecutionOptions {
  int max_tokens = 512;   ///< of a pass
  int max_positions = 1;  ///< of a sequence
  int num_pages = 1;      ///< of all sequences
  int num_threads = 0;    ///< 0: DefaultThreadCount()
  int screened_rows = 1;  ///< that a pass usually has
  model::KvType kv_type = model::KvType::kF16;
};

/// Not thread-safe; not movable, since sequences point at its pages.
class ExecutionResources {
 public:
  /// Errors: kOutOfMemory, kInvalidArgument, kIo (threads).
  [[nodiscard]] static Result<std::unique_ptr<ExecutionResources>> Create(
      std::shared_ptr<const LoadedModel> model, const ExecutionOptions& options);
  ExecutionResources(const ExecutionResources&) = delete;
  ExecutionResources& operator=(const ExecutionResources&) = delete;

  /// model::Forward. Errors, with the sequences as they were: kCancelled if the watcher abandoned
  /// the pass, kCorruptFile if the mapped model file changed meanwhile.
  [[nodiscard]] Result<void> Run(std::span<const model::Segment> segments);

  [[nodiscard]] const LoadedModel& model() const noexcept { return *model_; }
  [[nodiscard]] model::KvPool& pages() noexcept { return pages_; }
  [[nodiscard]] model::ForwardState& state() noexcept { return state_; }
  [[nodiscard]] const ThreadPool& threads() const noexcept { return threads_; }
  /// For work between passes.
  [[nodiscard]] ThreadPool& threads() noexcept { return threads_; }
  [[nodiscard]] std::size_t vocab_size() const noexcept {
    return static_cast<std::size_t>(model_->model.config().vocab_size);
  }

 private:
  ExecutionResources(std::shared_ptr<const LoadedModel> model, ThreadPool threads,
                     model::KvPool pages, model::ForwardState state)
      : model_(std::move(model)),
        threads_(std::move(threads)),
        pages_(std::move(pages)),
        state_(std::move(state)) {}

  std::shared_ptr<const LoadedModel> model_;
  ThreadPool threads_;
  model::KvPool pages_;
  model::ForwardState state_;
};

}  // namespace bittern::runtime
