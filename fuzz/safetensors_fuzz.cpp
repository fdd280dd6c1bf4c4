// SPDX-License-Identifier: Apache-2.0
// Any bytes as a safetensors file: refused, or every tensor lies inside them. What is accepted is
// also mapped as the weights of a small model, and the input is tried as an index of shards.
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

unsigned Sum(std::span<const std::byte> bytes) {
  unsigned sum = 0;
  for (const std::byte b : bytes) sum += std::to_integer<unsigned>(b);
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
  for (const auto floats : {formats::HfFloatWeights::kMasters, formats::HfFloatWeights::kRefused}) {
    const formats::HfConfig config = SmallConfig(total % 2 == 0, floats);
    Decisions decisions;
    const auto tensors = formats::MapHfTensors(config, contents->entries, &decisions);
    if (!tensors) continue;
    for (const auto& tensor : tensors->tensors) {
      const auto expected =
          quant::TensorBytes(quant::InfoOf(tensor.format), tensor.row_elements(), tensor.rows());
      Check(expected && *expected == tensor.bytes.size());
      sink = sink + Sum(tensor.bytes);
    }
  }
  return 0;
}
