// SPDX-License-Identifier: Apache-2.0
// The choice of experts, and which experts a pass reads. forward_test.cpp has the arithmetic.
#include "model/forward/experts.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "base/os/memory.hpp"
#include "model/forward/forward_state.hpp"
#include "model/load/load_for_test.hpp"
#include "model/model.hpp"
#include "model/one_sequence_for_test.hpp"
#include "model/small_model_for_test.hpp"
#include "quant/layouts/tile16.hpp"

namespace bittern::model {
namespace {

struct Choice {
  std::vector<std::uint32_t> experts;
  std::vector<float> weights;
  bool good;
};

Choice Choose(const std::vector<float>& scores, std::size_t used) {
  Choice choice{std::vector<std::uint32_t>(used), std::vector<float>(used), false};
  choice.good = ChooseExperts(scores, choice.experts, choice.weights);
  return choice;
}

using Indices = std::vector<std::uint32_t>;

TEST(Experts, TheBestComeFirstAndOfEqualOnesTheFirst) {
  EXPECT_EQ(Choose({1, 3, 2, 5, 4}, 3).experts, (Indices{3, 4, 1}));
  EXPECT_EQ(Choose({5, 4, 3, 2, 1}, 2).experts, (Indices{0, 1}));
  EXPECT_EQ(Choose({1, 2, 2, 2, 1}, 2).experts, (Indices{1, 2}));
  EXPECT_EQ(Choose({2, 1, 2, 1, 2}, 4).experts, (Indices{0, 2, 4, 1}));
  EXPECT_EQ(Choose({0.0f, -0.0f, 0.0f}, 2).experts, (Indices{0, 1}));
  EXPECT_EQ(Choose({-0.0f, 0.0f, 1}, 3).experts, (Indices{2, 0, 1}));
  EXPECT_EQ(Choose({7}, 1).experts, (Indices{0}));
}

TEST(Experts, TheirWeightsAreASoftmaxOverAllDividedByTheSumOfTheChosen) {
  const std::vector<float> scores = {0.5f, -2, 3, 1.25f, 2.75f, -40};
  const Choice choice = Choose(scores, 3);
  double all = 0, chosen = 0;
  for (const float s : scores) all += std::exp(static_cast<double>(s));
  for (const auto e : choice.experts) chosen += std::exp(static_cast<double>(scores[e])) / all;
  for (std::size_t i = 0; i < 3; ++i) {
    const double p = std::exp(static_cast<double>(scores[choice.experts[i]])) / all;
    EXPECT_NEAR(static_cast<double>(choice.weights[i]), p / chosen, 1e-7);
  }
  EXPECT_EQ(Choose({-1000, 1000}, 1).weights, std::vector<float>{1});
  EXPECT_EQ(Choose({-3e38f, 3e38f}, 2).weights, (std::vector<float>{1, 0}));
}

TEST(Experts, AScoreThatIsNotFiniteIsNoticed) {
  EXPECT_TRUE(Choose({1, 2, 3}, 2).good);
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
        -std::numeric_limits<float>::infinity()}) {
    const Choice choice = Choose({1, 2, bad, 3}, 2);
    EXPECT_FALSE(choice.good);
    EXPECT_EQ(choice.experts, (Indices{0, 1}));
    EXPECT_EQ(choice.weights, (std::vector<float>{0, 0}));
  }
}

/// A loaded maple and the memory of its passes.
class Maple {
 public:
  explicit Maple(const SmallModel& small, int threads = 2)
      : pool_(ThreadPool::Create(threads).value()),
        model_(load_test::LoadGood(small, pool_)),
        cache_(model_.config(), 64, KvType::kF32),
        state_(ForwardState::Create(model_, 64, 64, threads).value()) {}

  std::vector<float> Read(const std::vector<std::int32_t>& tokens) {
    std::vector<float> logits(tokens.size() * SmallModel::kVocab);
    Forward(model_, tokens, cache_, state_, pool_, LogitsRows::kAll, logits);
    return logits;
  }
  [[nodiscard]] const LayerWeights& layer() const { return model_.weights().layers[1]; }
  ForwardState& state() { return state_; }

 private:
  ThreadPool pool_;
  Model model_;
  OneSequence cache_;
  ForwardState state_;
};

