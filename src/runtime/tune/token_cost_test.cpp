// SPDX-License-Identifier: Apache-2.0
// Bytes and multiply-adds against the sums that one can do by hand for a small network.
#include "runtime/tune/token_cost.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

#include "formats/checkpoint.hpp"
#include "model/small_model_for_test.hpp"
#include "model/weights.hpp"

namespace bittern::runtime {
namespace {

// SmallModel: 2 layers, hidden 256, FFN 512, 2 heads of 128 on 1 key-value head, vocabulary 300.
constexpr std::uint64_t kLayers = 2, kHidden = 256, kFfn = 512, kKv = 128, kVocab = 300;

model::Model Load(const model::LoadOptions& options) {
  const auto path = model::SmallModel().Write();
  auto checkpoint = formats::Checkpoint::Open(path);
  std::filesystem::remove(path);
  EXPECT_TRUE(checkpoint.has_value());
  auto pool = ThreadPool::Create(1);
  Decisions decisions;
  auto model = model::Model::Load(*std::move(checkpoint), *pool, &decisions, options);
  EXPECT_TRUE(model.has_value()) << model.error().message;
  return *std::move(model);
}

const model::LoadOptions kPlain = {.head = model::HeadMode::kExact,
                                   .zero_skip = model::SkipMode::kOff};

const TokenCost::Part& PartOf(const TokenCost& cost, std::string_view name) {
  for (const TokenCost::Part& part : cost.parts) {
    if (part.name == name) return part;
  }
  throw std::runtime_error("no part " + std::string(name));
}

TEST(TokenCost, IsTheSumOfItsParts) {
  const TokenCost cost = CostOfToken(Load(kPlain), 9, model::KvType::kF16);
  const std::uint64_t qkv = kLayers * (kHidden + 2 * kKv) * kHidden;
  EXPECT_EQ(PartOf(cost, "qkv_proj").multiply_adds, qkv);
  EXPECT_EQ(PartOf(cost, "qkv_proj").bytes, qkv / 4);  // two bits a weight, no padding
  EXPECT_EQ(PartOf(cost, "o_proj").bytes, kLayers * kHidden * kHidden / 4);
  EXPECT_EQ(PartOf(cost, "gate_up_proj").bytes, kLayers * 2 * kFfn * kHidden / 4);
  EXPECT_EQ(PartOf(cost, "down_proj").bytes, kLayers * kFfn * kHidden / 4);
  EXPECT_EQ(PartOf(cost, "output head").bytes, kVocab * kHidden * 4);  // F32
  EXPECT_EQ(PartOf(cost, "output head").multiply_adds, kVocab * kHidden);
  EXPECT_EQ(PartOf(cost, "embedding row").bytes, kHidden * 4);
  EXPECT_EQ(PartOf(cost, "norms").bytes, (kLayers * (3 * kHidden + kFfn) + kHidden) * 4);
  EXPECT_EQ(PartOf(cost, "KV cache").bytes, 2 * kLayers * 10 * kKv * 2);
  std::uint64_t bytes = 0;
  for (const TokenCost::Part& part : cost.parts) bytes += part.bytes;
  EXPECT_EQ(cost.bytes(), bytes);
  EXPECT_EQ(cost.ternary_multiply_adds(), qkv + kLayers * (kHidden * kHidden + 3 * kFfn * kHidden));
}

TEST(TokenCost, OnlyTheCacheGrowsWithTheContext) {
  const model::Model model = Load({});
  const TokenCost early = CostOfToken(model, 0, model::KvType::kF16);
  const TokenCost late = CostOfToken(model, 63, model::KvType::kF32);
  ASSERT_EQ(early.parts.size(), late.parts.size());
  for (std::size_t i = 0; i < early.parts.size(); ++i) {
    if (early.parts[i].name == "KV cache") {
      EXPECT_EQ(late.parts[i].bytes, 64 * 2 * early.parts[i].bytes);
    } else {
      EXPECT_EQ(early.parts[i], late.parts[i]);
    }
  }
}

TEST(TokenCost, AnInt8CacheHasScales) {
  const TokenCost cost = CostOfToken(Load({}), 9, model::KvType::kI8);
  EXPECT_EQ(PartOf(cost, "KV cache").bytes, 2 * kLayers * 10 * (kKv + sizeof(float)));
}

TEST(TokenCost, SkippedZerosMakeItAMost) {
  const TokenCost plain = CostOfToken(Load(kPlain), 0, model::KvType::kF16);
  const model::Model model = Load({.zero_skip = model::SkipMode::kOn});
  const TokenCost skipping = CostOfToken(model, 0, model::KvType::kF16);
  if (!model.weights().layers.front().skips_zeros()) GTEST_SKIP() << "no kernel for it here";
  EXPECT_EQ(skipping.ternary_multiply_adds(), plain.ternary_multiply_adds());
  EXPECT_EQ(PartOf(skipping, "up_proj").bytes, kLayers * kFfn * kHidden / 4);
  EXPECT_TRUE(PartOf(skipping, "up_proj").at_most);
  EXPECT_TRUE(PartOf(skipping, "down_proj").at_most);
  EXPECT_FALSE(PartOf(skipping, "gate_proj").at_most);
  EXPECT_FALSE(PartOf(plain, "down_proj").at_most);
  // Once counted, it is no bound any more but what was read.
  const model::SkipStats seen{.up_rows = {100, 50}, .down_columns = {100, 25}};
  const TokenCost counted = CostOfToken(model, 0, model::KvType::kF16, {}, seen);
  EXPECT_EQ(2 * PartOf(counted, "up_proj").bytes, PartOf(skipping, "up_proj").bytes);
  EXPECT_EQ(4 * PartOf(counted, "down_proj").bytes, PartOf(skipping, "down_proj").bytes);
  EXPECT_FALSE(PartOf(counted, "up_proj").at_most);
  EXPECT_EQ(PartOf(counted, "up_proj").multiply_adds, PartOf(skipping, "up_proj").multiply_adds);
  // Nor is what was not multiplied in batches.
  const model::SkipStats batches{.up_products = {100, 50}, .down_products = {100, 25}};
  const TokenCost fewer = CostOfToken(model, 0, model::KvType::kF16, {}, batches);
  EXPECT_EQ(2 * PartOf(fewer, "up_proj").multiply_adds, PartOf(skipping, "up_proj").multiply_adds);
  EXPECT_EQ(4 * PartOf(fewer, "down_proj").multiply_adds,
            PartOf(skipping, "down_proj").multiply_adds);
  EXPECT_TRUE(PartOf(fewer, "up_proj").at_most);
}

TEST(TokenCost, AScreenedHeadCostsWhatWasRead) {
  const model::Model model = Load({.head = model::HeadMode::kScreened});
  ASSERT_FALSE(model.weights().screened_head->empty());
  const std::uint64_t whole =
      PartOf(CostOfToken(model, 0, model::KvType::kF16), "output head").bytes;
  EXPECT_EQ(whole, kVocab * kHidden * 4);  // no token has been screened yet
  const auto head = [&](const model::ScreenStats& screen) {
    const TokenCost cost = CostOfToken(model, 0, model::KvType::kF16, screen);
    return std::pair(PartOf(cost, "head, coarse").bytes, PartOf(cost, "head, exact").bytes);
  };
  const auto few = head({.tokens = 2, .rows = 2 * kVocab});
  const auto more = head(
      {.tokens = 2, .rows = 2 * kVocab, .tiles_of_bits = 4, .after_5_bits = 8, .after_7_bits = 6});
  EXPECT_EQ(few.second, 0u);
  EXPECT_GT(few.first, kVocab * kHidden / 2);
  EXPECT_EQ(more.second, 3 * kHidden * 4);
  EXPECT_EQ(more.first - few.first, 2 * 512 * 2 + 4 * 512 / 4);  // rows padded to 512 columns
}

}  // namespace
}  // namespace bittern::runtime
