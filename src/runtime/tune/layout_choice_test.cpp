// SPDX-License-Identifier: Apache-2.0
// Which layout is chosen from what; that a measurement is made once; that the file it is kept in
// may be missing, broken or unwritable.
#include "runtime/tune/layout_choice.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "kernels/registry.hpp"
#include "model/matrix_layout.hpp"

namespace bittern::runtime {
namespace {

using model::MatrixLayout;
using testing::HasSubstr;

constexpr std::uint64_t kLarge = std::uint64_t{1} << 40;  // more than any cache

class Layouts : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::remove_all(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  void Write(const std::string& text) {
    std::filesystem::create_directories(folder_);
    std::ofstream(folder_ / "layouts.json") << text;
  }
  /// Kernels whose tile48 is taken for a fast one on every CPU.
  kernels::Kernels Kernels() {
    kernels::Kernels kernels = kernels::SelectKernels();
    info_ = *kernels.tile48_info;
    info_.isa = kernels.tile16_info->isa;
    info_.name = "tile48_for_test";
    kernels.tile48_info = &info_;
    return kernels;
  }
  LayoutChoice Choose(std::uint64_t bytes) {
    return ChooseLayout(bytes, kind_, Kernels(), pool_, LayoutCache(folder_ / "layouts.json"));
  }
  /// The name under which this machine's gain is kept.
  std::string Machine() {
    static_cast<void>(Choose(kLarge));
    std::ifstream in(folder_ / "layouts.json");
    std::string line;
    std::getline(in, line);
    std::getline(in, line);
    const std::size_t begin = line.find('"') + 1;
    return line.substr(begin, line.find('"', begin) - begin);
  }

  ScaleKind kind_ = ScaleKind::kOfRows;
  kernels::KernelInfo info_{};
  ThreadPool pool_ = ThreadPool::Create(2).value();
  std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("bittern-layouts-" + std::to_string(getpid()));
};

TEST_F(Layouts, SmallModelsAreNotMeasured) {
  EXPECT_EQ(Choose(1 << 20).layout, MatrixLayout::kTile16);
  EXPECT_THAT(Choose(1 << 20).reason, HasSubstr("caches"));
  EXPECT_FALSE(std::filesystem::exists(folder_));
}

TEST_F(Layouts, NeitherAreCpusWithoutAKernel) {
  const auto scalar =
      kernels::SelectKernels([](kernels::Isa isa) { return isa == kernels::Isa::scalar; });
  const auto choice =
      ChooseLayout(kLarge, kind_, scalar, pool_, LayoutCache(folder_ / "layouts.json"));
  EXPECT_EQ(choice.layout, MatrixLayout::kTile16);
  EXPECT_THAT(choice.reason, HasSubstr("no kernel"));
  EXPECT_FALSE(std::filesystem::exists(folder_));
}

TEST_F(Layouts, OneMeasurementServesAllLoads) {
  const LayoutChoice first = Choose(kLarge), second = Choose(kLarge);
  EXPECT_THAT(first.reason, HasSubstr("measured now, kept in " + folder_.string()));
  EXPECT_THAT(second.reason, HasSubstr("measured before"));
  EXPECT_EQ(first.layout, second.layout);
}

TEST_F(Layouts, WhatWasMeasuredDecides) {
  const std::string machine = Machine();
  EXPECT_THAT(machine, HasSubstr("2 threads"));
  Write("{\"" + machine + "\": 1.2}");
  EXPECT_EQ(Choose(kLarge).layout, MatrixLayout::kTile48);
  EXPECT_THAT(Choose(kLarge).reason, HasSubstr("1.20 times as fast"));
  Write("{\"" + machine + "\": 1.02}");
  EXPECT_EQ(Choose(kLarge).layout, MatrixLayout::kTile16);
}

TEST_F(Layouts, GroupsTakeTile48ForItsSizeAlone) {
  const std::string of_rows = Machine();
  kind_ = ScaleKind::kOfGroups;
  const std::string machine = Machine();
  EXPECT_NE(machine, of_rows);
  Write("{\"" + machine + "\": 0.98, \"" + of_rows + "\": 2}");
  EXPECT_EQ(Choose(kLarge).layout, MatrixLayout::kTile48);
  Write("{\"" + machine + "\": 0.96, \"" + of_rows + "\": 2}");
  EXPECT_EQ(Choose(kLarge).layout, MatrixLayout::kTile16);
}

TEST_F(Layouts, OtherMachinesAreKept) {
  Write(R"({"another CPU": 1.5})");
  static_cast<void>(Choose(kLarge));
  const LayoutCache cache(folder_ / "layouts.json");
  EXPECT_EQ(cache.Find("another CPU"), 1.5);
  EXPECT_TRUE(cache.Find(Machine()).has_value());
}

TEST_F(Layouts, ABrokenFileIsMeasuredAnew) {
  for (const char* text : {"", "{", "[1]", "{\"x\": \"fast\"}", "\xff\xfe", "{\"x\": -1}"}) {
    Write(text);
    EXPECT_THAT(Choose(kLarge).reason, HasSubstr("measured now, kept")) << text;
  }
}

TEST_F(Layouts, NowhereToKeepItIsNoError) {
  const auto choice = ChooseLayout(kLarge, kind_, Kernels(), pool_, LayoutCache({}));
  EXPECT_THAT(choice.reason, HasSubstr("measured now, not kept"));
  std::filesystem::create_directories(folder_);
  std::ofstream(folder_ / "file") << "in the way";
  const auto blocked =
      ChooseLayout(kLarge, kind_, Kernels(), pool_, LayoutCache(folder_ / "file" / "layouts.json"));
  EXPECT_THAT(blocked.reason, HasSubstr("not kept"));
}

TEST_F(Layouts, TheMeasurementMultipliesByBothLayouts) {
  for (const auto kind : {ScaleKind::kOfRows, ScaleKind::kOfGroups}) {
    const auto gain =
        MeasureTile48Gain(pool_, kernels::SelectKernels(), std::size_t{4} << 20, kind);
    ASSERT_TRUE(gain.has_value());
    EXPECT_GT(*gain, 0.001);
    EXPECT_LT(*gain, 1000);
  }
}

}  // namespace
}  // namespace bittern::runtime
