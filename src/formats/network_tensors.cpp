// SPDX-License-Identifier: Apache-2.0
#include "formats/network_tensors.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace bittern::formats {
namespace {

/// Takes "blk.N." off the front of `name` and gives N's digits; empty if it is not there.
std::string_view TakeLayer(std::string_view* name) noexcept {
  constexpr std::string_view kPrefix = "blk.";
  if (!name->starts_with(kPrefix)) return {};
  const std::size_t end = name->find('.', kPrefix.size());
  if (end == std::string_view::npos) return {};
  const std::string_view digits = name->substr(kPrefix.size(), end - kPrefix.size());
  if (digits.find_first_not_of("0123456789") != std::string_view::npos) return {};
  name->remove_prefix(end + 1);
  return digits;
}

}  // namespace

std::string TensorKindName(TensorId id) {
  const TensorSpec& spec = SpecOf(id);
  return fmt::format("{}{}", spec.gguf, spec.kind == TensorKind::kValues ? "" : ".weight");
}

std::string TensorName(TensorId id, int layer) {
  if (!SpecOf(id).of_layer()) return TensorKindName(id);
  return fmt::format("blk.{}.{}", layer, TensorKindName(id));
}

std::optional<NamedTensor> ParseTensorName(std::string_view name) noexcept {
  const std::string_view layer = TakeLayer(&name);
  const auto find = [&](std::string_view gguf, bool whole) {
    return std::ranges::find_if(kNetworkTensors, [&](const TensorSpec& spec) {
      return spec.of_layer() == !layer.empty() && spec.gguf == gguf &&
             (spec.kind == TensorKind::kValues) == whole;
    });
  };
  const auto* const values = find(name, true);
  if (values != std::end(kNetworkTensors)) return NamedTensor{values, layer, ""};
  const std::size_t dot = name.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const auto* const found = find(name.substr(0, dot), false);
  if (found == std::end(kNetworkTensors)) return std::nullopt;
  return NamedTensor{found, layer, name.substr(dot)};
}

const TensorSpec* FindWeight(std::string_view name) noexcept {
  const auto named = ParseTensorName(name);
  if (!named) return nullptr;
  const bool whole = named->spec->kind == TensorKind::kValues;
  return named->part == (whole ? "" : ".weight") ? named->spec : nullptr;
}

}  // namespace bittern::formats
