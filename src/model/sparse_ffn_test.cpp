// SPDX-License-Identifier: Apache-2.0
// Zeros left out of the feed-forward part (sparse_up.hpp, sparse_down.hpp) change no bit.
#include <gtest/gtest.h>

#include <cstring>

#include "model/matrix_layout.hpp"
#include "model/model.hpp"
#include "model/one_sequence_for_test.hpp"
#include "model/skip_stats.hpp"
#include "model/small_model_for_test.hpp"
#include "model/trace.hpp"

namespace bittern::model {
namespace {

/// Counts the gates of layer 0, and those above zero.
class GateCounter : public Tracer {
 public:
  void OnValues(const TracePlace& place, std::span<const std::byte> values) noexcept override {
    if (place.layer != 0 || place.point != TracePoint::kGate) return;
    for (std::size_t i = 0; i < values.size(); i += sizeof(float)) {
      float gate;
      std::memcpy(&gate, &values[i], sizeof gate);
      ++all;
      live += gate > 0 ? 1 : 0;
    }
  }
  double share() const { return static_cast<double>(live) / static_cast<double>(all); }
  std::size_t all = 0, live = 0;
};

/// All logits of 60 tokens, `batch` at a time.
std::vector<float> LogitsOf(const SmallModel& small, const LoadOptions& options, int threads,
                            std::size_t batch, Tracer* tracer = nullptr,
                            SkipStats* stats = nullptr) {
  const auto path = small.Write();
  auto pool = ThreadPool::Create(threads).value();
  Decisions decisions;
  const auto model =
      Model::Load(formats::Checkpoint::Open(path).value(), pool, &decisions, options);
  std::filesystem::remove(path);
  EXPECT_TRUE(model.has_value());
  OneSequence cache(model->config(), 64, KvType::kF32);
  auto state = ForwardState::Create(*model, 64, 64, threads).value();
  state.SetTracer(tracer);
  std::vector<std::int32_t> tokens(60);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    tokens[i] = static_cast<std::int32_t>(i * 37 % SmallModel::kVocab);
  }
  std::vector<float> logits(tokens.size() * SmallModel::kVocab);
  for (std::size_t i = 0; i < tokens.size(); i += batch) {
    const auto part = std::span(tokens).subspan(i, std::min(batch, tokens.size() - i));
    Forward(*model, part, cache, state, pool, LogitsRows::kAll,
            std::span(logits).subspan(i * SmallModel::kVocab, part.size() * SmallModel::kVocab));
  }
  if (stats != nullptr) *stats = SkipStatsOf(state);
  return logits;
}

void ExpectSameWithoutZeros(const SmallModel& small) {
  const auto expected = LogitsOf(small, {.zero_skip = SkipMode::kOff}, 2, 60);
  for (const auto layout : {MatrixLayout::kTile16, MatrixLayout::kTile48}) {
    for (const int threads : {1, 3}) {
      for (const std::size_t batch : {2u, 7u, 9u, 33u, 60u}) {
        for (const auto kernel : {BatchKernel::kTile16, BatchKernel::kVlut}) {
          const LoadOptions options{
              .layout = layout, .zero_skip = SkipMode::kOn, .batch_kernel = kernel};
          EXPECT_EQ(LogitsOf(small, options, threads, batch), expected)
              << threads << " threads, batches of " << batch;
        }
      }
    }
  }
}

double ShareOfLiveGates(const SmallModel& small) {
  GateCounter counter;
  LogitsOf(small, {.zero_skip = SkipMode::kOn}, 1, 60, &counter);
  return counter.share();
}

TEST(SparseFfn, RandomGatesGiveTheSameBits) {
  const SmallModel small;
  const double share = ShareOfLiveGates(small);
  EXPECT_GT(share, 0.4);
  EXPECT_LT(share, 0.6);
  ExpectSameWithoutZeros(small);
}

/// Inputs above zero, and in layer 0 a gate whose weights are all code - 1.
SmallModel ModelOfEqualGates(std::uint8_t code) {
  SmallModel small;
  small.AddFloats("token_embd.weight", {SmallModel::kHidden, SmallModel::kVocab}, 0.05f, 1.0f);
  for (std::size_t n = 0; n < SmallModel::kFfn; ++n) {
    small.FillRow("blk.0.ffn_gate.weight", n, code);
  }
  return small;
}

TEST(SparseFfn, GatesThatAreAllAliveGiveTheSameBits) {  // so many that the dense way is taken
  const SmallModel small = ModelOfEqualGates(2);
  EXPECT_GT(ShareOfLiveGates(small), 0.95);
  ExpectSameWithoutZeros(small);
}

TEST(SparseFfn, GatesThatAreAllDeadGiveTheSameBits) {
  const SmallModel small = ModelOfEqualGates(0);
  EXPECT_LT(ShareOfLiveGates(small), 0.05);
  ExpectSameWithoutZeros(small);
}

TEST(SparseFfn, EveryProductIsCounted) {
  const SmallModel small;
  constexpr std::size_t kTokens = 60, kLayers = 2;
  GateCounter counter;
  LogitsOf(small, {.zero_skip = SkipMode::kOn}, 1, kTokens, &counter);
  for (const std::size_t batch : {1u, 4u, 60u}) {
    SkipStats stats;
    LogitsOf(small, {.zero_skip = SkipMode::kOn}, 3, batch, nullptr, &stats);
    EXPECT_EQ(stats.up_products.all, kTokens * kLayers * SmallModel::kFfn) << batch;
    EXPECT_EQ(stats.down_products.all, kTokens * kLayers * SmallModel::kFfn) << batch;
    EXPECT_GE(stats.up_products.live, counter.live) << batch;
    EXPECT_LE(stats.up_products.live, stats.up_products.all) << batch;
    EXPECT_GT(stats.down_products.live, 0u) << batch;
    EXPECT_LE(stats.down_products.live, stats.down_products.all) << batch;
    EXPECT_EQ(stats.up_rows.all, batch == 1 ? stats.up_products.all : 0) << batch;
    EXPECT_EQ(stats.up_rows.live, batch == 1 ? stats.up_products.live : 0) << batch;
  }
}

}  // namespace
}  // namespace bittern::model
