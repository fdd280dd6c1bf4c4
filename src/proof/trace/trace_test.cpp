// SPDX-License-Identifier: Apache-2.0
// A fault is planted in one operation of one layer, and the comparison must name it: against the
// same cache, and against keys and values of another type, which add noise.
#include "proof/trace/trace.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

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
