// SPDX-License-Identifier: Apache-2.0
// The same bits everywhere: the logits of every position, whatever the instruction set, thread
// count, chunk size or cache history. All paths must give one hash.
#include <gtest/gtest.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstdlib>
#include <random>

#include "golden.hpp"
#include "kernels/instruction_sets.hpp"

namespace bittern {
namespace {

using runtime::LoadedModel;
using runtime::Session;

constexpr int kTokens = 40;

std::vector<std::int32_t> SomeTokens(int vocab_size) {
  std::mt19937 rng(1);
  std::vector<std::int32_t> tokens(kTokens);
  for (auto& token : tokens) {
    token = static_cast<std::int32_t>(rng() % static_cast<std::uint32_t>(vocab_size));
  }
  return tokens;
}

/// Hash of the logits of all positions, prefilled in chunks of `batch`.
std::uint64_t HashOfLogits(const std::shared_ptr<const LoadedModel>& model, int threads, int batch,
                           model::KvType kv_type) {
  auto session =
      Session::Create(model, {.kv_type = kv_type, .batch_size = batch, .num_threads = threads})
          .value();
  XXH64_state_t* state = XXH64_createState();
  XXH64_reset(state, 0);
  EXPECT_TRUE(session.PrefillAll(SomeTokens(model->model.config().vocab_size),
                                 [&](int, std::span<const float> logits) {
                                   XXH64_update(state, logits.data(), logits.size_bytes());
                                 }));
  const std::uint64_t hash = XXH64_digest(state);
  XXH64_freeState(state);
  return hash;
}

std::shared_ptr<const LoadedModel> LoadWithIsa(std::string_view isa) {
  auto model = LoadedModel::Load(testing_support::ShippedModelPath(),
                                 {.weights = {.isa = std::string(isa)}});
  EXPECT_TRUE(model.has_value()) << model.error().message;
  return model.value();
}

TEST(SameBits, AcrossInstructionSetsThreadsBatchesAndCaches) {
  for (const auto kv_type : {model::KvType::kF16, model::KvType::kF32}) {
    std::uint64_t expected = 0;
    int paths = 0;
    for (kernels::Isa isa : kernels::AllIsas()) {
      if (!kernels::Supports(isa)) {
        std::printf("  %s: not on this CPU\n", std::string(kernels::IsaName(isa)).c_str());
        continue;
      }
      const auto model = LoadWithIsa(kernels::IsaName(isa));
      for (int threads : {1, 2}) {
        for (int batch : {1, 2, 7, 32, 512}) {
          const std::uint64_t hash = HashOfLogits(model, threads, batch, kv_type);
          if (paths++ == 0) expected = hash;
          EXPECT_EQ(hash, expected)
              << kernels::IsaName(isa) << ", " << threads << " threads, batch " << batch;
        }
      }
    }
    std::printf("  logits of %d positions, %s cache: %016llx on %d paths\n", kTokens,
                kv_type == model::KvType::kF16 ? "f16" : "f32",
                static_cast<unsigned long long>(expected), paths);
  }
}

TEST(SameBits, TruncatedAndRefilledCacheEqualsAFreshOne) {
  const auto model = LoadWithIsa("");
  const auto tokens = SomeTokens(model->model.config().vocab_size);
  auto fresh = Session::Create(model, {.num_threads = 2}).value();
  auto reused = Session::Create(model, {.num_threads = 2}).value();
  ASSERT_TRUE(fresh.Prefill(tokens));
  // Other tokens first, then back to a common prefix.
  ASSERT_TRUE(reused.Prefill(std::span(tokens).first(20)));
  ASSERT_TRUE(reused.Prefill(std::vector<std::int32_t>(40, 7)));
  reused.Truncate(20);
  ASSERT_TRUE(reused.Prefill(std::span(tokens).subspan(20)));
  ASSERT_EQ(fresh.logits().size(), reused.logits().size());
  for (std::size_t i = 0; i < fresh.logits().size(); ++i) {
    ASSERT_EQ(fresh.logits()[i], reused.logits()[i]) << i;
  }
}

}  // namespace
}  // namespace bittern
