// SPDX-License-Identifier: Apache-2.0
// The embedding and the output head, which stay in the file's format.
#pragma once

#include "base/decision.hpp"
#include "base/result.hpp"
#include "base/threads/thread_pool.hpp"
#include "formats/network_tensors.hpp"
#include "formats/ternary_source.hpp"
#include "model/load/tensor_binder.hpp"
#include "model/load_options.hpp"
#include "model/weights.hpp"

namespace bittern::model {

/// An embedding in its place in the file, or in memory where it lies at an odd address: GGUF's
/// alignment may be 1, and a safetensors header may have any length. Errors as BindDense
/// has them, and kOutOfMemory.
[[nodiscard]] Result<DenseMatrix> LoadDense(TensorBinder& binder, formats::TensorId id,
                                            const ModelConfig& config, ThreadPool& pool);

/// Sets lm_head and, where it is screened, screened_head; `weights` has kernels and shares. A
/// screened head is read a few rows at a time, so it may stay in the mapped file; else it is moved
/// to memory of our own. Errors as LoadDense.
[[nodiscard]] Result<void> LoadHead(TensorBinder& binder, formats::TernaryOpener& opener,
                                    const ModelConfig& config, const LoadOptions& options,
                                    ThreadPool& pool, Weights* weights, Decisions* decisions);

/// Whether all ranks want something, so that none differs.
[[nodiscard]] bool AllWant(const RankShares& shares, bool here);

}  // namespace bittern::model
