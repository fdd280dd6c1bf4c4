// SPDX-License-Identifier: Apache-2.0
// Sound kernels and models pass. What must fail: a kernel with one wrong value, a model that cannot
// be opened, a model whose text is not the known one.
#include "proof/selftest/selftest.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/registry.hpp"
#include "proof/selftest/kernel_results.hpp"
#include "proof/selftest/known_models.hpp"

namespace bittern::proof {
namespace {

using testing::HasSubstr;

const char* kModel = BITTERN_SOURCE_DIR "/models/kjv-5m-i2s.gguf";

kernels::Kernels Scalar() {
  return kernels::SelectKernels([](kernels::Isa isa) { return isa == kernels::Isa::scalar; });
}

TEST(KernelResults, OfEveryOperationAreThoseOfTheScalarTwin) {
  const auto best = kernels::SelectKernels(), twin = Scalar();
  const auto check = [](auto run, const auto& ops, const auto& expected_ops) {
    KernelResults found, expected;
    run(ops, &found);
    run(expected_ops, &expected);
    EXPECT_GT(expected.parts.size(), 2u);
    EXPECT_EQ(CompareResults(expected, found), "");
  };
  check(RunTile16, best.tile16(), twin.tile16());
  check(RunTile48, best.tile48(), twin.tile48());
  check(RunTl1, best.tl1(), twin.tl1());
  check(RunTl2, best.tl2(), twin.tl2());
  check(RunSparse, best.sparse(), twin.sparse());
  check(RunScreen, best.screen(), twin.screen());
  check(RunFloat32, best.float32(), twin.float32());
}

TEST(KernelResults, OneWrongValueIsNamed) {
  kernels::Tile16Ops wrong = Scalar().tile16();
  wrong.gemv = [](const kernels::FewArgs* args) {
    Scalar().tile16().gemv(args);
    args->out[7] += 1;
  };
  KernelResults expected, found;
  RunTile16(Scalar().tile16(), &expected);
  RunTile16(wrong, &found);
  EXPECT_THAT(CompareResults(expected, found), HasSubstr("gemv: 1 of 48 values differ"));
}

TEST(KernelResults, AnotherNumberOfValuesIsADifference) {
  const std::uint32_t ids[] = {1, 2, 3};
  KernelResults expected, found;
  expected.Add("survivors", std::span<const std::uint32_t>(ids));
  found.Add("survivors", std::span<const std::uint32_t>(ids).first(2));
  EXPECT_EQ(CompareResults(expected, found), "survivors: 3 values expected, 2 found");
}

const CheckRow* RowOf(const SelftestReport& report, std::string_view name) {
  const auto row = std::ranges::find(report.rows, name, &CheckRow::name);
  return row == report.rows.end() ? nullptr : &*row;
}

TEST(Selftest, KnownModelPasses) {
  const auto report =
      RunSelftest({.given = [] { return formats::Checkpoint::Open(kModel); }, .seconds = 1e9});
  for (const CheckRow& row : report.rows) {
    EXPECT_TRUE(row.state == CheckState::kOk || row.group == "machine") << row.name << row.detail;
  }
  EXPECT_TRUE(report.ok());
  EXPECT_TRUE(report.complete());
  ASSERT_NE(RowOf(report, "loop detector"), nullptr);
  EXPECT_THAT(RowOf(report, "loop detector")->detail, HasSubstr("this model's own"));
}

TEST(Selftest, OtherTextThanKnownFails) {
  const auto open = []() -> Result<formats::Checkpoint> {
    auto file = BITTERN_TRY(formats::Checkpoint::Open(kModel));
    BITTERN_TRY(file.metadata().Override("tokenizer.ggml.add_bos_token=bool:false"));
    return file;
  };
  const auto report = RunSelftest({.given = open, .seconds = 1e9});
  EXPECT_FALSE(report.ok());
  ASSERT_NE(RowOf(report, "texts"), nullptr);
  EXPECT_EQ(RowOf(report, "texts")->state, CheckState::kFailed);
  EXPECT_EQ(RowOf(report, "certificate")->state, CheckState::kFailed);
}

TEST(Selftest, ModelThatDoesNotOpenFails) {
  const auto report =
      RunSelftest({.given = [] { return formats::Checkpoint::Open("/no/such/file"); }});
  EXPECT_FALSE(report.ok());
  ASSERT_FALSE(report.rows.empty());
  EXPECT_EQ(report.rows.back().name, "loading");
}

TEST(Selftest, WhatDoesNotFitIntoTheTimeIsSkipped) {
  const auto open = [] { return formats::Checkpoint::Open(kModel); };
  const auto report = RunSelftest({.given = open, .seconds = 0});
  for (const CheckRow& row : report.rows) {
    EXPECT_EQ(row.state, CheckState::kSkipped);
    EXPECT_TRUE(row.missed);
  }
  EXPECT_TRUE(report.ok());
  EXPECT_FALSE(report.complete());
  ASSERT_NE(RowOf(report, "loading"), nullptr);
}

TEST(KnownModels, AreFoundByTheirFiles) {
  for (const char* name : {"kjv-5m", "pocket-8m", "pocket-3"}) {
    const auto file =
        formats::Checkpoint::Open(fmt::format("{}/models/{}-i2s.gguf", BITTERN_SOURCE_DIR, name));
    EXPECT_NE(NameOfKnownFile(*file), "") << name;
  }
  const auto other =
      formats::Checkpoint::Open(BITTERN_SOURCE_DIR "/tests/doctor/llama-1m-i2s.gguf");
  EXPECT_EQ(KnownByFile(*other), nullptr);
}

}  // namespace
}  // namespace bittern::proof
