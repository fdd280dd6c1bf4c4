// SPDX-License-Identifier: Apache-2.0
// The tensors of a network that need no repacking, bound by name; shared by loading and by checking
// without loading.
#pragma once

#include <string>

#include "base/decision.hpp"
#include "formats/network_tensors.hpp"
#include "model/config.hpp"
#include "model/load/tensor_binder.hpp"
#include "model/weights.hpp"

namespace bittern::model {

/// A size of the table of tensors (formats/network_tensors.hpp); kOne is 1.
[[nodiscard]] std::size_t SizeOf(const ModelConfig& config, formats::TensorSize size) noexcept;

/// Whether the network has the tensor, in this layer; of kUntied, may have it.
[[nodiscard]] bool HasTensor(const ModelConfig& config, const formats::TensorSpec& spec,
                             int layer = 0) noexcept;

/// Error kCorruptFile, with the cure: the file has nothing of this layer. Error kUnsupported: q, k
/// and v are one matrix.
[[nodiscard]] Result<void> CheckLayerIsThere(const formats::Checkpoint& checkpoint,
                                             const ModelConfig& config, int layer);

/// The weights of a norm: |weight| <= 2^100, so that no normed value overflows. layer: of a norm of
/// a layer. Errors as TensorBinder::Vector; kCorruptFile.
[[nodiscard]] Result<std::vector<float>> BindNorm(TensorBinder& binder, const ModelConfig& config,
                                                  formats::TensorId id, int layer = 0);

/// Finds a projection of a layer, or the stack of all experts' projections, and checks its shape
/// but not its format. Error kCorruptFile.
[[nodiscard]] Result<const formats::Tensor*> BindTernary(TensorBinder& binder,
                                                         const ModelConfig& config,
                                                         formats::TensorId id, int layer);

/// A small matrix or vector of floats of a layer (TensorKind::kFloats, kValues), row by row; every
/// one must be finite. Errors: kCorruptFile, kUnsupported.
[[nodiscard]] Result<std::vector<float>> BindFloats(TensorBinder& binder, const ModelConfig& config,
                                                    formats::TensorId id, int layer);

/// The norms of one layer.
[[nodiscard]] Result<void> BindNorms(TensorBinder& binder, const ModelConfig& config, int layer,
                                     LayerWeights* weights);

/// The embedding or the head, in the file's memory, which may be at an odd address.
[[nodiscard]] Result<DenseMatrix> BindDense(TensorBinder& binder, formats::TensorId id,
                                            const ModelConfig& config);

/// The tensor that is the head: the embedding where the file has no other.
[[nodiscard]] formats::TensorId HeadTensor(const formats::Checkpoint& checkpoint);

}  // namespace bittern::model
