// SPDX-License-Identifier: Apache-2.0
// The resources of every forward pass besides its batch: pages, and threads with scratch memory,
// which may be borrowed for each call. One per Session with its forks, or Engine.
#pragma once

#include <memory>
#include <span>

#include "base/result.hpp"
#include "model/model.hpp"
#include "runtime/workbench.hpp"

namespace bittern::runtime {

struct ExecutionOptions {
  int max_tokens = 512;   ///< of a pass
  int max_positions = 1;  ///< of a sequence
  int num_pages = 1;      ///< of all sequences
  int num_threads = 0;    ///< 0: DefaultThreadCount()
  int screened_rows = 1;  ///< that a pass usually has
  model::KvType kv_type = model::KvType::kF16;
  std::shared_ptr<Workbenches> lender = {};  ///< none: threads and scratch memory of its own

  [[nodiscard]] WorkbenchSize bench_size() const noexcept;
};

/// Not thread-safe; not movable, since sequences point at its pages.
class ExecutionResources {
 public:
  /// Errors: kOutOfMemory, kInvalidArgument, kIo (threads).
  [[nodiscard]] static Result<std::unique_ptr<ExecutionResources>> Create(
      std::shared_ptr<const LoadedModel> model, const ExecutionOptions& options);
  ExecutionResources(const ExecutionResources&) = delete;
  ExecutionResources& operator=(const ExecutionResources&) = delete;

  /// There are threads and scratch memory while it lives. One at a time.
  class Use {
   public:
    explicit Use(ExecutionResources* of) noexcept : of_(of) {}
    Use(Use&& other) noexcept : of_(std::exchange(other.of_, nullptr)) {}
    Use& operator=(Use&&) = delete;
    ~Use() {
      if (of_ != nullptr) of_->GiveBack();
    }

   private:
    ExecutionResources* of_;
  };
  /// Borrows them where they are not its own. Errors: as Workbench::Create.
  [[nodiscard]] Result<Use> Begin();

  /// model::Forward. Errors, with the sequences as they were: kCancelled if the watcher abandoned
  /// the pass, kCorruptFile if the mapped model file changed meanwhile. REQUIRES: a Use, or no
  /// lender.
  [[nodiscard]] Result<void> Run(std::span<const model::Segment> segments);

  [[nodiscard]] const LoadedModel& model() const noexcept { return *model_; }
  [[nodiscard]] model::KvPool& pages() noexcept { return pages_; }
  [[nodiscard]] int num_threads() const noexcept { return size_.num_threads; }
  /// For work between passes. REQUIRES: as Run.
  [[nodiscard]] model::ForwardState& state() noexcept { return bench_->state; }
  [[nodiscard]] ThreadPool& threads() noexcept { return bench_->threads; }
  /// Null between the uses of what is borrowed.
  [[nodiscard]] const Workbench* bench() const noexcept { return bench_.get(); }
  /// Shows every step of the passes to come to `tracer`; null: none.
  void SetTracer(model::Tracer* tracer) noexcept;
  [[nodiscard]] std::size_t vocab_size() const noexcept {
    return static_cast<std::size_t>(model_->model.config().vocab_size);
  }

 private:
  ExecutionResources(std::shared_ptr<const LoadedModel> model, model::KvPool pages,
                     const WorkbenchSize& size, std::shared_ptr<Workbenches> lender)
      : model_(std::move(model)),
        pages_(std::move(pages)),
        size_(size),
        lender_(std::move(lender)) {}
  void GiveBack() noexcept;

  std::shared_ptr<const LoadedModel> model_;
  model::KvPool pages_;
  WorkbenchSize size_;
  std::shared_ptr<Workbenches> lender_;
  model::Tracer* tracer_ = nullptr;
  std::unique_ptr<Workbench> bench_ = {};
};

}  // namespace bittern::runtime
