// SPDX-License-Identifier: Apache-2.0
// Weights that memory has no room for: they lie in a file, and nothing else differs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "model/forward/forward_state.hpp"
#include "model/load/load_for_test.hpp"
#include "model/matrix_layout.hpp"
#include "model/one_sequence_for_test.hpp"

namespace bittern::model {
namespace {

using testing::HasSubstr;

struct ArenaRun {
  std::vector<float> logits;
  Decision weights;  ///< of where they lie; empty: nothing was said
};

ArenaRun RunSmall(const SmallModel& small, const LoadOptions& options) {
  const load_test::Loaded loaded = load_test::Load(small, {}, options);
  const Model& model = loaded.model.value();
  auto pool = ThreadPool::Create(2).value();
  const std::vector<std::int32_t> tokens = {17, 3, 299, 0, 42, 7};
  OneSequence cache(model.config(), 64, KvType::kF32);
  auto state = ForwardState::Create(model, 64, 64, 2).value();
  ArenaRun run{std::vector<float>(SmallModel::kVocab), {}};
  Forward(model, tokens, cache, state, pool, LogitsRows::kLast, run.logits);
  for (const Decision& decision : loaded.decisions) {
    if (decision.subject == "weights") run.weights = decision;
  }
  return run;
}

TEST(WeightArena, AFileGivesTheBitsOfMemory) {
  const std::string folder = std::filesystem::temp_directory_path().string();
  for (const char* architecture : {"bitnet-b1.58", "qwen35", "maple"}) {
    const SmallModel small(architecture);
    const ArenaRun in_memory = RunSmall(small, {});
    EXPECT_EQ(in_memory.weights.choice, "");
    const ArenaRun in_file = RunSmall(small, {.memory = 1, .overflow_folder = folder});
    EXPECT_EQ(in_file.logits, in_memory.logits) << architecture;
    EXPECT_EQ(in_file.weights.choice, "in a file in " + folder);
    EXPECT_THAT(in_file.weights.reason, HasSubstr("memory has room for 0.0 GB"));
    EXPECT_TRUE(in_file.weights.notable);
  }
}

TEST(WeightArena, WithoutAFileWeightsStayInMemoryAndThatIsSaid) {
  const std::string nowhere = (std::filesystem::temp_directory_path() / "no-such-folder").string();
  const ArenaRun run = RunSmall(SmallModel(), {.memory = 1, .overflow_folder = nowhere});
  EXPECT_EQ(run.logits, RunSmall(SmallModel(), {}).logits);
  EXPECT_TRUE(run.weights.notable);
}

}  // namespace
}  // namespace bittern::model
