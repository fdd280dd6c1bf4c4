// SPDX-License-Identifier: Apache-2.0
// The layout of I2_S as the weights show it: of the models that ship, of made ones, of noise.
#include "formats/i2s_detector.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "formats/i2s_layer_for_test.hpp"

namespace bittern::formats {
namespace {

using quant::TernaryLayout;
using DetectorCodes = std::vector<std::uint8_t>;

I2sEvidence Weigh(GgufBuilder builder) {
  const auto bytes = builder.Build();
  // The reader wants what a mapped file gives: an address that is a multiple of 32.
  std::vector<std::byte> room(bytes.size() + 32);
  const auto address = reinterpret_cast<std::uintptr_t>(room.data());
  std::byte* const start = room.data() + (32 - address % 32) % 32;
  std::copy(bytes.begin(), bytes.end(), start);
  return WeighI2sLayouts(Checkpoint::OpenBytes({start, bytes.size()}, "test").value());
}

TEST(I2sDetector, NeuronsOfDifferentDensityTellEachLayout) {
  for (const TernaryLayout layout : kI2sLayouts) {
    const I2sEvidence evidence = Weigh(MakeI2sLayer(layout, 0.2));
    EXPECT_EQ(evidence.Layout(), layout);
    EXPECT_TRUE(evidence.LooksTrained());
    EXPECT_EQ(evidence.neurons, 512u);
  }
}

TEST(I2sDetector, NoiseTellsNothing) {
  for (const TernaryLayout layout : kI2sLayouts) {
    const I2sEvidence evidence = Weigh(MakeI2sLayer(layout, 0));
    EXPECT_FALSE(evidence.Layout());
    EXPECT_FALSE(evidence.LooksTrained());
  }
}

TEST(I2sDetector, NothingToLookAtTellsNothing) {
  GgufBuilder builder;
  AddI2sMatrix("blk.0.ffn_gate.weight", TernaryLayout::kI2sX86, DetectorCodes(512 * 256), 512,
               &builder);
  const I2sEvidence evidence = Weigh(builder);
  EXPECT_EQ(evidence.neurons, 0u);
  EXPECT_FALSE(evidence.Layout());
  EXPECT_FALSE(evidence.LooksTrained());
}

/// The feed-forward parts of a model's first layers, packed anew.
I2sEvidence WeighRepacked(const Checkpoint& model, TernaryLayout layout) {
  GgufBuilder builder;
  for (const Tensor& tensor : model.tensors()) {
    if (tensor.name.find(".ffn_") == std::string::npos || tensor.rank != 2) continue;
    DetectorCodes codes(tensor.num_elements());
    std::vector<float> scales(tensor.rows());
    quant::CodecOf(TernaryLayout::kI2sX86)
        .unpack({tensor.bytes, tensor.rows(), tensor.row_elements(), {}}, 0, tensor.rows(),
                codes.data(), scales.data());
    AddI2sMatrix(tensor.name, layout, codes, tensor.rows(), &builder);
  }
  return Weigh(builder);
}

TEST(I2sDetector, TrainedModelsTellEachLayoutByAWideMargin) {
  for (const char* name : {"kjv-5m-i2s.gguf", "pocket-8m-i2s.gguf"}) {
    const auto model =
        Checkpoint::Open(std::filesystem::path(BITTERN_SOURCE_DIR) / "models" / name).value();
    for (const TernaryLayout layout : kI2sLayouts) {
      SCOPED_TRACE(std::string(name) + " as " + std::string(quant::CodecOf(layout).name));
      const I2sEvidence evidence = WeighRepacked(model, layout);
      EXPECT_EQ(evidence.Layout(), layout);
      EXPECT_TRUE(evidence.LooksTrained());
      for (std::size_t i = 0; i < kI2sLayouts.size(); ++i) {
        if (kI2sLayouts[i] == layout) {
          EXPECT_GT(evidence.correlation[i], 0.4);
        } else {
          EXPECT_LT(evidence.correlation[i], 0.2);
        }
      }
    }
  }
}

}  // namespace
}  // namespace bittern::formats
