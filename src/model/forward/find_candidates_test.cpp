// SPDX-License-Identifier: Apache-2.0
// The screened head against the full scan, on heads made to mislead it: what it returns must be
// exactly the rows that are good enough, with exactly their logits.
#include "model/forward/find_candidates.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <random>
#include <thread>
#include <utility>

#include "model/load/load_for_test.hpp"
#include "model/model.hpp"
#include "model/one_sequence_for_test.hpp"
#include "model/small_model_for_test.hpp"
#include "model/weights.hpp"
#include "quant/layouts/tile16.hpp"

namespace bittern::model {
namespace {

constexpr std::size_t kCols = SmallModel::kHidden, kVocab = SmallModel::kVocab;

struct Head {
  const char* name;
  /// Changes random rows of standard deviation 0.05.
  void (*change)(std::vector<float>* rows, std::mt19937* rng);
};

void Nothing(std::vector<float>*, std::mt19937*) {}

void AllEqual(std::vector<float>* rows, std::mt19937*) {
  for (std::size_t i = kCols; i < rows->size(); ++i) (*rows)[i] = (*rows)[i % kCols];
}

/// One row and its copies, each changed by a few parts in a million.
void NearTies(std::vector<float>* rows, std::mt19937* rng) {
  std::normal_distribution<float> normal(0, 2e-7f);
  for (std::size_t i = kCols; i < rows->size(); ++i) {
    (*rows)[i] = (*rows)[i % kCols] + normal(*rng);
  }
}

void HugeAndTinyNorms(std::vector<float>* rows, std::mt19937* rng) {
  for (std::size_t r = 0; r < kVocab; ++r) {
    const float factor = std::pow(10.0f, static_cast<float>(static_cast<int>((*rng)() % 13) - 9));
    for (std::size_t c = 0; c < kCols; ++c) (*rows)[r * kCols + c] *= factor;
  }
}

void Zeros(std::vector<float>* rows, std::mt19937*) { std::fill(rows->begin(), rows->end(), 0.0f); }

void OneWeightPerRow(std::vector<float>* rows, std::mt19937* rng) {
  std::fill(rows->begin(), rows->end(), 0.0f);
  for (std::size_t r = 0; r < kVocab; ++r) (*rows)[r * kCols + (*rng)() % kCols] = 3;
}

/// Outliers are clamped by the copy, so its estimates are far off.
void Outliers(std::vector<float>* rows, std::mt19937* rng) {
  for (int i = 0; i < 900; ++i) (*rows)[(*rng)() % rows->size()] *= 60;
}

/// Every weight a little above or below the middle of a coarse step: as wrong as a copy can be,
/// in one direction for some rows and in the other for the rest.
void WorstRounding(std::vector<float>* rows, std::mt19937* rng) {
  for (std::size_t r = 0; r < kVocab; ++r) {
    const float side = (*rng)() % 2 == 0 ? 0.49f : -0.49f;
    for (std::size_t c = 0; c < kCols; ++c) {
      float& w = (*rows)[r * kCols + c];
      constexpr float kCoarse = 3 * 0.05f / 8;
      w = (std::floor(w / kCoarse) + 0.5f + side) * kCoarse;
    }
  }
}

void SmallestFloats(std::vector<float>* rows, std::mt19937*) {
  for (float& w : *rows) w *= 1e-37f;
}

/// The candidates among a row of logits are there, with their bits, and no others but what is as
/// good as they.
void CheckRow(const CandidateLogits& found, const CandidateRequest& request,
              std::span<const float> full) {
  std::vector<float> sorted(full.begin(), full.end());
  std::ranges::sort(sorted, std::greater<>());
  const float least = request.count == 0 ? sorted[0] - request.within
                                         : sorted[std::min(request.count, sorted.size()) - 1];
  std::size_t next = 0;
  for (std::size_t id = 0; id < full.size(); ++id) {
    if (next < found.ids.size() && static_cast<std::size_t>(found.ids[next]) == id) {
      EXPECT_EQ(found.logits[next], full[id]) << "id " << id;
      ++next;
    } else {
      EXPECT_LT(full[id], least) << "id " << id << " is missing";
    }
  }
  EXPECT_EQ(next, found.ids.size()) << "ids are not ascending";
}

/// The candidate of rank n: logit and id.
std::pair<float, std::int32_t> Best(const CandidateLogits& found, std::size_t n) {
  std::vector<std::pair<float, std::int32_t>> all;
  for (std::size_t i = 0; i < found.ids.size(); ++i) {
    all.emplace_back(found.logits[i], found.ids[i]);
  }
  std::ranges::sort(all, std::greater<>());
  return all.at(n);
}

/// A model whose head is screened.
class Screened {
 public:
  Screened(const SmallModel& small, int threads, std::size_t most_tokens = 8,
           std::size_t vectors = kScreenVectors, HeadCopy copy = HeadCopy::kAtOnce)
      : pool_(ThreadPool::Create(threads).value()),
        model_(load_test::LoadGood(small, pool_, {.head = HeadMode::kScreened, .head_copy = copy})),
        cache_(model_.config(), 64, KvType::kF32),
        state_(ForwardState::Create(model_, most_tokens, 64, threads, vectors).value()) {}

