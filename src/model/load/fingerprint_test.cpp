// SPDX-License-Identifier: Apache-2.0
// The hash of a model depends on its file alone, not on what loading makes of it.
#include "model/load/fingerprint.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <set>

#include "kernels/instruction_sets.hpp"
#include "model/load/load_for_test.hpp"
#include "model/model.hpp"
#include "model/small_model_for_test.hpp"
#include "model/weights.hpp"

namespace bittern::model {
namespace {

using testing::HasSubstr;

/// A model in which every transformation of loading has something to do: half of the neurons are
/// dead, and q and k are permuted where the architecture has that.
SmallModel ModelToTransform(std::string architecture) {
  SmallModel small(std::move(architecture));
  for (std::size_t n = 0; n < SmallModel::kFfn / 2; ++n) {
    small.ZeroRow("blk.0.ffn_gate.weight", n);
    small.ZeroRow("blk.1.ffn_gate.weight", SmallModel::kFfn / 2 + n);
  }
  if (small.architecture == "llama") small.texts["llama.hidden_activation"] = "relu2";
  small.AddFloats("output.weight", {SmallModel::kHidden, SmallModel::kVocab}, 0.05f);
  return small;
}

Model Load(const std::filesystem::path& path, ThreadPool& pool, LoadOptions options,
           const std::string& isa) {
  options.isa = isa;
  Decisions decisions;
  auto model =
      Model::Load(formats::Checkpoint::Open(path).value(), pool, &decisions, options).value();
  return model;
}

/// The names of the instruction sets this CPU has.
std::vector<std::string> Isas() {
  std::vector<std::string> names;
  for (const auto isa : kernels::AllIsas()) {
    if (kernels::Supports(isa)) names.emplace_back(kernels::IsaName(isa));
  }
  return names;
}

class FingerprintOfModel : public testing::TestWithParam<const char*> {};

TEST_P(FingerprintOfModel, IsThatOfTheFileWhateverLoadingMakesOfIt) {
  const auto path = ModelToTransform(GetParam()).Write();
  auto pool = ThreadPool::Create(2).value();
  const Model plain =
      Load(path, pool, {.head = HeadMode::kExact, .zero_skip = SkipMode::kOff}, "scalar");
  ASSERT_TRUE(plain.weights().layers[0].neurons.empty());
  const auto expected = FingerprintOf(plain, pool).value();
  int without_neurons = 0, with_screen = 0;
  for (const std::string& isa : Isas()) {
    for (const auto layout :
         {MatrixLayout::kTile16, MatrixLayout::kTile48, MatrixLayout::kTl1, MatrixLayout::kTl2}) {
      for (const auto skip : {SkipMode::kAuto, SkipMode::kOff, SkipMode::kOn}) {
        for (const auto head : {HeadMode::kExact, HeadMode::kScreened}) {
          const Model model =
              Load(path, pool, {.layout = layout, .head = head, .zero_skip = skip}, isa);
          ASSERT_EQ(model.weights().layers[0].qkv_proj.layout, layout);
          without_neurons += !model.weights().layers[0].neurons.empty();
          with_screen += !model.weights().screened_head->empty();
          const auto found = FingerprintOf(model, pool).value();
          ASSERT_EQ(found.parts.size(), expected.parts.size());
          for (std::size_t i = 0; i < found.parts.size(); ++i) {
            EXPECT_EQ(found.parts[i].name, expected.parts[i].name);
            EXPECT_EQ(found.parts[i].hash, expected.parts[i].hash)
                << found.parts[i].name << ", " << isa << ", " << MatrixLayoutName(layout);
          }
          EXPECT_EQ(found.hash, expected.hash);
        }
      }
    }
  }
  EXPECT_GT(without_neurons, 0);
  EXPECT_GT(with_screen, 0);
  std::filesystem::remove(path);
}

INSTANTIATE_TEST_SUITE_P(Architectures, FingerprintOfModel,
                         testing::Values("bitnet-b1.58", "llama"), [](const auto& name) {
                           return name.param[0] == 'b' ? std::string("BitNet")
                                                       : std::string("Llama");
                         });

TEST(Fingerprint, AChangeOfTheNormOfADeadNeuronShows) {
  SmallModel small = ModelToTransform("bitnet-b1.58");
  auto pool = ThreadPool::Create(1).value();
  std::vector<std::string> hashes;
  for (const float weight : {1.5f, 2.5f}) {
    small.SetFloat("blk.0.ffn_sub_norm.weight", 0, weight);  // neuron 0 is dead
    const auto path = small.Write();
    const Model model = Load(path, pool, {.zero_skip = SkipMode::kOn}, "scalar");
    hashes.push_back(FingerprintOf(model, pool).value().hash);
    std::filesystem::remove(path);
  }
  EXPECT_NE(hashes[0], hashes[1]);
}

std::string HashOfModel(const SmallModel& small) {
  auto pool = ThreadPool::Create(1).value();
  return FingerprintOf(load_test::LoadGood(small, pool), pool).value().hash;
}

TEST(Fingerprint, AnotherRotationShows) {
  SmallModel small("qwen35");
  std::set<std::string> hashes = {HashOfModel(small)};
  small.Rotate(1);
  hashes.insert(HashOfModel(small));
  std::int32_t& sign = small.int_lists["prism.hadamard.sign_values"][5];
  sign = -sign;
  hashes.insert(HashOfModel(small));
  small.flags["prism.hadamard.gdn_v_grouped"] = false;
  hashes.insert(HashOfModel(small));
  EXPECT_EQ(hashes.size(), 4u);
}

TEST(Fingerprint, ScalesOfTheStreamAndTheOrderOfTheRotationShow) {
  SmallModel small("minicpm");
  std::set<std::string> hashes = {HashOfModel(small)};
  for (const char* key : {"embedding_scale", "residual_scale", "logit_scale"}) {
    small.float_keys[key] *= 2;
    hashes.insert(HashOfModel(small));
  }
  EXPECT_EQ(hashes.size(), 4u);
  EXPECT_NE(HashOfModel(SmallModel("hunyuan-dense")), HashOfModel(SmallModel("qwen3")));
}

TEST(Fingerprint, TheCallerMayGiveItUp) {
  SmallModel small = ModelToTransform("bitnet-b1.58");
  auto pool = ThreadPool::Create(2).value();
  const Model model = load_test::LoadGood(small, pool);
  std::atomic<int> asked{0};
  const auto whole = FingerprintOf(model, pool, [&] { return ++asked, true; });
  ASSERT_TRUE(whole.has_value());
  EXPECT_EQ(whole->hash, HashOfModel(small));
  // The embedding and six tensors or more of a layer.
  EXPECT_GT(asked.load(), 7 * model.config().num_layers);
  std::atomic<int> left{asked.load() / 2};
  const auto part = FingerprintOf(model, pool, [&] { return --left >= 0; });
  ASSERT_FALSE(part.has_value());
  EXPECT_EQ(part.error().code, ErrorCode::kCancelled);
}

TEST(Fingerprint, AFileThatChangedIsAnError) {
  const auto path = ModelToTransform("bitnet-b1.58").Write();
  auto pool = ThreadPool::Create(1).value();
  const Model model = Load(path, pool, {}, "scalar");
  std::ofstream(path, std::ios::binary | std::ios::app) << "more";
  const auto print = FingerprintOf(model, pool);
  std::filesystem::remove(path);
  ASSERT_FALSE(print.has_value());
  EXPECT_EQ(print.error().code, ErrorCode::kCorruptFile);
  EXPECT_THAT(print.error().message, HasSubstr(path.string()));
}

}  // namespace
}  // namespace bittern::model
