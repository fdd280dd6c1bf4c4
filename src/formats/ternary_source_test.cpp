// SPDX-License-Identifier: Apache-2.0
// TernaryOpener: its decisions if a file is silent, the keys it obeys, and the files it refuses.
#include "formats/ternary_source.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>

#include "formats/i2s_detector.hpp"
#include "formats/i2s_layer_for_test.hpp"

namespace bittern::formats {
namespace {

using quant::TernaryLayout;
using testing::HasSubstr;

/// Writes and opens a built file; it lies on disk until the object goes.
class OpenedFile {
 public:
  explicit OpenedFile(GgufBuilder builder) {
    path_ = std::filesystem::temp_directory_path() /
            ("bittern_source_" + std::to_string(getpid()) + ".gguf");
    const auto bytes = builder.Build();
    std::ofstream(path_, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    checkpoint_.emplace(Checkpoint::Open(path_).value());
  }
  ~OpenedFile() { std::filesystem::remove(path_); }
  OpenedFile(const OpenedFile&) = delete;
  OpenedFile& operator=(const OpenedFile&) = delete;
  Checkpoint& operator*() { return *checkpoint_; }

 private:
  std::filesystem::path path_;
  std::optional<Checkpoint> checkpoint_;
};

std::vector<std::byte> Pack(TernaryLayout layout, const std::vector<std::uint8_t>& codes,
                            std::size_t rows, std::size_t cols, float scale = 1.5f,
                            const quant::TlTiling& tiling = {}) {
  const auto& codec = quant::CodecOf(layout);
  std::vector<std::byte> bytes(codec.bytes(rows, cols, tiling));
  const std::vector<float> scales(rows * codec.ScalesPerRow(cols), scale);
  codec.pack({codes, scales, rows, cols, tiling}, bytes.data());
  return bytes;
}

/// The decision about the layout of a file's gate.
Decisions DecisionsOf(GgufBuilder builder, TernaryLayout expected) {
  OpenedFile file(std::move(builder));
  Decisions decisions;
  auto opener = TernaryOpener::Create(*file, &decisions).value();
  for (const char* name : {"blk.0.ffn_gate.weight", "blk.0.ffn_down.weight"}) {
    EXPECT_EQ(opener.Open(*(*file).Find(name)).value().codec().layout, expected);
  }
  return decisions;
}

TEST(TernaryOpener, TrainedNeuronsTellTheLayoutOfI2s) {
  for (const auto layout : kI2sLayouts) {
    const Decisions decisions = DecisionsOf(MakeI2sLayer(layout, 0.2), layout);
    ASSERT_EQ(decisions.size(), 1u);
    EXPECT_EQ(decisions[0].notable, layout != TernaryLayout::kI2sX86);
  }
}

TEST(TernaryOpener, WithoutEvidenceI2sIsTheOfficialLayoutAndNobodyIsTold) {
  const Decisions decisions =
      DecisionsOf(MakeI2sLayer(TernaryLayout::kI2sArm, 0), TernaryLayout::kI2sX86);
  ASSERT_EQ(decisions.size(), 1u);
  EXPECT_FALSE(decisions[0].notable);
}

// Neurons that differ, but not alike in gate and down: a trained model that shows no layout.
TEST(TernaryOpener, ATrainedModelThatShowsNoLayoutIsReported) {
  GgufBuilder builder;
  std::vector<std::uint8_t> gate(512 * 256), noise(gate);
  std::mt19937 rng(1);
  for (std::size_t i = 0; i < gate.size(); ++i) {
    gate[i] = static_cast<std::uint8_t>(rng() % (i / 256 % 2 == 0 ? 2 : 3));
    noise[i] = static_cast<std::uint8_t>(rng() % 3);
  }
  AddI2sMatrix("blk.0.ffn_gate.weight", TernaryLayout::kI2sX86, gate, 512, &builder);
  AddI2sMatrix("blk.0.ffn_up.weight", TernaryLayout::kI2sX86, gate, 512, &builder);
  AddI2sMatrix("blk.0.ffn_down.weight", TernaryLayout::kI2sX86, noise, 256, &builder);
  const Decisions decisions = DecisionsOf(builder, TernaryLayout::kI2sX86);
  ASSERT_EQ(decisions.size(), 1u);
  EXPECT_TRUE(decisions[0].notable);
  EXPECT_THAT(decisions[0].hint, HasSubstr("i2s_layout="));
}

TEST(TernaryOpener, ANamedLayoutIsObeyedAndReportedWhereTheWeightsSpeakAgainstIt) {
  const auto named = [](TernaryLayout layout, const char* name) {
    GgufBuilder builder = MakeI2sLayer(layout, 0.2);
    builder.Add("ternary.layout", name);
    return DecisionsOf(builder, TernaryLayout::kI2sArm);
  };
  EXPECT_TRUE(named(TernaryLayout::kI2sArm, "arm-64").empty());
  const Decisions decisions = named(TernaryLayout::kI2sRow4, "arm-64");
  ASSERT_EQ(decisions.size(), 1u);
  EXPECT_TRUE(decisions[0].notable);
  EXPECT_THAT(decisions[0].hint, HasSubstr("try i2s_layout=row4"));
}

TEST(TernaryOpener, AnUnknownLayoutIsRefused) {
  GgufBuilder builder = MakeI2sLayer(TernaryLayout::kI2sArm, 0);
  builder.Add("ternary.layout", "arm-65");
  OpenedFile file(builder);
  Decisions decisions;
  const auto wrong = TernaryOpener::Create(*file, &decisions);
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong.error().message,
              HasSubstr("expected one of x86-128, arm-64, row4, sequential, found \"arm-65\""));
}

TEST(TernaryOpener, ASeparateScaleMultiplies) {
  std::vector<std::uint8_t> codes(4 * 128, 2);
  const auto open = [&](float separate) {
    GgufBuilder builder;
    builder.AddTensor("blk.0.attn_q.weight", 36, {128, 4},
                      Pack(TernaryLayout::kI2sX86, codes, 4, 128, 1.5f));
    std::vector<std::byte> bytes(4);
    std::memcpy(bytes.data(), &separate, 4);
    builder.AddTensor("blk.0.attn_q.scale", 0, {1}, bytes);
    OpenedFile file(builder);
    Decisions decisions;
    auto opener = TernaryOpener::Create(*file, &decisions).value();
    const auto source = opener.Open(*(*file).Find("blk.0.attn_q.weight"));
    if (!source) return source.error().message;
    float scale;
    std::vector<std::uint8_t> row(128);
    EXPECT_TRUE(source->ReadRows(3, 1, row.data(), &scale));
    return std::to_string(scale);
  };
  EXPECT_EQ(open(2), "3.000000");
  EXPECT_THAT(open(std::nanf("")), HasSubstr("its scale: expected a finite positive number"));
}

TEST(TernaryOpener, AProductOfScalesMustFitAFloat) {
  for (const float scale : {3e38f, 1e-38f}) {
    GgufBuilder builder;
    builder.AddTensor(
        "blk.0.attn_q.weight", 36, {128, 4},
        Pack(TernaryLayout::kI2sX86, std::vector<std::uint8_t>(4 * 128, 2), 4, 128, scale));
    const float separate = scale > 1 ? 10 : 1e-10f;
    std::vector<std::byte> bytes(4);
    std::memcpy(bytes.data(), &separate, 4);
    builder.AddTensor("blk.0.attn_q.scale", 0, {1}, bytes);
    OpenedFile file(builder);
    Decisions decisions;
    auto opener = TernaryOpener::Create(*file, &decisions).value();
    const auto source = opener.Open(*(*file).Find("blk.0.attn_q.weight")).value();
    std::vector<std::uint8_t> row(128);
    float read;
    const auto refused = source.ReadRows(3, 1, row.data(), &read);
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr("row 3: expected a finite positive scale"));
  }
}

TEST(TernaryOpener, TilingsAreReadFoundOrAskedFor) {
  std::mt19937 rng(1);
  std::vector<std::uint8_t> codes(128 * 448);  // rows alike: nothing to find
  for (auto& code : codes) code = static_cast<std::uint8_t>(rng() % 3);
  GgufBuilder builder;
  builder.AddTensor("t.weight", 39, {448, 128},
                    Pack(TernaryLayout::kTl2, codes, 128, 448, 1, {64, 96, 32}));
  OpenedFile file(builder);
  Decisions decisions;
  const Tensor& tensor = *(*file).Find("t.weight");
  auto opener = TernaryOpener::Create(*file, &decisions).value();
  const auto unknown = opener.Open(tensor);
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().hint, HasSubstr("as in tl_tiling=128,448,BM,BK,bm"));
  ASSERT_TRUE((*file).metadata().Override("ternary.tl.tiling=str:128,448,64,96,32"));
  auto told = TernaryOpener::Create(*file, &decisions).value();
  std::vector<std::uint8_t> read(codes.size());
  std::vector<float> scales(128);
  ASSERT_TRUE(told.Open(tensor).value().ReadRows(0, 128, read.data(), scales.data()));
  EXPECT_EQ(read, codes);
  for (const char* bad : {"1,2,3", "128,448,64,96,-1", "128,448,64,96,x", "1,2,3,4,5,"}) {
    ASSERT_TRUE((*file).metadata().Override(std::string("ternary.tl.tiling=str:") + bad));
    EXPECT_FALSE(TernaryOpener::Create(*file, &decisions)) << bad;
  }
}

TEST(TernaryOpener, DenseFormatsAreRefusedByName) {
  GgufBuilder builder;
  builder.AddTensor("t.weight", 2, {32, 2}, std::vector<std::byte>(36));
  OpenedFile file(builder);
  Decisions decisions;
  auto opener = TernaryOpener::Create(*file, &decisions).value();
  const auto refused = opener.Open(*(*file).Find("t.weight"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(refused.error().message, HasSubstr("tensor \"t.weight\": expected ternary weights, "
                                                 "found Q4_0"));
}

}  // namespace
}  // namespace bittern::formats
