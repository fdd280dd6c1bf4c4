// SPDX-License-Identifier: Apache-2.0
// The tensors of a network that need no repacking, bound by name; shared by loading and by checking
// without loading.
#pragma once

#include <string>

#include "base/decision.hpp"
#include "model/config.hpp"
#include "model/load/tensor_binder.hpp"
#include "model/weights.hpp"

namespace bittern::model {

/// Error kCorruptFile, with the cure: the file has nothing of this layer. Error kUnsupported: q, k
/// and v are one matrix. `prefix`: "blk.3.".
[[nodiscard]] Result<void> CheckLayerIsThere(const formats::Checkpoint& checkpoint,
                                             const ModelConfig& config, const std::string& prefix);

/// The weights of a norm: |weight| <= 2^100, so that no normed value overflows. Errors as
/// TensorBinder::Vector; kCorruptFile.
[[nodiscard]] Result<std::vector<float>> BindNorm(TensorBinder& binder, const std::string& name,
                                                  std::size_t size);

/// The norms of one layer; `prefix`: "blk.3.".
[[nodiscard]] Result<void> BindNorms(TensorBinder& binder, const ModelConfig& config,
                                     const std::string& prefix, LayerWeights* layer);

/// The embedding or the head, in the file's memory, which may be at an odd address.
[[nodiscard]] Result<DenseMatrix> BindDense(TensorBinder& binder, const std::string& name,
                                            const ModelConfig& config);

}  // namespace bittern::model
