// SPDX-License-Identifier: Apache-2.0
// A fault is planted in one operation of one layer, and the comparison must name it: against the
// same cache, and against keys and values of another type, which add noise.
#include "proof/trace/trace.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/files/npy.hpp"
#include "proof/trace/compare.hpp"
#include "proof/trace/dump.hpp"
#include "proof/trace/lens.hpp"
#include "proof/trace/page_json.hpp"

namespace bittern::proof {
namespace {

using testing::HasSubstr;
using testing::Not;

std::shared_ptr<const runtime::LoadedModel> Kjv() {
  static const auto model =
      runtime::LoadedModel::Load(BITTERN_SOURCE_DIR "/models/kjv-5m-i2s.gguf",
                                 {.weights = {.zero_skip = model::SkipMode::kOff}})
          .value();
  return model;
}

const std::vector<TokenId>& Tokens() {
  static const auto tokens = Kjv()->tokenizer.Encode("In the beginning God created the heaven");
  return tokens;
}

Trace TraceOf(const TraceOptions& options) { return RunTrace(Kjv(), Tokens(), options).value(); }

/// A fault of one operation in one layer, from a position on.
struct Planted {
  int layer;
  Operation operation;
  int position;
};

std::vector<Planted> AllFaults() {
  std::vector<Planted> faults = {{-1, Operation::kEmbedding, 2}};
  using enum Operation;
  for (const auto operation :
       {kQkvInput, kQkvProj, kRope, kAttention, kOInput, kOProj, kAttnResidual, kGateUpInput, kGate,
        kAct, kDownInput, kDownProj, kFfnResidual}) {
    faults.push_back({static_cast<int>(faults.size()) % 3, operation, 1});
    faults.push_back({5, operation, 0});
  }
  return faults;
}

TraceFault FaultOf(const Planted& planted) {
  return [planted](int layer, Operation operation, int position, std::span<float> values) {
    if (layer != planted.layer || operation != planted.operation || position < planted.position) {
      return;
    }
    for (float& value : values) value *= 1.5f;
  };
}

void ExpectNamed(const Trace& healthy, const Planted& planted, model::KvType kv) {
  const auto found = CompareTraces(healthy, TraceOf({.kv_type = kv, .fault = FaultOf(planted)}));
  ASSERT_TRUE(found);
  const std::string what(OperationName(planted.operation));
  EXPECT_EQ(found->likeness, Likeness::kDifferent) << what << " " << planted.layer;
  ASSERT_TRUE(found->first);
  EXPECT_EQ(OperationName(found->first->operation), what) << found->summary;
  EXPECT_EQ(found->first->layer, planted.layer) << what;
  EXPECT_EQ(found->first->position, planted.position) << what;
  EXPECT_GT(found->first->distance, found->first->tolerance);
}

TEST(Trace, NamesEveryPlantedFault) {
  const Trace healthy = TraceOf({});
  EXPECT_GE(AllFaults().size(), 25u);
  for (const Planted& planted : AllFaults()) ExpectNamed(healthy, planted, model::KvType::kF16);
}

TEST(Trace, NamesThemAmongOtherRoundings) {
  const Trace healthy = TraceOf({.kv_type = model::KvType::kF32});
  for (const Planted& planted : AllFaults()) ExpectNamed(healthy, planted, model::KvType::kF16);
}

TEST(Trace, OtherKvTypesAreRounding) {
  const Trace f16 = TraceOf({}), f32 = TraceOf({.kv_type = model::KvType::kF32});
  const auto found = CompareTraces(f16, f32);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->likeness, Likeness::kRounding) << found->summary;
  ASSERT_TRUE(found->first);
  EXPECT_EQ(found->first->operation, Operation::kRope);
  EXPECT_EQ(found->first->layer, 0);
  const auto same = CompareTraces(f16, TraceOf({.num_threads = 1}));
  ASSERT_TRUE(same);
  EXPECT_EQ(same->likeness, Likeness::kIdentical);
  EXPECT_EQ(same->compared, Tokens().size() * NumSteps(6));
  EXPECT_FALSE(same->first);
}

TEST(Trace, StepsAreCountedForthAndBack) {
  for (std::size_t step = 0; step < NumSteps(4); ++step) {
    const auto [layer, operation] = PlaceOf(step, 4);
    EXPECT_EQ(StepOf(layer, operation, 4), step);
    EXPECT_EQ(OperationOf(OperationName(operation)), operation);
  }
  EXPECT_EQ(OperationOf("nothing"), std::nullopt);
  EXPECT_FALSE(IsOfLayer(Operation::kEmbedding) || IsOfLayer(Operation::kFinalNorm));
  EXPECT_TRUE(IsOfLayer(Operation::kAttnNorm) && IsOfLayer(Operation::kFfnResidual));
}

TEST(Trace, SketchesTellTheDistance) {
  std::vector<float> a(2000), b;
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = std::sin(static_cast<float>(i));
  b = a;
  double squares_of_all = 0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    const float difference = 0.01f * std::cos(static_cast<float>(3 * i * i));
    b[i] += difference;
    squares_of_all += static_cast<double>(difference) * static_cast<double>(difference);
  }
  const TraceStep x = Summarise(a), y = Summarise(b);
  double squares = 0;
  for (std::size_t k = 0; k < kSketch; ++k) squares += std::pow(x.sketch[k] - y.sketch[k], 2) / 16;
  const double distance = std::sqrt(squares_of_all);
  EXPECT_NEAR(std::sqrt(squares), distance, 0.6 * distance);
  EXPECT_EQ(SignBits(0), 16294208416658607535u);  // splitmix64's first number from seed 0
}

