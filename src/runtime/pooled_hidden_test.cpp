// SPDX-License-Identifier: Apache-2.0
#include "runtime/pooled_hidden.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "runtime/engine/engine.hpp"
#include "runtime/session.hpp"

namespace bittern::runtime {
namespace {

TEST(PooledHidden, TakesThePositionsThatCount) {
  const std::vector<std::vector<float>> rows = {{3, 0}, {1, 4}, {2, 5}};
  const auto pooled = [&](Pooling pooling, bool normalize) {
    PooledHidden hidden(pooling, 2);
    hidden.Add(std::vector<float>{9, 9});
    hidden.Reset();
    for (const auto& row : rows) hidden.Add(row);
    return hidden.Finish(normalize);
  };
  EXPECT_EQ(pooled(Pooling::kFirst, false), (std::vector<float>{3, 0}));
  EXPECT_EQ(pooled(Pooling::kLast, false), (std::vector<float>{2, 5}));
  EXPECT_EQ(pooled(Pooling::kMean, false), (std::vector<float>{2, 3}));
  EXPECT_EQ(pooled(Pooling::kFirst, true), (std::vector<float>{1, 0}));
  EXPECT_EQ(PooledHidden(Pooling::kMean, 2).Finish(true), (std::vector<float>{0, 0}));
}

TEST(PooledHidden, ReadsWhatTheFileAsksFor) {
  const auto of = [](std::uint32_t type) {
    formats::Metadata metadata;
    EXPECT_TRUE(metadata.AddUint("qwen3.pooling_type", type));
    return PoolingOf(metadata, "qwen3");
  };
  EXPECT_EQ(of(0).value(), std::nullopt);
  EXPECT_EQ(of(1).value(), Pooling::kMean);
  EXPECT_EQ(of(2).value(), Pooling::kFirst);
  EXPECT_EQ(of(3).value(), Pooling::kLast);
  EXPECT_EQ(of(4).error().code, ErrorCode::kUnsupported);  // a model that ranks texts
  EXPECT_EQ(DefaultPooling(formats::Metadata(), "qwen3").value(), Pooling::kLast);
}

std::shared_ptr<const LoadedModel> SmallModel() {
  return LoadedModel::Load(BITTERN_SOURCE_DIR "/models/kjv-5m-i2s.gguf", {.num_threads = 1})
      .value();
}

/// The vector of a text read alone, a few tokens at a time.
std::vector<float> Alone(const std::shared_ptr<const LoadedModel>& model,
                         std::span<const TokenId> ids, Pooling pooling, int batch_size) {
  auto session = Session::Create(model, {.batch_size = batch_size, .num_threads = 1}).value();
  PooledHidden hidden(pooling, model->model.config().hidden_size);
  int next = 0;
  EXPECT_TRUE(session.PrefillHidden(ids, [&](int position, std::span<const float> row) {
    EXPECT_EQ(position, next++);
    hidden.Add(row);
  }));
  EXPECT_EQ(next, static_cast<int>(ids.size()));
  return hidden.Finish(true);
}

/// The engine has pages for a few of the texts. So they are preempted, and some find pages of
/// others that begin alike. Texts that are written run beside them.
TEST(PooledHidden, AnEngineGivesTheSameVectors) {
  const auto model = SmallModel();
  auto engine = Engine::Create(model, {.max_sequences = 5,
                                       .context_length = 300,
                                       .cache_tokens = 768,
                                       .batch_size = 40,
                                       .num_threads = 2})
                    .value();
  const std::string words = "And it came to pass in those days that there went out a decree ";
  std::vector<std::vector<float>> got(24);
  std::vector<std::vector<TokenId>> texts;
  const Pooling kinds[] = {Pooling::kLast, Pooling::kMean, Pooling::kFirst};
  int written = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    std::string text;
    for (std::size_t k = 0; k <= i % 8; ++k) text += words;
    texts.push_back(model->tokenizer.Encode(text + std::to_string(i % 5)));
    Request request{.prompt = texts.back(), .vector = VectorRequest{.pooling = kinds[i % 3]}};
    request.on_done = [&got, i](Completion done) {
      ASSERT_TRUE(done.result) << done.result.error().message;
      EXPECT_EQ(done.result->sampled, 0);
      got[i] = std::move(done.vector);
    };
    ASSERT_TRUE(engine.Submit(std::move(request)));
    Request writes{.prompt = model->tokenizer.Encode(words), .options = {.max_tokens = 12}};
    writes.on_done = [&](Completion done) { written += done.result && done.vector.empty(); };
    ASSERT_TRUE(engine.Submit(std::move(writes)));
  }
  engine.RunAll();
  EXPECT_EQ(written, 24);
  for (std::size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(got[i], Alone(model, texts[i], kinds[i % 3], 7)) << i;
    if (i % 8 != 0) continue;
    EXPECT_EQ(got[i], Alone(model, texts[i], kinds[i % 3], 512)) << i;
  }
}

TEST(PooledHidden, TextsAreCutBeforeTheTokenBehindThem) {
  const auto model = SmallModel();
  const auto whole = EncodeForVector("In the beginning", model->tokenizer, 0, false).value();
  const int most = static_cast<int>(whole.size()) - 1;
  const auto refused = EncodeForVector("In the beginning", model->tokenizer, most, false);
  EXPECT_EQ(refused.error().code, ErrorCode::kContextFull);
  const auto cut = EncodeForVector("In the beginning", model->tokenizer, most, true).value();
  EXPECT_EQ(cut, std::vector<TokenId>(whole.begin(), whole.end() - 1));
}

}  // namespace
}  // namespace bittern::runtime
