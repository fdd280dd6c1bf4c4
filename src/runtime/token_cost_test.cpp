// SPDX-License-Identifier: Apache-2.0
// Bytes and multiply-adds against the sums that one can do by hand for a small network.
#include "runtime/token_cost.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

#include "formats/checkpoint.hpp"
#include "model/small_model_for_test.hpp"

namespace bittern::runtime {
namespace {

// SmallModel: 2 layers, hidden 256, FFN 512, 2 heads of 128 on 1 key-value head, vocabulary 300.
constexpr std::uint64_t kLayers = 2, kHidden = 256, kFfn = 512, kKv = 128, kVocab = 300;

model::Model Load() {
  const auto path = model::SmallModel().Write();
  auto checkpoint = formats::Checkpoint::Open(path);
  std::filesystem::remove(path);
  EXPECT_TRUE(checkpoint.has_value());
  auto pool = ThreadPool::Create(1);
  Decisions decisions;
  auto model = model::Model::Load(*std::move(checkpoint), *pool, &decisions);
  EXPECT_TRUE(model.has_value()) << model.error().message;
  return *std::move(model);
}

const TokenCost::Part& PartOf(const TokenCost& cost, std::string_view name) {
  for (const TokenCost::Part& part : cost.parts) {
    if (part.name == name) return part;
  }
  throw std::runtime_error("no part " + std::string(name));
}

TEST(TokenCost, IsTheSumOfItsParts) {
  const TokenCost cost = CostOfToken(Load(), 9, model::KvType::kF16);
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
  const model::Model model = Load();
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

}  // namespace
}  // namespace bittern::runtime