  /// Logits of every token.
  std::vector<float> Full(std::span<const std::int32_t> tokens) {
    cache_.Truncate(0);
    std::vector<float> logits(tokens.size() * static_cast<std::size_t>(model_.config().vocab_size));
    Forward(model_, tokens, cache_, state_, pool_, LogitsRows::kAll, logits);
    return logits;
  }

  /// Candidates of the last `rows` tokens, behind those of earlier calls.
  std::vector<CandidateLogits> Candidates(std::span<const std::int32_t> tokens, std::size_t rows,
                                          const CandidateRequest& request) {
    std::vector<CandidateLogits> found(rows);
    ForwardCandidates(model_, tokens, cache_, state_, pool_, request, found);
    return found;
  }

  /// Checks them, with nothing before the tokens, against the tokens' logits.
  void Check(std::span<const std::int32_t> tokens, std::size_t rows,
             const CandidateRequest& request, std::span<const float> full) {
    const std::size_t vocab = full.size() / tokens.size();
    cache_.Truncate(0);
    const auto found = Candidates(tokens, rows, request);
    for (std::size_t i = 0; i < rows; ++i) {
      CheckRow(found[i], request, full.subspan((tokens.size() - rows + i) * vocab, vocab));
    }
  }

  [[nodiscard]] ScreenStats Stats() { return ScreenStatsOf(state_); }
  [[nodiscard]] bool HasCodes() const { return model_.weights().screened_head->has_codes(); }

