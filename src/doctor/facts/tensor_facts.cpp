// SPDX-License-Identifier: Apache-2.0
// Any number of threads.
#include "doctor/facts/tensor_facts.hpp"

#include <cmath>
#include <cstring>

namespace bittern::doctor {
namespace {

/// Calls `use` with every number of a vector of F32. False for other tensors.
template <class Use>
bool ForNumbers(const formats::Tensor& tensor, const Use& use) {
  const bool fits =
      tensor.rank == 1 && tensor.format == quant::WeightFormat::kF32 && tensor.num_elements() != 0;
  if (!fits) return false;
  for (std::size_t i = 0; i + 4 <= tensor.bytes.size(); i += 4) {
    float number = 0;
    std::memcpy(&number, tensor.bytes.data() + i, 4);
    use(static_cast<double>(number));
  }
  return true;
}

}  // namespace

std::optional<std::array<std::uint64_t, 4>> CodeCounts(const formats::Tensor& tensor) {
  if (tensor.format != quant::WeightFormat::kI2_S) return std::nullopt;
  const std::size_t size = tensor.num_elements() / 4;
  if (size > tensor.bytes.size()) return std::nullopt;
  std::array<std::uint64_t, 256> bytes = {};
  for (const std::byte byte : tensor.bytes.first(size)) ++bytes[std::to_integer<std::size_t>(byte)];
  std::array<std::uint64_t, 4> counts = {};
  for (unsigned value = 0; value < 256; ++value) {
    for (unsigned shift = 0; shift < 8; shift += 2) counts[value >> shift & 3] += bytes[value];
  }
  return counts;
}

std::optional<double> LargestMagnitude(const formats::Tensor& tensor) {
  double largest = 0;
  const bool is_vector =
      ForNumbers(tensor, [&](double x) { largest = std::max(largest, std::abs(x)); });
  return is_vector ? std::optional(largest) : std::nullopt;
}

std::optional<double> MeanOf(const formats::Tensor& tensor) {
  double sum = 0;
  const bool is_vector = ForNumbers(tensor, [&](double x) { sum += x; });
  return is_vector ? std::optional(sum / static_cast<double>(tensor.num_elements())) : std::nullopt;
}

std::string KindOf(const std::string& name) {
  if (!name.starts_with("blk.")) return name;
  const std::size_t dot = name.find('.', 4);
  return dot == std::string::npos ? name : name.substr(dot + 1);
}

}  // namespace bittern::doctor
