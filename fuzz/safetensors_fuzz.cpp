// SPDX-License-Identifier: Apache-2.0
// Any bytes as a safetensors file: refused, or every tensor lies inside them. What is accepted is
// also mapped as the weights of small models (masters or packed; delta layers in MLX's packs,
// rotated or not; experts, in packs or not), and the input is tried as an index of shards.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>

#include "formats/hf/hf_tensors.hpp"
#include "formats/safetensors/safetensors_reader.hpp"

namespace {

using namespace bittern;

void Check(bool holds) {
  if (!holds) std::abort();
}

formats::HfConfig SmallConfig(bool multiplies, formats::HfFloatWeights floats) {
  formats::HfConfig config;
  config.architecture = "bitnet-b1.58";
  config.row = formats::FindArchitecture(config.architecture);
  config.num_layers = 2;
  config.vocab_size = 3;
  config.hidden_size = config.q_size = 4;
  config.kv_size = 2;
  config.intermediate_size = 6;
  if (multiplies) config.linear_class = "autobitlinear";
  config.float_weights = floats;
  return config;
}

/// Two key heads with two value heads each, in packs of 64 columns; rotated: with signs for 64.
formats::HfConfig DeltaConfig(bool rotated) {
  formats::HfConfig config = SmallConfig(false, formats::HfFloatWeights::kAsIs);
  config.architecture = "qwen35";
  config.row = formats::FindArchitecture(config.architecture);
  config.hidden_size = config.q_size = 64;
  config.mlx = {2, 64};
  config.delta = {.key_heads = 2, .value_heads = 4, .head_dim = 2, .taps = 2};
  config.rotated = rotated;
  if (rotated) config.rotation_signs[64].assign(64, 1.0f);
  return config;
}

/// packs: matrices in packs of 2 bits, the embedding in one of 4.
formats::HfConfig ExpertsConfig(bool packs) {
  formats::HfConfig config = SmallConfig(false, formats::HfFloatWeights::kThresholds);
  config.architecture = "maple";
  config.row = formats::FindArchitecture(config.architecture);
  config.num_experts = 2;
  if (packs) {
    config.float_weights = formats::HfFloatWeights::kAsIs;
    config.mlx = {2, 64};
    config.mlx_modules["model.word_embeddings"] = {4, 64};
  }
  return config;
}

unsigned Sum(std::span<const std::byte> bytes) {
  unsigned sum = 0;
  for (const std::byte b : bytes) sum += std::to_integer<unsigned>(b);
  return sum;
}

/// Parts that a tensor has elsewhere: sides of a pack, matrices of experts, and rows and columns
/// that exist.
unsigned SumOfPlaces(const formats::Tensor& tensor) {
  if (tensor.places == nullptr) return 0;
  const formats::TensorPlaces& places = *tensor.places;
  unsigned sum = Sum(places.scales) + Sum(places.biases);
  for (const auto& part : places.parts) sum += Sum(part);
  for (const auto row : places.rows) Check(row < tensor.rows());
  for (const auto column : places.columns) Check(column < tensor.row_elements());
  return sum;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // An exact-size copy, so that AddressSanitizer sees any read past its end.
  const auto copy = std::make_unique<std::byte[]>(size);
  if (size != 0) std::memcpy(copy.get(), data, size);
  const std::span<const std::byte> bytes(copy.get(), size);
  static volatile unsigned sink = 0;

  const auto index =
      formats::ParseSafetensorsIndex({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  if (index) {
    for (const auto& tensor : *index) Check(tensor.file.find('/') == std::string::npos);
  }
  const auto contents = formats::ParseSafetensors(bytes);
  if (!contents) return 0;
  std::size_t total = 0;
  for (const auto& entry : contents->entries) {
    total += entry.bytes.size();
    sink = sink + Sum(entry.bytes);
  }
  Check(total + contents->data_start == size);
  for (const formats::HfConfig& config :
       {SmallConfig(total % 2 == 0, formats::HfFloatWeights::kMasters),
        SmallConfig(total % 2 == 0, formats::HfFloatWeights::kRefused), DeltaConfig(false),
        DeltaConfig(true), ExpertsConfig(false), ExpertsConfig(true)}) {
    Decisions decisions;
    const auto mapped = formats::MapHfTensors(config, contents->entries, &decisions);
    if (!mapped) continue;
    for (const auto& tensor : mapped->tensors) {
      sink = sink + Sum(tensor.bytes) + SumOfPlaces(tensor);
      if (tensor.places != nullptr) continue;  // its parts lie apart
      const auto expected =
          quant::TensorBytes(quant::InfoOf(tensor.format), tensor.row_elements(), tensor.rows());
      Check(expected && *expected == tensor.bytes.size());
    }
  }
  return 0;
}
