// SPDX-License-Identifier: Apache-2.0
// The first half of a conversion: what becomes of every tensor, decided and checked before a byte
// is written, so that a model that does not fit is refused at once and by name.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/decision.hpp"
#include "base/result.hpp"
#include "formats/checkpoint.hpp"
#include "formats/convert/convert.hpp"
#include "formats/convert/row_order.hpp"
#include "formats/convert/ternary_encode.hpp"

namespace bittern::formats {

/// One tensor of the output.
struct PlannedTensor {
  enum class Kind {
    kCopy,     ///< the source's bytes
    kEncode,   ///< rows decoded and encoded in another plain format
    kTernary,  ///< EncodeTernary
    kScale,    ///< safetensors: the scale of a packed weight
  };
  Kind kind;
  std::string name;      ///< in the output
  const Tensor* source;  ///< for kScale: the weight's
  quant::WeightFormat format;
  std::uint64_t bytes = 0;
  /// For kTernary.
  std::optional<TernarySource> ternary;
  TernaryTarget target;
  /// Safetensors' shape; GGUF has the source's.
  std::vector<std::uint64_t> hf_shape;
};

struct ConvertPlan {
  bool to_folder = false;                      ///< safetensors
  const quant::TernaryCodec* codec = nullptr;  ///< of the ternary weights
  RowOrder from_order = RowOrder::kHalves, to_order = RowOrder::kHalves;
  std::vector<PlannedTensor> tensors;  ///< in the order they are written
  std::vector<std::string> notes;
  Decisions decisions;
};

/// True for the weights that ternary models keep ternary: the seven projections of a layer.
[[nodiscard]] bool IsProjection(std::string_view tensor_name) noexcept;

/// True for a scale that lies beside a projection ("blk.0.attn_q.scale") and becomes part of it.
[[nodiscard]] bool IsScaleOfProjection(const Checkpoint& file, const Tensor& tensor);

/// Errors: kInvalidArgument (options), kUnsupported and kCorruptFile (by tensor).
[[nodiscard]] Result<ConvertPlan> PlanConversion(const Checkpoint& source,
                                                 const ConvertOptions& options);

}  // namespace bittern::formats