class Dump : public testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove_all(folder_); }

  /// A folder as another program writes it: an index without facts, and arrays.
  void WriteIndex(std::string_view index = R"("layers":1,"tokens":[7,9])") {
    std::filesystem::create_directories(folder_ / "values");
    std::ofstream(folder_ / "trace.json") << R"({"trace":"bittern trace v1",)" << index << "}";
  }
  void WriteArray(const std::string& name, std::string_view bytes) {
    std::ofstream(folder_ / "values" / name, std::ios::binary) << bytes;
  }
  void ExpectRefused(std::string_view part) {
    const auto read = ReadDump(folder_);
    ASSERT_FALSE(read) << part;
    EXPECT_THAT(read.error().message, HasSubstr(std::string(part)));
  }
  const std::filesystem::path folder_ = testing::TempDir() + "/bittern_trace_dump";
};

TEST_F(Dump, ComesBackAsItWas) {
  const Trace trace = TraceOf({.values = true, .program = "test"});
  ASSERT_TRUE(WriteDump(trace, folder_));
  const auto read = ReadDump(folder_);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->tokens, trace.tokens);
  EXPECT_EQ(read->program, "test");
  for (std::size_t i = 0; i < trace.steps.size(); ++i) {
    ASSERT_EQ(read->steps[i].values, trace.steps[i].values) << i;
    ASSERT_EQ(read->steps[i].hash, trace.steps[i].hash) << i;
    ASSERT_EQ(read->steps[i].sketch, trace.steps[i].sketch) << i;
  }
  EXPECT_EQ(CompareTraces(trace, *read)->likeness, Likeness::kIdentical);
}

TEST_F(Dump, OddFoldersAreErrors) {
  EXPECT_FALSE(ReadDump(folder_));
  std::filesystem::create_directories(folder_);
  for (
      const char* text :
      {"", "{", "[]", "{}", R"({"trace":"bittern trace v1"})",
       R"({"trace":"bittern trace v1","layers":999999,"tokens":[1],"steps":[]})",
       R"({"trace":"bittern trace v1","layers":1000,"tokens":[1,2,3],"steps":[]})",
       R"({"trace":"bittern trace v1","layers":1,"tokens":[1],"steps":[{"operation":"act","layer":1,"position":0}]})",
       R"({"trace":"bittern trace v1","layers":1,"tokens":[1],"steps":[{"operation":"head","position":1}]})",
       R"({"trace":"bittern trace v1","layers":1,"tokens":[1],"steps":[{"operation":"head","position":0,"count":3,"sketch":[1]}]})"}) {
    std::ofstream(folder_ / "trace.json") << text;
    const auto read = ReadDump(folder_);
    ASSERT_FALSE(read) << text;
    EXPECT_THAT(read.error().message, HasSubstr("trace.json"));
  }
}

/// The bytes of some numbers.
std::string Bytes(const std::vector<float>& numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(float)};
}

TEST_F(Dump, ArraysAloneAreATrace) {
  WriteIndex();
  WriteArray("0.attn_norm.f32", Bytes({1, 2, 3, 4, 5, 6}));
  WriteArray("head.npy", NpyHeader(2, 1) + Bytes({0, -3}));
  WriteArray(".DS_Store", "");
  const auto read = ReadDump(folder_);
  ASSERT_TRUE(read) << read.error().message;
  const TraceStep& norm = read->at(StepOf(0, Operation::kAttnNorm, 1), 1);
  EXPECT_EQ(norm.values, (std::vector<float>{4, 5, 6}));
  EXPECT_EQ(norm.sketch, Summarise(norm.values).sketch);
  EXPECT_EQ(norm.hash, Summarise(norm.values).hash);
  EXPECT_EQ(read->at(NumSteps(1) - 1, 1).least, -3);
  EXPECT_EQ(read->at(0, 0).count, 0u);
  EXPECT_EQ(CompareTraces(*read, *read)->compared, 4u);
}