 private:
  ThreadPool pool_;
  Model model_;
  OneSequence cache_;
  ForwardState state_;
};

class ScreenedHeadOf : public testing::TestWithParam<Head> {
 protected:
  static Screened Make() {
    SmallModel small = MakeSmall();
    small.SetFloat("output_norm.weight", 7, 40);  // a dimension that outweighs the others
    return {small, 2};
  }
  static SmallModel MakeSmall() {
    SmallModel small;
    small.AddFloats("output.weight", {kCols, kVocab}, 0.05f);
    std::mt19937 rng(3);
    std::vector<float> rows(kCols * kVocab);
    auto& data = small.tensors.at("output.weight").data;
    std::memcpy(rows.data(), data.data(), data.size());
    GetParam().change(&rows, &rng);
    std::memcpy(data.data(), rows.data(), data.size());
    return small;
  }
  Screened screened_ = Make();
};

TEST_P(ScreenedHeadOf, GivesEveryLogitAskedForAndOnlyTrueOnes) {
  for (std::int32_t token = 0; token < 40; ++token) {
    const std::int32_t tokens[] = {token, 299 - token};
    const auto full = screened_.Full(tokens);
    for (const std::size_t count : {1u, 2u, 5u, 40u, 300u, 1000u}) {
      screened_.Check(tokens, 1, {count, 0}, full);
    }
    for (const float within : {0.0f, 0.5f, 3.0f}) screened_.Check(tokens, 1, {0, within}, full);
  }
}

TEST_P(ScreenedHeadOf, ServesSeveralTokensAtOnce) {
  const std::int32_t tokens[] = {5, 17, 250, 5, 99, 0, 299, 12};
  for (std::size_t n = 1; n <= std::size(tokens); ++n) {
    const auto some = std::span(tokens).first(n);
    const auto full = screened_.Full(some);
    for (std::size_t rows = 1; rows <= n; ++rows) {
      screened_.Check(some, rows, {1, 0}, full);
      screened_.Check(some, rows, {40, 0}, full);
      screened_.Check(some, rows, {0, 0.5f}, full);
    }
  }
}

// Groups of 16, 8 and 4 vectors, whole and in part.
TEST_P(ScreenedHeadOf, ServesManyVectorsOfEightBits) {
  constexpr std::size_t kMany = 29;
  Screened screened(MakeSmall(), 3, kMany, kMany);
  std::int32_t tokens[kMany];
  for (std::size_t i = 0; i < kMany; ++i) tokens[i] = static_cast<std::int32_t>(i * i * 7 % 300);
  const auto full = screened.Full(tokens);
  for (const std::size_t rows : {4u, 11u, 16u, 29u}) {
    for (const std::size_t count : {1u, 40u}) screened.Check(tokens, rows, {count, 0}, full);
    screened.Check(tokens, rows, {0, 0.5f}, full);
  }
  EXPECT_EQ(screened.Stats().tokens_of_8_bits, screened.Stats().tokens);
  screened.Check(tokens, 3, {1, 0}, full);
  EXPECT_LT(screened.Stats().tokens_of_8_bits, screened.Stats().tokens) << "three take 16 bits";
}

INSTANTIATE_TEST_SUITE_P(
    Heads, ScreenedHeadOf,
    testing::Values(Head{"Random", Nothing}, Head{"AllEqual", AllEqual}, Head{"NearTies", NearTies},
                    Head{"HugeAndTinyNorms", HugeAndTinyNorms}, Head{"Zeros", Zeros},
                    Head{"OneWeightPerRow", OneWeightPerRow}, Head{"Outliers", Outliers},
                    Head{"WorstRounding", WorstRounding}, Head{"SmallestFloats", SmallestFloats}),
    [](const auto& head) { return std::string(head.param.name); });

/// A head of ternary weights.
struct CodesHead {
  const char* name;
  quant::TernaryLayout layout;
  float (*scale)(std::size_t row, std::size_t group);
  bool equal_rows = false;
};

float OneScale(std::size_t, std::size_t) { return 0.0625f; }
float ScalesOfGroups(std::size_t row, std::size_t group) {
  return 0.015625f * static_cast<float>(1 + (row * 7 + group * 5) % 13);
}
float ScalesOfFarRows(std::size_t row, std::size_t group) {
  return std::ldexp(ScalesOfGroups(row, group), -static_cast<int>(row % 12));
}

class ScreenByCodes : public testing::TestWithParam<CodesHead> {
 protected:
  static SmallModel MakeSmall() {
    SmallModel small;
    small.AddTernary("output.weight", kCols, kVocab);
    auto& data = small.tensors.at("output.weight").data;
    for (std::size_t i = kCols / 4; GetParam().equal_rows && i < kVocab * kCols / 4; ++i) {
      data[i] = data[i % (kCols / 4)];
    }
    small.Recode(quant::CodecOf(GetParam().layout), GetParam().scale);
    return small;
  }
};

TEST_P(ScreenByCodes, GivesEveryLogitAskedForAndOnlyTrueOnes) {
  Screened screened(MakeSmall(), 2);
  ASSERT_TRUE(screened.HasCodes());
  const std::int32_t tokens[] = {5, 17, 250, 5, 99, 0, 299, 12};
  const auto full = screened.Full(tokens);
  for (std::size_t rows = 1; rows <= std::size(tokens); ++rows) {
    for (const std::size_t count : {1u, 2u, 5u, 40u, 300u, 1000u}) {
      screened.Check(tokens, rows, {count, 0}, full);
    }
    for (const float within : {0.0f, 0.5f, 3.0f}) screened.Check(tokens, rows, {0, within}, full);
  }
}

TEST_P(ScreenByCodes, ServesManyVectors) {
  constexpr std::size_t kMany = 29;
  Screened screened(MakeSmall(), 3, kMany, kMany);
  std::int32_t tokens[kMany];
  for (std::size_t i = 0; i < kMany; ++i) tokens[i] = static_cast<std::int32_t>(i * i * 7 % 300);
  const auto full = screened.Full(tokens);
  for (const std::size_t rows : {4u, 8u, 29u}) {
    for (const std::size_t count : {1u, 40u}) screened.Check(tokens, rows, {count, 0}, full);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Heads, ScreenByCodes,
    testing::Values(CodesHead{"Tq1", quant::TernaryLayout::kTq1_0, OneScale},
                    CodesHead{"Tq2", quant::TernaryLayout::kTq2_0, ScalesOfGroups},
                    CodesHead{"Q2", quant::TernaryLayout::kQ2_0, ScalesOfGroups},
                    CodesHead{"Pq2", quant::TernaryLayout::kPq2_0, ScalesOfFarRows},
                    CodesHead{"Ptq1", quant::TernaryLayout::kPtq1_0, ScalesOfGroups},
                    CodesHead{"EqualRows", quant::TernaryLayout::kPq2_0, OneScale, true}),
    [](const auto& head) { return std::string(head.param.name); });

TEST(ScreenedHead, RulesMostRowsOutByCodes) {
  SmallModel small;
  small.AddTernary("output.weight", kCols, kVocab);
  small.Recode(quant::CodecOf(quant::TernaryLayout::kPtq1_0), ScalesOfGroups);
  Screened screened(small, 2);
  for (std::int32_t token = 0; token < 40; ++token) {
    screened.Candidates(std::span(&token, 1), 1, {1, 0});
  }
  EXPECT_EQ(screened.Stats().rows, 40 * kVocab);
  EXPECT_LT(screened.Stats().after_7_bits, 40 * 8u);
  EXPECT_GE(screened.Stats().after_7_bits, 40u);
}

// Codes that are not ternary make a head of planes.
TEST(ScreenedHead, HasPlanesWhereACodeIsNotTernary) {
  SmallModel small;
  small.AddTernary("output.weight", kCols, kVocab);
  small.Recode(quant::CodecOf(quant::TernaryLayout::kPq2_0), ScalesOfGroups);
  auto& data = small.tensors.at("output.weight").data;
  std::ranges::fill(std::span(data).subspan(2, 32), std::byte{0xff});
  Screened screened(small, 2);
  EXPECT_FALSE(screened.HasCodes());
  const std::int32_t tokens[] = {5, 17, 250};
  screened.Check(tokens, 3, {40, 0}, screened.Full(tokens));
}

/// The rows that greedy choice after each of 40 tokens had to look at.
ScreenStats StatsOf(const SmallModel& small) {
  Screened screened(small, 2);
  for (std::int32_t token = 0; token < 40; ++token) {
    screened.Candidates(std::span(&token, 1), 1, {1, 0});
  }
  return screened.Stats();
}

// 2,600 rows are two whole pieces and a part, which end between two tiles of sixteen.
TEST(ScreenedHead, FindsTheSameInAllPiecesOnAnyThreads) {
  constexpr std::uint64_t kManyTokens = 2600;
  SmallModel small;
  small.AddFloats("token_embd.weight", {kCols, kManyTokens}, 0.05f);  // tied
  const std::int32_t tokens[] = {5, 1023, 1024, 2599, 2047};
  for (const int threads : {1, 2, 3}) {
    Screened screened(small, threads);
    const auto full = screened.Full(tokens);
    ASSERT_EQ(full.size(), std::size(tokens) * kManyTokens);
    for (std::size_t rows = 1; rows <= std::size(tokens); ++rows) {
      for (const std::size_t count : {1u, 40u, 1000u})
        screened.Check(tokens, rows, {count, 0}, full);
      for (const float within : {0.0f, 3.0f}) screened.Check(tokens, rows, {0, within}, full);
    }
  }
}

TEST(ScreenedHead, RulesMostRowsOut) {
  const ScreenStats stats = StatsOf(SmallModel());  // random rows, tied
  EXPECT_EQ(stats.tokens, 40u);
  EXPECT_EQ(stats.rows, 40 * kVocab);
  EXPECT_LT(stats.tiles_of_bits, 40 * quant::TilesOfRows(kVocab));
  EXPECT_LT(stats.after_5_bits, stats.rows / 4);
  EXPECT_LT(stats.after_7_bits, 40 * 4u);
  EXPECT_GE(stats.after_7_bits, 40u);
}

// A few values of ten times the others' size, as rows of trained models have them.
TEST(ScreenedHead, RulesMostRowsOutWhereTheyHaveOutliers) {
  SmallModel small;
  small.AddFloats("output.weight", {kCols, kVocab}, 0.05f);
  for (std::size_t r = 0; r < kVocab; ++r) {
    for (const std::size_t c : {3 * r % 7, 100 + r % 5}) {
      small.SetFloat("output.weight", r * kCols + c, r % 2 == 0 ? 0.5f : -0.5f);
    }
  }
  const ScreenStats stats = StatsOf(small);
  EXPECT_LT(stats.after_5_bits, stats.rows / 2);
  EXPECT_LT(stats.after_7_bits, 40 * 8u);
}

// Near the largest float nothing can be bounded, but every logit is a number.
TEST(ScreenedHead, ComputesAllLogitsThatAreTooLargeToBound) {
  SmallModel small;
  small.AddFloats("output.weight", {kCols, kVocab}, 1e17f);
  small.AddFloats("output_norm.weight", {kCols}, 1e18f, 1e18f);
  Screened screened(small, 3);
  const std::int32_t tokens[] = {5, 17, 250, 5, 99, 0};
  const auto full = screened.Full(tokens);
  const float largest = *std::ranges::max_element(full);
  ASSERT_GT(largest, 3e36f);
  ASSERT_TRUE(std::isfinite(largest));
  for (const std::size_t count : {1u, 40u, 1000u}) screened.Check(tokens, 6, {count, 0}, full);
  for (const float within : {0.0f, 1e36f}) screened.Check(tokens, 2, {0, within}, full);
  EXPECT_EQ(screened.Stats().tokens, 0u) << "some were bounded";
}

TEST(ScreenedHead, GivesNoCandidatesWhereALogitIsNotFinite) {
  SmallModel small;
  small.AddFloats("output.weight", {kCols, kVocab}, 1e17f);
  small.AddFloats("output_norm.weight", {kCols}, 1e21f, 1e21f);
  Screened screened(small, 2);
  const std::int32_t token = 5;
  EXPECT_TRUE(screened.Candidates({&token, 1}, 1, {1, 0})[0].ids.empty());
}

Screened MadeLater(const SmallModel& small, int threads) {
  return {small, threads, 8, kScreenVectors, HeadCopy::kBehindFirstToken};
}

TEST(ScreenMadeLater, TheFirstTokenReadsTheHeadAndTheSecondMakesTheCopy) {
  SmallModel small;
  small.AddFloats("output.weight", {kCols, kVocab}, 0.05f);
  const std::int32_t tokens[] = {5, 17, 250};
  for (const int threads : {1, 2, 3}) {
    Screened screened = MadeLater(small, threads);
    const auto full = screened.Full(tokens);
    const std::uint64_t bounded[] = {0, 1, 2, 5};
    const std::size_t rows[] = {1, 1, 1, 3};
    for (std::size_t i = 0; i < std::size(rows); ++i) {
      screened.Check(tokens, rows[i], {40, 0}, full);
      EXPECT_EQ(screened.Stats().tokens, bounded[i]) << "pass " << i;
    }
  }
}

TEST(ScreenMadeLater, SeveralTokensDoNotReadTheHead) {
  const std::int32_t tokens[] = {5, 17, 250};
  Screened screened = MadeLater(SmallModel(), 2);
  screened.Check(tokens, 3, {1, 0}, screened.Full(tokens));
  EXPECT_EQ(screened.Stats().tokens, 3u);
}

TEST(ScreenMadeLater, IsNeverThereWhereARowIsNotFinite) {
  SmallModel small;
  small.AddFloats("output.weight", {kCols, kVocab}, 0.05f);
  small.SetFloat("output.weight", 5, std::numeric_limits<float>::quiet_NaN());
  Screened screened = MadeLater(small, 2);
  const std::int32_t token = 5;
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(screened.Candidates({&token, 1}, 1, {1, 0})[0].ids.empty());
  }
  EXPECT_EQ(screened.Stats().tokens, 0u);
}

// One of them makes the copy; the others read the head until it is there.
TEST(ScreenMadeLater, PassesOfSeveralThreadsAgree) {
  SmallModel small;
  small.AddFloats("token_embd.weight", {kCols, 2600}, 0.05f);
  auto loading = ThreadPool::Create(2).value();
  const Model model = load_test::LoadGood(
      small, loading, {.head = HeadMode::kScreened, .head_copy = HeadCopy::kBehindFirstToken});
  const auto passes = [&model](std::vector<CandidateLogits>* found) {
    auto pool = ThreadPool::Create(2).value();
    OneSequence cache(model.config(), 64, KvType::kF32);
    auto state = ForwardState::Create(model, 8, 64, 2).value();
    for (std::int32_t token = 0; token < 40; ++token) {
      ForwardCandidates(model, {&token, 1}, cache, state, pool, {5, 0},
                        std::span(*found).subspan(static_cast<std::size_t>(token), 1));
    }
  };
  std::vector<std::vector<CandidateLogits>> found(4, std::vector<CandidateLogits>(40));
  std::vector<std::thread> threads;
  for (auto& one : found) threads.emplace_back(passes, &one);
  for (std::thread& thread : threads) thread.join();
  for (std::size_t i = 0; i < 40; ++i) {
    ASSERT_GE(found[0][i].ids.size(), 5u);
    for (const auto& one : found) {
      for (std::size_t n = 0; n < 5; ++n) {
        // The best five of each, whatever else is there.
        EXPECT_EQ(Best(one[i], n), Best(found[0][i], n)) << "token " << i;
      }
    }
  }
}

TEST(ScreenedHead, IsOffWhereARowIsNotFinite) {
  SmallModel small;
  small.AddFloats("output.weight", {kCols, kVocab}, 0.05f);
  small.SetFloat("output.weight", 5, std::numeric_limits<float>::quiet_NaN());
  const auto path = small.Write();
  auto pool = ThreadPool::Create(1).value();
  Decisions decisions;
  auto model = Model::Load(formats::Checkpoint::Open(path).value(), pool, &decisions,
                           {.head = HeadMode::kScreened})
                   .value();
  std::filesystem::remove(path);
  EXPECT_FALSE(model.CanScreen({}));
}

}  // namespace
}  // namespace bittern::model
