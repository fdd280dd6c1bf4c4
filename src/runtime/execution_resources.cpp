// SPDX-License-Identifier: Apache-2.0
#include "runtime/execution_resources.hpp"

#include <algorithm>

namespace bittern::runtime {

Result<std::unique_ptr<ExecutionResources>> ExecutionResources::Create(
    std::shared_ptr<const LoadedModel> model, const ExecutionOptions& options) {
  const model::Model& network = model->model;
  auto threads = BITTERN_TRY(
      ThreadPool::Create(options.num_threads == 0 ? DefaultThreadCount() : options.num_threads));
  auto pages =
      BITTERN_TRY(model::KvPool::Create(network.config(), options.num_pages, options.kv_type));
  const auto vectors = std::clamp(static_cast<std::size_t>(std::max(options.screened_rows, 0)),
                                  model::kScreenVectors, model::kMostScreenVectors);
  auto state = BITTERN_TRY(model::ForwardState::Create(
      network, options.max_tokens, options.max_positions, threads.size(), vectors));
  return std::unique_ptr<ExecutionResources>(new ExecutionResources(
      std::move(model), std::move(threads), std::move(pages), std::move(state)));
}

Result<void> ExecutionResources::Run(std::span<const model::Segment> segments) {
  if (!model::Forward(model_->model, segments, state_, threads_)) {
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
