// SPDX-License-Identifier: Apache-2.0
// A feed-forward layer in any layout of I2_S whose neurons differ as those of a trained model do,
// or do not differ.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "formats/gguf/gguf_builder_for_test.hpp"
#include "quant/ternary_codec.hpp"

namespace bittern::formats {

/// Packs codes (rows * cols) as a tensor of type 36.
inline void AddI2sMatrix(const std::string& name, quant::TernaryLayout layout,
                         const std::vector<std::uint8_t>& codes, std::size_t rows,
                         GgufBuilder* builder) {
  const auto& codec = quant::CodecOf(layout);
  const std::size_t cols = codes.size() / rows;
  std::vector<std::byte> bytes(codec.bytes(rows, cols, {}));
  const std::vector<float> scales(rows, 1.5f);
  codec.pack({codes, scales, rows, cols, {}}, bytes.data());
  builder->AddTensor(name, 36, {cols, rows}, bytes);
}

/// gate, up and down of layer 0, hidden size 256, 512 neurons. Each neuron has a share of zeros of
/// its own between 0.5 - spread and 0.5 + spread, in its rows of gate and up and its column of
/// down.
inline GgufBuilder MakeI2sLayer(quant::TernaryLayout layout, double spread) {
  constexpr std::size_t kHidden = 256, kNeurons = 512;
  std::mt19937 rng(1);
  const auto uniform = [&rng] { return static_cast<double>(rng() % 4096) / 4096; };
  std::vector<std::uint8_t> gate(kNeurons * kHidden), up(gate), down(gate);
  for (std::size_t neuron = 0; neuron < kNeurons; ++neuron) {
    const double zeros = 0.5 + spread * (2 * uniform() - 1);
    const auto code = [&]() -> std::uint8_t {
      if (uniform() < zeros) return 1;
      return rng() % 2 == 0 ? 0 : 2;
    };
    for (std::size_t i = 0; i < kHidden; ++i) {
      gate[neuron * kHidden + i] = code();
      up[neuron * kHidden + i] = code();
      down[i * kNeurons + neuron] = code();
    }
  }
  GgufBuilder builder;
  AddI2sMatrix("blk.0.ffn_gate.weight", layout, gate, kNeurons, &builder);
  AddI2sMatrix("blk.0.ffn_up.weight", layout, up, kNeurons, &builder);
  AddI2sMatrix("blk.0.ffn_down.weight", layout, down, kHidden, &builder);
  return builder;
}

}  // namespace bittern::formats
