// SPDX-License-Identifier: Apache-2.0
// The operations of a network in the order of computing. As the points of model/trace.hpp, but a
// norm and what the projection after it reads (int8 values divided by their scale) are told apart.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "model/trace_point.hpp"

namespace bittern::proof {

/// Points and inputs of model/operations.def, in its order: of a layer kAttnNorm to kFfnResidual.
enum class Operation {
#define POINT(id, name) id,
#define INPUT(id, name) id,
#include "model/operations.def"
#undef POINT
#undef INPUT
};
inline constexpr std::size_t kNumOperations = static_cast<std::size_t>(Operation::kHead) + 1;
inline constexpr std::size_t kNumLayerOperations =
    model::kNumLayerPoints + (kNumOperations - model::kNumTracePoints);

/// "attn_norm", "qkv_input", ...
[[nodiscard]] std::string_view OperationName(Operation operation) noexcept;
[[nodiscard]] std::optional<Operation> OperationOf(std::string_view name) noexcept;

/// Whether each layer has the operation; else the network has it once.
constexpr bool IsOfLayer(Operation operation) {
  return operation > Operation::kEmbedding && operation < Operation::kFinalNorm;
}
/// Number of operations of a network of so many layers.
constexpr std::size_t NumSteps(int num_layers) {
  return 3 + kNumLayerOperations * static_cast<std::size_t>(num_layers);
}
/// The place of an operation in the order of computing. layer: -1 outside the layers.
constexpr std::size_t StepOf(int layer, Operation operation, int num_layers) {
  const auto index = static_cast<std::size_t>(operation);
  if (operation == Operation::kEmbedding) return 0;
  if (operation >= Operation::kFinalNorm) {
    return NumSteps(num_layers) - 2 + (index - static_cast<std::size_t>(Operation::kFinalNorm));
  }
  return index + kNumLayerOperations * static_cast<std::size_t>(layer);
}
struct StepPlace {
  int layer;
  Operation operation;
};
/// The inverse.
constexpr StepPlace PlaceOf(std::size_t step, int num_layers) {
  if (step == 0) return {-1, Operation::kEmbedding};
  if (step + 2 >= NumSteps(num_layers)) {
    return {-1, step + 1 == NumSteps(num_layers) ? Operation::kHead : Operation::kFinalNorm};
  }
  return {static_cast<int>((step - 1) / kNumLayerOperations),
          static_cast<Operation>(1 + (step - 1) % kNumLayerOperations)};
}

}  // namespace bittern::proof
