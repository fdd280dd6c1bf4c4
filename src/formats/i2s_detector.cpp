// SPDX-License-Identifier: Apache-2.0
#include "formats/i2s_detector.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace bittern::formats {
namespace {

using quant::TernaryLayout;

constexpr TernaryLayout kLayouts[] = {TernaryLayout::kI2sX86, TernaryLayout::kI2sArm,
                                      TernaryLayout::kI2sSequential};
constexpr std::size_t kEnoughDead = 8;  // chance cannot align that many
constexpr int kMaxLayers = 4;           // looked at; the first layers have the most

quant::TernaryView ViewOf(const Tensor& tensor) {
  return {tensor.bytes, tensor.rows(), tensor.row_elements(), {}};
}

std::vector<std::size_t> DeadRows(const Tensor& gate) {
  const std::size_t row_bytes = gate.row_elements() / 4;
  std::vector<std::size_t> dead;
  for (std::size_t row = 0; row < gate.rows(); ++row) {
    const auto bytes = gate.bytes.subspan(row * row_bytes, row_bytes);
    if (std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0x55}; })) {
      dead.push_back(row);
    }
  }
  return dead;
}

/// True where every one of the columns is all zero under a layout.
bool ColumnsAreDead(const Tensor& down, TernaryLayout layout,
                    const std::vector<std::size_t>& columns) {
  const auto view = ViewOf(down);
  const auto& codec = quant::CodecOf(layout);
  if (!codec.check(view.rows, view.cols, {})) return false;
  std::vector<std::uint8_t> codes(view.cols);
  float scale;
  for (std::size_t row = 0; row < view.rows; ++row) {
    codec.unpack(view, row, 1, codes.data(), &scale);
    for (const std::size_t column : columns) {
      if (codes[column] != 1) return false;
    }
  }
  return true;
}

}  // namespace

std::optional<TernaryLayout> DetectI2sLayout(const Checkpoint& checkpoint) {
  for (int layer = 0; layer < kMaxLayers; ++layer) {
    const Tensor* gate = checkpoint.Find(fmt::format("blk.{}.ffn_gate.weight", layer));
    const Tensor* down = checkpoint.Find(fmt::format("blk.{}.ffn_down.weight", layer));
    if (gate == nullptr || down == nullptr || gate->format != quant::WeightFormat::kI2_S ||
        down->format != quant::WeightFormat::kI2_S || gate->rows() != down->row_elements()) {
      return std::nullopt;
    }
    const auto dead = DeadRows(*gate);
    if (dead.size() < kEnoughDead || dead.size() > gate->rows() / 2) continue;
    std::optional<TernaryLayout> found;
    for (const TernaryLayout layout : kLayouts) {
      if (!ColumnsAreDead(*down, layout, dead)) continue;
      if (found) return std::nullopt;
      found = layout;
    }
    return found;
  }
  return std::nullopt;
}

}  // namespace bittern::formats
