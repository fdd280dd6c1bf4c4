// SPDX-License-Identifier: Apache-2.0
#include "model/load/dead_neurons.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <tuple>

#include "model/model.hpp"
#include "model/one_sequence_for_test.hpp"
#include "model/small_model_for_test.hpp"
#include "model/trace.hpp"
#include "model/weights.hpp"

namespace bittern::model {
namespace {

using testing::IsEmpty;

constexpr std::size_t kFfn = SmallModel::kFfn;

std::vector<std::uint8_t> RandomlyDead(std::size_t size, unsigned percent, unsigned seed) {
  std::mt19937 rng(seed);
  std::vector<std::uint8_t> dead(size);
  for (auto& d : dead) d = rng() % 100 < percent;
  return dead;
}

TEST(KeptNeurons, EveryLaneKeepsItsLiveOnesInOrder) {
  for (const std::size_t size : {512u, 6912u, 500u}) {
    for (const unsigned percent : {5u, 44u, 90u, 99u}) {
      const auto dead = RandomlyDead(size, percent, percent);
      const auto kept = KeptNeurons(dead);
      if (kept.empty()) continue;
      EXPECT_LT(kept.size(), size);
      EXPECT_EQ(kept.size() % 16, 0u);
      std::vector<int> times(size);
      std::vector<std::vector<std::uint32_t>> live(16);
      for (std::size_t i = 0; i < kept.size(); ++i) {
        ASSERT_EQ(kept[i] % 16, i % 16);
        ++times[kept[i]];
        if (dead[kept[i]] == 0) live[i % 16].push_back(kept[i]);
      }
      for (const auto& lane : live) EXPECT_TRUE(std::is_sorted(lane.begin(), lane.end()));
      for (std::size_t n = 0; n < size; ++n) EXPECT_LE(dead[n] != 0 ? 0 : 1, times[n]);
      EXPECT_LE(*std::max_element(times.begin(), times.end()), 1);
    }
  }
  EXPECT_FALSE(KeptNeurons(RandomlyDead(6912, 44, 1)).empty());
}

TEST(KeptNeurons, AllWhereNothingIsSaved) {
  EXPECT_THAT(KeptNeurons(std::vector<std::uint8_t>(512)), IsEmpty());
  std::vector<std::uint8_t> one_dead(512);
  one_dead[100] = 1;
  EXPECT_THAT(KeptNeurons(one_dead), IsEmpty());
  std::vector<std::uint8_t> one_lane_alive(512, 1);
  for (std::size_t i = 3; i < 512; i += 16) one_lane_alive[i] = 0;
  EXPECT_THAT(KeptNeurons(one_lane_alive), IsEmpty());
}

TEST(KeptNeurons, OneOfEachLaneWhereAllAreDead) {
  EXPECT_EQ(KeptNeurons(std::vector<std::uint8_t>(512, 1)).size(), 16u);
}

/// Every value of every step.
class Recording : public Tracer {
 public:
  void OnValues(const TracePlace& place, std::span<const std::byte> values) noexcept override {
    auto& all = values_[{place.layer, static_cast<int>(place.point), place.position}];
    all.insert(all.end(), values.begin(), values.end());
  }
  std::map<std::tuple<int, int, int>, std::vector<std::byte>> values_;
};

struct DeadRun {
  Recording trace;
  std::vector<float> logits = std::vector<float>(SmallModel::kVocab);
  std::size_t neurons = 0;  // kept in layer 0
  std::string error;
};

/// Twelve tokens, `batch` at a time.
DeadRun RunModel(const SmallModel& small, SkipMode skip, MatrixLayout layout, std::size_t batch) {
  const std::vector<std::int32_t> tokens = {17, 3, 299, 0, 42, 42, 7, 130, 5, 88, 1, 250};
  const auto path = small.Write();
  auto pool = ThreadPool::Create(2).value();
  Decisions decisions;
  auto model = Model::Load(formats::Checkpoint::Open(path).value(), pool, &decisions,
                           {.layout = layout, .zero_skip = skip});
  std::filesystem::remove(path);
  DeadRun run;
  if (!model.has_value()) {
    run.error = model.error().message.substr(path.string().size());  // each file has its own name
    return run;
  }
  run.neurons = model->weights().layers[0].num_neurons();
  OneSequence cache(model->config(), 64, KvType::kF32);
  auto state = ForwardState::Create(*model, 64, 64, 2).value();
  state.SetTracer(&run.trace);
  for (std::size_t i = 0; i < tokens.size(); i += batch) {
    const auto part = std::span(tokens).subspan(i, std::min(batch, tokens.size() - i));
    Forward(*model, part, cache, state, pool, LogitsRows::kLast, run.logits);
  }
  // A traced pass shows the values of a pass without tracing.
  std::vector<float> logits(SmallModel::kVocab);
  cache.Truncate(static_cast<int>(tokens.size() - 1));
  state.SetTracer(nullptr);
  Forward(*model, std::span(tokens).last(1), cache, state, pool, LogitsRows::kLast, logits);
  EXPECT_EQ(logits, run.logits);
  return run;
}

void ExpectSameTraces(const SmallModel& small, MatrixLayout layout, std::size_t neurons) {
  for (const std::size_t batch : {1u, 5u, 12u}) {
    const DeadRun all = RunModel(small, SkipMode::kOff, layout, batch);
    const DeadRun kept = RunModel(small, SkipMode::kOn, layout, batch);
    ASSERT_EQ(kept.error, "");
    EXPECT_EQ(all.neurons, kFfn);
    EXPECT_EQ(kept.neurons, neurons);
    EXPECT_EQ(all.logits, kept.logits) << batch;
    ASSERT_EQ(all.trace.values_.size(), kept.trace.values_.size());
    for (const auto& [key, values] : all.trace.values_) {
      EXPECT_EQ(values, kept.trace.values_.at(key))
          << "layer " << std::get<0>(key) << ", "
          << TracePointName(static_cast<TracePoint>(std::get<1>(key)));
    }
  }
}

/// 45 % of layer 0's neurons and all of layer 1's.
SmallModel ModelWithDead(std::string architecture = "bitnet-b1.58") {
  SmallModel small(std::move(architecture));
  const auto dead = RandomlyDead(kFfn, 45, 9);
  for (std::size_t n = 0; n < kFfn; ++n) {
    if (dead[n] != 0) small.ZeroRow("blk.0.ffn_gate.weight", n);
    small.ZeroRow("blk.1.ffn_gate.weight", n);
  }
  return small;
}

std::size_t KeptOfModelWithDead() { return KeptNeurons(RandomlyDead(kFfn, 45, 9)).size(); }

TEST(DeadNeurons, LeavingThemOutChangesNoBitOfAnyStep) {
  ASSERT_GT(KeptOfModelWithDead(), 0u);
  for (const auto layout : {MatrixLayout::kTile16, MatrixLayout::kTile48}) {
    ExpectSameTraces(ModelWithDead(), layout, KeptOfModelWithDead());
  }
}

TEST(DeadNeurons, InNetworksWithoutSubNorms) {
  SmallModel small = ModelWithDead("llama");
  small.texts["llama.hidden_activation"] = "relu2";
  ExpectSameTraces(small, MatrixLayout::kTile16, KeptOfModelWithDead());
}

TEST(DeadNeurons, WithScalesOfRowsAndOtherFormats) {
  SmallModel small = ModelWithDead();
  small.Recode(quant::CodecOf(quant::TernaryLayout::kIq2Bn),
               [](std::size_t r, std::size_t) { return 0.0625f * static_cast<float>(1 + r % 5); });
  ExpectSameTraces(small, MatrixLayout::kTile48, KeptOfModelWithDead());
}

TEST(DeadNeurons, AreKeptWhereRowsHaveSeveralScales) {
  SmallModel small = ModelWithDead();
  small.Recode(quant::CodecOf(quant::TernaryLayout::kQ2_0), [](std::size_t r, std::size_t group) {
    return 0.0625f * static_cast<float>(1 + (r + group) % 3);
  });
  ExpectSameTraces(small, MatrixLayout::kTile16, kFfn);
}

TEST(DeadNeurons, ABadCodeIsToldByItsPlaceInTheFile) {
  SmallModel small = ModelWithDead();
  const auto dead = RandomlyDead(kFfn, 45, 9);
  const auto row = static_cast<std::size_t>(
      std::find(dead.begin() + 300, dead.end(), std::uint8_t{0}) - dead.begin());
  ASSERT_LT(row, kFfn);
  small.tensors.at("blk.0.ffn_up.weight").data[row * SmallModel::kHidden / 4] = std::byte{0xff};
  EXPECT_THAT(RunModel(small, SkipMode::kOn, MatrixLayout::kTile16, 12).error,
              testing::HasSubstr("row " + std::to_string(row) + ", column 0"));
}

TEST(DeadNeurons, OfSeveralBadRowsTheFirstIsNamedThoughItsNeuronIsDead) {
  const auto dead = RandomlyDead(kFfn, 45, 9);
  const auto first = std::ranges::find(dead, std::uint8_t{1}) - dead.begin();
  for (const auto layout : {quant::TernaryLayout::kI2sX86, quant::TernaryLayout::kIq2Bn}) {
    SmallModel small = ModelWithDead();
    if (layout == quant::TernaryLayout::kIq2Bn) {
      small.Recode(quant::CodecOf(layout));
    }
    auto& data = small.tensors.at("blk.0.ffn_up.weight").data;
    const std::size_t row_bytes =
        layout == quant::TernaryLayout::kIq2Bn ? data.size() / kFfn : SmallModel::kHidden / 4;
    for (std::size_t row = static_cast<std::size_t>(first); row < kFfn; ++row) {
      std::fill_n(data.begin() + static_cast<std::ptrdiff_t>(row * row_bytes), row_bytes,
                  std::byte{0xff});
    }
    const std::string all = RunModel(small, SkipMode::kOff, MatrixLayout::kTile16, 12).error;
    EXPECT_THAT(all, testing::HasSubstr("row " + std::to_string(first) + ", column 0"));
    EXPECT_EQ(RunModel(small, SkipMode::kOn, MatrixLayout::kTile16, 12).error, all);
  }
}

}  // namespace
}  // namespace bittern::model
