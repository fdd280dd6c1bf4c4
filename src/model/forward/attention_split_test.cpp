// SPDX-License-Identifier: Apache-2.0
// A token with many positions behind it, which threads share out, and batches beside it: the same
// bits as one thread gives that takes token by token.
#include <gtest/gtest.h>

#include <algorithm>
#include <span>

#include "model/load/load_for_test.hpp"
#include "model/model.hpp"
#include "model/one_sequence_for_test.hpp"
#include "model/small_model_for_test.hpp"

namespace bittern::model {
namespace {

constexpr int kPositions = 800;

/// Feeds a text to a model in batches of any sizes.
class Reader {
 public:
  Reader(const SmallModel& small, int threads, KvType type)
      : pool_(ThreadPool::Create(threads).value()),
        model_(load_test::LoadGood(small, pool_)),
        cache_(model_.config(), kPositions, type),
        state_(ForwardState::Create(model_, 64, kPositions, threads).value()) {}

  /// Logits of every token of `batch`.
  std::vector<float> Read(std::span<const std::int32_t> batch) {
    std::vector<float> logits(batch.size() * SmallModel::kVocab);
    Forward(model_, batch, cache_, state_, pool_, LogitsRows::kAll, logits);
    return logits;
  }

 private:
  ThreadPool pool_;
  Model model_;
  OneSequence cache_;
  ForwardState state_;
};

/// Logits from token `begin` on, read in batches of the sizes given, again and again.
std::vector<float> LogitsFrom(Reader&& reader, std::span<const std::int32_t> text,
                              std::size_t begin, const std::vector<std::size_t>& sizes) {
  for (std::size_t i = 0; i < begin; i += 64)
    reader.Read(text.subspan(i, std::min<std::size_t>(64, begin - i)));
  std::vector<float> all;
  for (std::size_t i = begin, batch = 0; i < text.size(); ++batch) {
    const std::size_t size = std::min(sizes[batch % sizes.size()], text.size() - i);
    const auto logits = reader.Read(text.subspan(i, size));
    all.insert(all.end(), logits.begin(), logits.end());
    i += size;
  }
  return all;
}

class AttentionSplit : public testing::TestWithParam<const char*> {};

TEST_P(AttentionSplit, TokensAndBatchesOnAnyThreadsGiveTheBitsOfEachAlone) {
  SmallModel small(GetParam());
  small.keys["context_length"] = kPositions;
  if (!small.windowed.empty()) small.keys["attention.sliding_window"] = 512;
  std::vector<std::int32_t> text(kPositions);
  std::mt19937 rng(11);
  for (auto& token : text) token = static_cast<std::int32_t>(rng() % SmallModel::kVocab);
  for (const KvType type : {KvType::kF16, KvType::kF32, KvType::kI8}) {
    // Before and after positions are first shared out, and where a block of them begins.
    for (const std::size_t begin : {500u, 755u}) {
      const auto some = std::span(text).first(begin + 40);
      const auto alone = LogitsFrom(Reader(small, 1, type), some, begin, {1});
      for (const int threads : {2, 3}) {
        EXPECT_EQ(LogitsFrom(Reader(small, threads, type), some, begin, {1}), alone) << begin;
        EXPECT_EQ(LogitsFrom(Reader(small, threads, type), some, begin, {2, 3, 8, 1, 5, 9}), alone)
            << begin;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, AttentionSplit, testing::Values("bitnet-b1.58", "maple"),
                         [](const auto& name) {
                           return std::string(name.param) == "maple" ? "Windows" : "Plain";
                         });

}  // namespace
}  // namespace bittern::model