TEST_F(Dump, ArraysThatDoNotFitAreErrors) {
  WriteIndex();
  ExpectRefused("steps, or arrays in values/, expected");
  for (const char* name : {"attn_norm.npy", "1.attn_norm.npy", "0.head.npy", "0.atn_norm.npy",
                           "x.f32", "-1.head.f32", "head.txt"}) {
    WriteArray(name, Bytes({1, 2}));
    ExpectRefused("the name of an operation expected, such as embedding.npy or 00.attn_norm.npy");
    ExpectRefused(name);
    std::filesystem::remove(folder_ / "values" / name);
  }
  const auto refuse = [&](const std::string& name, const std::string& bytes,
                          std::string_view part) {
    WriteArray(name, bytes);
    ExpectRefused(part);
    std::filesystem::remove(folder_ / "values" / name);
  };
  const std::string many = Bytes(std::vector<float>(300));
  refuse("head.f32", many + "1234", "a multiple of 8 bytes expected (float32, 2 positions)");
  refuse("head.npy", many, "no file of NumPy");
  refuse("head.npy", NpyHeader(3, 100) + many, "the shape (2, values) expected, (3, 100) found");
  refuse("head.npy", NpyHeader(2, 160) + many, "do not fit each other");
  WriteArray("head.f32", many);
  refuse("head.npy", NpyHeader(2, 150) + many, "this is the same operation as");
  WriteIndex(R"("layers":1000,"tokens":[7,9])");
  ExpectRefused("nearly all steps are missing");
}

TEST_F(Dump, StepsWithoutASketchAreThoseOfTheirArrays) {
  WriteIndex(R"("layers":1,"tokens":[7,9],"steps":[{"operation":"head","position":1}])");
  ExpectRefused("a step of head has no sketch, and values/head.npy is not there");
  WriteArray("head.f32", Bytes({1, 2, 3, 4}));
  WriteArray("mine.npy", "beside an index with steps other names are left out");
  const auto read = ReadDump(folder_);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->at(NumSteps(1) - 1, 0).count, 0u);
  EXPECT_EQ(read->at(NumSteps(1) - 1, 1).values, (std::vector<float>{3, 4}));
}

TEST_F(Dump, ValuesOfAnEarlierDumpAreLeftOut) {
  ASSERT_TRUE(WriteDump(TraceOf({.values = true}), folder_));
  std::vector<TokenId> tokens = Tokens();
  std::reverse(tokens.begin(), tokens.end());
  const Trace other = RunTrace(Kjv(), tokens, {}).value();
  ASSERT_TRUE(WriteDump(other, folder_));
  const auto read = ReadDump(folder_);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_TRUE(read->steps[0].values.empty());
  EXPECT_EQ(CompareTraces(other, *read)->likeness, Likeness::kIdentical);
}

TEST(Trace, OtherTokensCannotBeCompared) {
  const auto other = RunTrace(Kjv(), std::vector<TokenId>{1, 2}, {}).value();
  EXPECT_EQ(CompareTraces(TraceOf({}), other).error().code, ErrorCode::kInvalidArgument);
}

TEST(Trace, LensEndsInTheModelsOwnWord) {
  const Trace trace = TraceOf({.values = true});
  const auto lens = LogitLens(*Kjv(), trace, 3);
  ASSERT_TRUE(lens);
  ASSERT_EQ(lens->size(), 7u);
  const auto& logits = trace.at(NumSteps(6) - 1, Tokens().size() - 1).values;
  const auto best = std::max_element(logits.begin(), logits.end()) - logits.begin();
  EXPECT_EQ(lens->back().back().front().id, best);
  EXPECT_FALSE(LogitLens(*Kjv(), TraceOf({}), 3));
}

TEST(Trace, PageHasEveryStep) {
  const Trace trace = TraceOf({});
  const Json page =
      PageJson({.trace = &trace, .token_text = [](TokenId) { return "<b>"; }, .title = "<i>"});
  EXPECT_EQ(page["title"].text(), "<i>");
  ASSERT_EQ(page["tokens"].size(), trace.tokens.size());
  EXPECT_EQ(page["tokens"][0].text(), "<b>");
  const auto operation = static_cast<std::size_t>(Operation::kRope);
  ASSERT_EQ(page["steps"].size(), page["operations"].size());
  const Json& facts = page["steps"][operation][3][1];  // layer 2, position 1
  const TraceStep& step = trace.at(StepOf(2, Operation::kRope, trace.num_layers), 1);
  ASSERT_EQ(facts.size(), 6u);
  EXPECT_EQ(facts[0].AsNumber(), step.norm);  // the shade, where nothing is compared
  EXPECT_EQ(facts[4].AsNumber(), step.most);
  EXPECT_EQ(page["steps"][operation][0].size(), 0u);  // not outside the layers
  EXPECT_EQ(page["stream"][0].size(), 7u);
  EXPECT_TRUE(page["first"].is_null());
}

}  // namespace
}  // namespace bittern::proof
