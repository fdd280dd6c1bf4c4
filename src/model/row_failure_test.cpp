// SPDX-License-Identifier: Apache-2.0
// Tokens whose values are not finite (docs/design/0007-not-finite.md): every path finds the same
// tokens at the same operations, and leaves every other token and bit alone.
#include "model/row_failure.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>

#include "kernels/instruction_sets.hpp"
#include "model/load/check_weights.hpp"
#include "model/matrix_layout.hpp"
#include "model/model.hpp"
#include "model/one_sequence_for_test.hpp"
#include "model/small_model_for_test.hpp"
#include "model/trace_point.hpp"

namespace bittern::model {
namespace {

constexpr std::size_t kFailureTokens = 12, kFailureVocab = SmallModel::kVocab;
constexpr float kMost = std::numeric_limits<float>::max();
using Failures = std::vector<std::optional<RowFailure>>;

/// The results of a run of some tokens.
struct Outcome {
  Failures failures;
  std::vector<float> logits;
};

/// Token i of the run.
std::int32_t TokenAt(std::size_t i) { return static_cast<std::int32_t>(i * 37 % kFailureVocab); }

Result<Model> LoadSmall(const SmallModel& small, ThreadPool& pool, const LoadOptions& options) {
  const auto path = small.Write();
  Decisions decisions;
  auto model = Model::Load(formats::Checkpoint::Open(path).value(), pool, &decisions, options);
  std::filesystem::remove(path);
  return model;
}

Outcome Run(const Model& model, ThreadPool& pool, std::size_t batch, KvType kv_type) {
  OneSequence cache(model.config(), 64, kv_type);
  auto state = ForwardState::Create(model, 64, 64, 2).value();
  Outcome outcome{{}, std::vector<float>(kFailureTokens * kFailureVocab)};
  std::vector<std::int32_t> tokens(kFailureTokens);
  for (std::size_t i = 0; i < kFailureTokens; ++i) tokens[i] = TokenAt(i);
  for (std::size_t i = 0; i < kFailureTokens; i += batch) {
    const auto part = std::span(tokens).subspan(i, std::min(batch, kFailureTokens - i));
    Forward(model, part, cache, state, pool, LogitsRows::kAll,
            std::span(outcome.logits).subspan(i * kFailureVocab, part.size() * kFailureVocab));
    const auto failures = state.failures();
    EXPECT_EQ(failures.size(), part.size());
    outcome.failures.insert(outcome.failures.end(), failures.begin(), failures.end());
  }
  return outcome;
}

/// Runs with every layout, way of skipping and batch; all must agree with `expected`, which the
/// first of them sets.
void RunLayouts(const SmallModel& small, KvType kv_type, std::optional<Outcome>* expected) {
  const bool grouped = small.architecture == "qwen3";  // needs kTile16, and skips nothing
  auto pool = ThreadPool::Create(2).value();
  for (const LoadOptions& options :
       {LoadOptions{.zero_skip = SkipMode::kOff}, LoadOptions{.zero_skip = SkipMode::kOn},
        LoadOptions{.layout = MatrixLayout::kTl1},
        LoadOptions{.layout = MatrixLayout::kTile48, .zero_skip = SkipMode::kOff}}) {
    if (grouped && options.layout) continue;
    const Model model = LoadSmall(small, pool, options).value();
    for (const std::size_t batch : {12u, 3u, 1u}) {
      const Outcome got = Run(model, pool, batch, kv_type);
      if (!*expected) *expected = got;
      EXPECT_EQ(got.failures, (*expected)->failures) << "batch " << batch;
      EXPECT_EQ(got.logits, (*expected)->logits) << "batch " << batch;
    }
  }
}

/// The same on every instruction set.
Outcome RunEverywhere(const SmallModel& small, KvType kv_type = KvType::kF32) {
  const std::string before = kernels::ForcedIsa();
  std::optional<Outcome> expected;
  for (const kernels::Isa isa : kernels::AllIsas()) {
    if (!kernels::Supports(isa)) continue;
    SCOPED_TRACE(kernels::IsaName(isa));
    kernels::ForceIsa(kernels::IsaName(isa));
    RunLayouts(small, kv_type, &expected);
  }
  kernels::ForceIsa(before);
  return *expected;
}

/// Every token fails there.
void ExpectAll(const SmallModel& small, const RowFailure& expected, KvType kv_type = KvType::kF32) {
  const Outcome outcome = RunEverywhere(small, kv_type);
  EXPECT_EQ(outcome.failures, Failures(kFailureTokens, expected))
      << (outcome.failures[0] ? NotFiniteError(*outcome.failures[0], 0).message : "none");
  EXPECT_EQ(outcome.logits, std::vector<float>(kFailureTokens * kFailureVocab, 0.0f));
}

void ShutGates(SmallModel* small) {
  for (std::size_t n = 0; n < SmallModel::kFfn; ++n) {
    small->FillRow("blk.0.ffn_gate.weight", n, 1);
  }
}

TEST(RowFailure, OrdinaryNetworksHaveNone) {
  EXPECT_EQ(RunEverywhere(SmallModel()).failures, Failures(kFailureTokens));
}

TEST(RowFailure, HugeUpRowsBehindShutGatesAreNotSkipped) {
  SmallModel small;
  ShutGates(&small);
  small.SetScale("blk.0.ffn_up.weight", 3e38f);
  ExpectAll(small, {0, TracePoint::kAct});
}

TEST(RowFailure, AZeroProductWithoutAnEpsilonIsNotANumber) {
  SmallModel small;
  ShutGates(&small);
  small.rms_norm_eps = 0;
  ExpectAll(small, {0, TracePoint::kAct});
}

TEST(RowFailure, AProductWhoseSquaresOverflowIsNormed) {
  SmallModel plain;
  plain.rms_norm_eps = 1e-20f;  // vanishes beside either product
  SmallModel large = plain;
  for (const char* layer : {"0", "1"}) {  // times 2^80, a power of two
    const std::string p = std::string("blk.") + layer;
    large.SetScale(p + ".ffn_gate.weight", 0.125f * 0x1p30f);
    large.SetScale(p + ".ffn_up.weight", 0.125f * 0x1p20f);
  }
  const Outcome want = RunEverywhere(plain), got = RunEverywhere(large);
  EXPECT_EQ(got.failures, Failures(kFailureTokens));
  for (std::size_t i = 0; i < want.logits.size(); ++i) {
    ASSERT_NEAR(got.logits[i], want.logits[i], 1e-5 * (1 + std::fabs(want.logits[i]))) << i;
  }
}

TEST(RowFailure, OneBadTokenTouchesNoneBeforeIt) {
  const SmallModel good;
  const Outcome want = RunEverywhere(good);
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()}) {
    constexpr std::size_t kBad = 7;
    SmallModel small = good;
    // The embedding alone: the head is another matrix.
    small.tensors["output.weight"] = small.tensors.at("token_embd.weight");
    small.SetFloat("token_embd.weight",
                   static_cast<std::size_t>(TokenAt(kBad)) * SmallModel::kHidden + 100, bad);
    const Outcome got = RunEverywhere(small);
    Failures expected(kFailureTokens);
    expected[kBad] = RowFailure{};
    EXPECT_EQ(got.failures, expected);
    for (std::size_t i = 0; i < kBad * kFailureVocab; ++i)
      ASSERT_EQ(got.logits[i], want.logits[i]) << i;
    for (std::size_t i = kBad * kFailureVocab; i < (kBad + 1) * kFailureVocab; ++i)
      ASSERT_EQ(got.logits[i], 0);
    for (const float logit : got.logits) ASSERT_TRUE(std::isfinite(logit));
  }
}