/// A model whose every token chooses experts 4, 0 and 2, in this order, in the second layer: all
/// normed values are positive there.
SmallModel ChoosingSome() {
  SmallModel small("maple");
  for (std::size_t e = 0; e < SmallModel::kExperts; ++e) {
    constexpr float kLevel[] = {2, -1, 1, -2, 3, -3};
    for (std::size_t i = 0; i < SmallModel::kHidden; ++i) {
      small.SetFloat("blk.1.ffn_gate_inp.weight", e * SmallModel::kHidden + i,
                     i == 0 ? kLevel[e] : 0);
    }
  }
  // The first value of the stream is large, whatever the layers add to it.
  for (std::size_t v = 0; v < SmallModel::kVocab; ++v) {
    small.SetFloat("token_embd.weight", v * SmallModel::kHidden, 30);
  }
  return small;
}

TEST(Experts, APassReadsTheExpertsThatSomeTokenHasChosen) {
  Maple maple(ChoosingSome());
  maple.Read({17});
  const auto& mixture = maple.state().impl().mixture;
  EXPECT_EQ(Indices(mixture.experts.begin(), mixture.experts.begin() + 3), (Indices{4, 0, 2}));
  const auto one = SkipStatsOf(maple.state()).experts;
  EXPECT_EQ(one.all, 2 * SmallModel::kExperts);
  EXPECT_EQ(one.live, 2 * SmallModel::kExpertsUsed);
  maple.Read({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  EXPECT_EQ(mixture.loads.size(), 3u);  // in the second layer
  std::size_t choices = 0;
  for (const ExpertLoad& load : mixture.loads) choices += load.count;
  EXPECT_EQ(choices, 12 * SmallModel::kExpertsUsed);
  EXPECT_EQ(SkipStatsOf(maple.state()).experts.all, 4 * SmallModel::kExperts);
}

/// Whole pages inside [data, data + size) that cannot be read for as long as this lives.
class Forbidden {
 public:
  Forbidden(const void* data, std::size_t size) {
    const auto page = static_cast<std::uintptr_t>(os::PageSize());
    const auto begin = reinterpret_cast<std::uintptr_t>(data);
    begin_ = (begin + page - 1) / page * page;
    const std::uintptr_t end = (begin + size) / page * page;
    if (begin_ < end) size_ = end - begin_;
    EXPECT_TRUE(Allow(false));
  }
  Forbidden(Forbidden&& other) noexcept : begin_(other.begin_), size_(other.size_) {
    other.size_ = 0;
  }
  ~Forbidden() { EXPECT_TRUE(Allow(true)); }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  [[nodiscard]] bool Allow(bool allowed) const {
    return size_ == 0 || os::SetAccess(reinterpret_cast<void*>(begin_), size_, allowed);
  }
  std::uintptr_t begin_;
  std::size_t size_ = 0;
};

/// The tiles of an expert in each part of a matrix.
std::vector<Forbidden> Forbid(const TernaryMatrix& matrix, std::size_t count, std::size_t expert) {
  std::vector<Forbidden> pages;
  for (const TernaryMatrix::Part& part : matrix.parts) {
    const std::size_t rows = part.rows / count, bytes = quant::TileBytes(matrix.cols);
    const std::size_t first = (part.first_row + expert * rows) / quant::kTileRows;
    pages.emplace_back(matrix.tiles.data() + first * bytes, rows / quant::kTileRows * bytes);
  }
  return pages;
}

TEST(Experts, WeightsOfAnExpertThatNoTokenHasChosenAreNotRead) {
  Maple expected(ChoosingSome(), 1), maple(ChoosingSome(), 1);  // a thread: EXPECT_DEATH forks
  const LayerWeights& layer = maple.layer();
  std::vector<Forbidden> pages;
  for (const std::size_t expert : {1u, 3u, 5u}) {
    for (const TernaryMatrix* matrix : {&layer.gate_up_proj, &layer.down_proj}) {
      for (auto& some : Forbid(*matrix, SmallModel::kExperts, expert)) {
        pages.push_back(std::move(some));
      }
    }
  }
  std::size_t forbidden = 0;
  for (const Forbidden& some : pages) forbidden += some.size();
  EXPECT_GT(forbidden, 9 * SmallModel::kExpertNeurons * SmallModel::kHidden / 4 / 2);
  for (const auto& tokens :
       {std::vector<std::int32_t>{17}, {1, 2, 3}, {9, 8, 7, 6, 5, 4, 3, 2, 1}}) {
    EXPECT_EQ(maple.Read(tokens), expected.Read(tokens));
  }
  const auto chosen = Forbid(layer.down_proj, SmallModel::kExperts, 4);
  EXPECT_DEATH(maple.Read({17}), "");  // it can fail
}

}  // namespace
}  // namespace bittern::model
