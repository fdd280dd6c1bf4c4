// SPDX-License-Identifier: Apache-2.0
// The named places of a forward pass: where a tracer looks (trace.hpp), and where a token's values
// were first not finite (row_failure.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace bittern::model {

/// The places of values: the points of operations.def, which says their shapes.
enum class TracePoint : std::uint8_t {
#define POINT(id, name) id,
#define INPUT(id, name)
#include "model/operations.def"
#undef POINT
#undef INPUT
};

inline constexpr std::size_t kNumTracePoints = static_cast<std::size_t>(TracePoint::kHead) + 1;
/// Points of one layer: kAttnNorm to kFfnResidual.
inline constexpr std::size_t kNumLayerPoints = static_cast<std::size_t>(TracePoint::kFfnResidual) -
                                               static_cast<std::size_t>(TracePoint::kEmbedding);

/// "attn_norm", "qkv_proj", ...
[[nodiscard]] std::string_view TracePointName(TracePoint point) noexcept;

}  // namespace bittern::model