TEST(RowFailure, AResidualStreamThatOverflows) {
  SmallModel attention;
  for (std::size_t i = 0; i < kFailureVocab * SmallModel::kHidden; ++i) {
    attention.SetFloat("token_embd.weight", i, i % 2 == 0 ? kMost : -kMost);
  }
  SmallModel ffn = attention, last = attention;
  attention.SetScale("blk.0.attn_output.weight", 1e34f);
  ExpectAll(attention, {0, TracePoint::kAttnResidual});
  ffn.SetScale("blk.0.ffn_down.weight", 1e34f);
  ExpectAll(ffn, {0, TracePoint::kFfnResidual});
  last.SetScale("blk.1.ffn_down.weight", 1e34f);
  ExpectAll(last, {1, TracePoint::kFfnResidual});
}

TEST(RowFailure, ScoresThatOverflow) {
  SmallModel small;
  small.SetScale("blk.1.attn_q.weight", 1e20f);
  small.SetScale("blk.1.attn_k.weight", 1e20f);
  ExpectAll(small, {1, TracePoint::kAttention});
  // A half cache saturates at 65504, which is written down (docs/design/0001-numerics.md).
  EXPECT_EQ(RunEverywhere(small, KvType::kF16).failures, Failures(kFailureTokens));
}

TEST(RowFailure, ProjectionsThatMightOverflow) {
  const struct {
    const char* tensor;
    TracePoint point;
  } kCases[] = {{"blk.1.attn_q.weight", TracePoint::kQkvProj},
                {"blk.1.attn_k.weight", TracePoint::kQkvProj},
                {"blk.1.attn_v.weight", TracePoint::kQkvProj},
                {"blk.1.attn_output.weight", TracePoint::kOProj},
                {"blk.1.ffn_gate.weight", TracePoint::kGate},
                {"blk.1.ffn_up.weight", TracePoint::kAct},
                {"blk.1.ffn_down.weight", TracePoint::kDownProj}};
  for (const auto& [tensor, point] : kCases) {
    SmallModel small;
    small.SetScale(tensor, 1e37f);
    std::optional<Outcome> outcome;  // on this CPU's best instruction set: no kernel is asked
    RunLayouts(small, KvType::kF16, &outcome);
    EXPECT_EQ(outcome->failures, Failures(kFailureTokens, RowFailure{1, point})) << tensor;
  }
}

