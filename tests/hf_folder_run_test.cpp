// SPDX-License-Identifier: Apache-2.0
// The small model from its Hugging Face folders says what its GGUF says. The float masters have the
// GGUF's codes and scales; the packed export rounds scales to bfloat16, and both have embeddings in
// bfloat16, so logits differ in their last digits and greedy texts are compared.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "runtime/session.hpp"

namespace bittern::runtime {
namespace {

std::vector<TokenId> Greedy(const std::filesystem::path& path, std::string_view prompt) {
  const auto model = LoadedModel::Load(path, {.num_threads = 1});
  if (!model) {
    ADD_FAILURE() << model.error().message;
    return {};
  }
  auto session = Session::Create(*model, {.num_threads = 1});
  EXPECT_TRUE(session);
  EXPECT_TRUE(session->Prefill((*model)->tokenizer.Encode(prompt)));
  const auto result = session->Generate({.max_tokens = 32, .sampler = {.temperature = 0}}, nullptr);
  EXPECT_TRUE(result);
  return result->ids;
}

TEST(HfFolderRun, FoldersAndGgufSayTheSame) {
  const char* shared = std::getenv("BITTERN_SHARED");
  const std::filesystem::path folder =
      std::filesystem::path(shared != nullptr ? shared : BITTERN_SOURCE_DIR "/../shared") /
      "models/kjv-5m";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no models/kjv-5m under BITTERN_SHARED";
  const std::filesystem::path gguf = folder / "kjv-5m-i2s.gguf";
  for (const char* prompt : {"And it came to pass", "The LORD is my shepherd"}) {
    const auto expected = Greedy(gguf, prompt);
    EXPECT_EQ(expected.size(), 32u);
    EXPECT_EQ(Greedy(folder / "hf-bf16", prompt), expected) << prompt;
  }
  // Rounded scales lead other texts elsewhere after some words.
  constexpr const char* kPrompt = "And it came to pass";
  EXPECT_EQ(Greedy(folder / "hf-packed", kPrompt), Greedy(gguf, kPrompt));
}

}  // namespace
}  // namespace bittern::runtime
