// SPDX-License-Identifier: Apache-2.0
#include "runtime/execution_resources.hpp"

#include <algorithm>

namespace bittern::runtime {

WorkbenchSize ExecutionOptions::bench_size() const noexcept {
  const auto vectors = std::clamp(static_cast<std::size_t>(std::max(screened_rows, 0)),
                                  model::kScreenVectors, model::kMostScreenVectors);
  return {.max_tokens = max_tokens,
          .max_positions = max_positions,
          .num_threads = num_threads == 0 ? DefaultThreadCount() : num_threads,
          .screen_vectors = vectors};
}

Result<std::unique_ptr<ExecutionResources>> ExecutionResources::Create(
    std::shared_ptr<const LoadedModel> model, const ExecutionOptions& options) {
  const model::Model& network = model->model;
  auto pages =
      BITTERN_TRY(model::KvPool::Create(network.config(), options.num_pages, options.kv_type));
  std::unique_ptr<ExecutionResources> made(new ExecutionResources(
      std::move(model), std::move(pages), options.bench_size(), options.lender));
  // One that borrows tries it once, so that wrong sizes are refused here.
  auto use = BITTERN_TRY(made->Begin());
  return made;
}

Result<ExecutionResources::Use> ExecutionResources::Begin() {
  if (bench_ == nullptr) {
    bench_ = BITTERN_TRY(lender_ ? lender_->Take(model_->model, size_)
                                 : Workbench::Create(model_->model, size_));
    bench_->state.SetTracer(tracer_);
  }
  return Use(lender_ ? this : nullptr);
}

/// The next borrower finds no tracer.
void ExecutionResources::GiveBack() noexcept {
  bench_->state.SetTracer(nullptr);
  bench_->state.SetWatcher(nullptr);
  lender_->GiveBack(std::move(bench_));
}

void ExecutionResources::SetTracer(model::Tracer* tracer) noexcept {
  tracer_ = tracer;
  if (bench_ != nullptr) bench_->state.SetTracer(tracer);
}

Result<void> ExecutionResources::Run(std::span<const model::Segment> segments) {
  if (!model::Forward(model_->model, segments, state(), threads())) {
    return Fail(ErrorCode::kCancelled, "cancelled while reading the prompt");
  }
  auto unchanged = model_->model.checkpoint().CheckUnchanged();
  if (unchanged) return {};
  for (const model::Segment& segment : segments) {
    segment.sequence->Truncate(segment.sequence->length() -
                               static_cast<int>(segment.tokens.size()));
  }
  return unchanged;
}

}  // namespace bittern::runtime