TEST(RowFailure, ScalesOfRowsThatAreLeftOutCount) {
  // Only rows of up_proj behind dead gates are huge; a layout with a scale for each row.
  SmallModel small;
  constexpr std::size_t kDead = 64;
  for (std::size_t n = 0; n < kDead; ++n) small.ZeroRow("blk.0.ffn_gate.weight", n);
  int tensors = 0;  // begun so far, in the order of their names
  small.Recode(*quant::FindCodec("iq2_bn"), [&tensors](std::size_t row, std::size_t group) {
    tensors += row == 0 && group == 0;
    const bool up_of_layer_0 = tensors == 7;
    return up_of_layer_0 && row < kDead ? 3e38f : 0.125f;
  });
  ExpectAll(small, {0, TracePoint::kAct});
}

TEST(RowFailure, NetworksWithoutSubNorms) {
  SmallModel small("llama");
  small.SetScale("blk.0.ffn_gate.weight", 1e25f);
  small.SetScale("blk.0.ffn_up.weight", 1e25f);
  ExpectAll(small, {0, TracePoint::kAct});
  SmallModel scores("llama");
  scores.SetScale("blk.0.attn_q.weight", 1e20f);
  scores.SetScale("blk.0.attn_k.weight", 1e20f);
  ExpectAll(scores, {0, TracePoint::kAttention});
}

TEST(RowFailure, AZeroHeadWithoutAnEpsilonIsNotANumber) {
  SmallModel small("qwen3");
  small.rms_norm_eps = 0;
  for (std::size_t r = 0; r < SmallModel::kHidden; ++r) small.ZeroRow("blk.1.attn_q.weight", r);
  ExpectAll(small, {1, TracePoint::kRope});
}

TEST(RowFailure, NormWeightsThatCouldOverflowAreRefused) {
  SmallModel small;
  small.SetFloat("blk.1.attn_norm.weight", 5, -3e38f);
  auto pool = ThreadPool::Create(1).value();
  const auto model = LoadSmall(small, pool, {});
  ASSERT_FALSE(model);
  EXPECT_NE(model.error().message.find(
                "tensor \"blk.1.attn_norm.weight\": element 5 is -3e+38, expected at most 2^100"),
            std::string::npos)
      << model.error().message;
}

TEST(RowFailure, TheErrorNamesPositionLayerAndOperation) {
  EXPECT_EQ(NotFiniteError({}, 3).message.substr(0, 34), "position 3, operation embedding: n");
  EXPECT_EQ(NotFiniteError({2, TracePoint::kFfnResidual}, 0).message.substr(0, 46),
            "position 0, layer 2, operation ffn_residual: n");
}

}  // namespace
}  // namespace bittern::model
