// SPDX-License-Identifier: Apache-2.0
// The engine against reference outputs that other programs computed: a float64 NumPy forward
// pass and bitnet.cpp. Needs the folder of shared test data (BITTERN_SHARED); skipped without.
#include "golden.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace bittern {
namespace {

using nlohmann::json;
using testing_support::LoadOrSkip;
using testing_support::ReadFloats;
using testing_support::ReadJson;
using testing_support::SharedPath;

double Cosine(std::span<const float> a, std::span<const float> b) {
  double dot = 0, aa = 0, bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    dot += static_cast<double>(a[i]) * b[i];
    aa += static_cast<double>(a[i]) * a[i];
    bb += static_cast<double>(b[i]) * b[i];
  }
  return dot / std::sqrt(aa * bb);
}

runtime::Session NewSession(std::shared_ptr<const runtime::LoadedModel> model,
                            model::KvType kv_type) {
  return runtime::Session::Create(std::move(model), {.kv_type = kv_type}).value();
}

std::vector<std::int32_t> Greedy(runtime::Session& session, const std::vector<std::int32_t>& prompt,
                                 int count) {
  session.Truncate(0);
  EXPECT_TRUE(session.Prefill(prompt));
  runtime::GenerateOptions options;
  options.max_tokens = count;
  options.ignore_eos = true;
  options.sampler.temperature = 0;
  return session.Generate(options, [](std::string_view) { return true; }).value().ids;
}

int CommonPrefix(const std::vector<std::int32_t>& a, const std::vector<std::int32_t>& b) {
  int n = 0;
  while (static_cast<std::size_t>(n) < std::min(a.size(), b.size()) && a[n] == b[n]) ++n;
  return n;
}

// The README of the golden files asks for 46 of 48 ids on 15 of 16 prompts against the reference
// with a float cache: rounding near int8 ties decides the rest. With a half cache bitnet.cpp
// itself agrees with its reference on 15 of 16, and one more prompt stands on a near tie.
TEST(Golden, Kjv5mGreedyIdsEqualTheReference) {
  const json cases = ReadJson("golden/kjv-5m-greedy.json");
  if (cases.is_null()) GTEST_SKIP() << "no shared test data";
  auto model = LoadOrSkip("models/kjv-5m/kjv-5m-i2s.gguf");
  for (const auto kv_type : {model::KvType::kF32, model::KvType::kF16}) {
    auto session = NewSession(model, kv_type);
    const char* key = kv_type == model::KvType::kF32 ? "greedy_f64" : "greedy_f64_kv16";
    int good = 0;
    for (const json& c : cases) {
      const auto expected = c[key].get<std::vector<std::int32_t>>();
      const auto ids = Greedy(session, c["prompt_ids"], static_cast<int>(expected.size()));
      const int agree = CommonPrefix(ids, expected);
      good += agree >= static_cast<int>(expected.size()) - 2;
      if (ids != expected) {
        std::printf("  %s: %d of %zu ids of \"%s\"\n", key, agree, expected.size(),
                    c["prompt"].get<std::string>().c_str());
      }
    }
    EXPECT_GE(good, kv_type == model::KvType::kF32 ? 15 : 14) << key;
  }
}

TEST(Golden, Kjv5mFirstLogitsEqualTheReference) {
  const json cases = ReadJson("golden/kjv-5m-greedy.json");
  if (cases.is_null()) GTEST_SKIP() << "no shared test data";
  auto model = LoadOrSkip("models/kjv-5m/kjv-5m-i2s.gguf");
  auto session = NewSession(model, model::KvType::kF32);
  for (const json& c : cases) {
    session.Truncate(0);
    ASSERT_TRUE(session.Prefill(c["prompt_ids"].get<std::vector<std::int32_t>>()));
    for (std::size_t i = 0; i < c["top5_ids"].size(); ++i) {
      EXPECT_NEAR(session.logits()[c["top5_ids"][i].get<std::size_t>()],
                  c["top5_logits"][i].get<double>(), 0.05)
          << c["prompt"];
    }
  }
}

TEST(Golden, Kjv5mPerplexityOfHeldOutText) {
  const json ids_json = ReadJson("golden/kjv-5m-heldout-ids.json");
  if (ids_json.is_null()) GTEST_SKIP() << "no shared test data";
  const json expected = ReadJson("golden/kjv-5m-nll.json");
  const auto ids = ids_json.get<std::vector<std::int32_t>>();
  auto model = LoadOrSkip("models/kjv-5m/kjv-5m-i2s.gguf");
  for (const auto kv_type : {model::KvType::kF32, model::KvType::kF16}) {
    auto session = NewSession(model, kv_type);
    double total = 0;
    std::size_t count = 0;
    constexpr std::size_t kWindow = 256;
    for (std::size_t begin = 0; begin + 1 < ids.size(); begin += kWindow) {
      const std::size_t size = std::min(kWindow, ids.size() - 1 - begin);
      session.Truncate(0);
      ASSERT_TRUE(session.PrefillAll(
          std::span(ids).subspan(begin, size), [&](int position, std::span<const float> logits) {
            double sum = 0;
            for (float logit : logits) sum += std::exp(static_cast<double>(logit));
            const auto next = ids[begin + static_cast<std::size_t>(position) + 1];
            total += std::log(sum) - logits[static_cast<std::size_t>(next)];
          }));
      count += size;
    }
    const double nll = total / static_cast<double>(count);
    const double want =
        expected[kv_type == model::KvType::kF32 ? "nll_f64" : "nll_f64_kv16"].get<double>();
    std::printf("  nll %.6f over %zu tokens, reference %.6f\n", nll, count, want);
    EXPECT_NEAR(nll / want, 1.0, 0.001);
  }
}

TEST(Golden, TinyLogitsAndGreedyIdsEqualBothReferences) {
  auto model = LoadOrSkip(testing_support::TinyModelPath());
  if (model == nullptr) GTEST_SKIP() << "no tiny model: see tests/README.md";
  const std::vector<std::int32_t> prompt = {1014, 72, 260, 15, 300, 77};
  struct Case {
    const char* file;
    model::KvType kv_type;
    double cosine;
  };
  for (const Case& c : {Case{"golden/tiny-ref-f32.f32", model::KvType::kF32, 0.9999},
                        {"golden/tiny-ref-f16.f32", model::KvType::kF16, 0.9999},
                        {"golden/tiny-bitnetcpp.f32", model::KvType::kF16, 0.999}}) {
    auto session = NewSession(model, c.kv_type);
    ASSERT_TRUE(session.Prefill(prompt));
    const auto expected = ReadFloats(c.file);
    ASSERT_EQ(expected.size(), session.logits().size()) << c.file;
    const double cosine = Cosine(session.logits(), expected);
    std::printf("  %s: cosine %.9f\n", c.file, cosine);
    EXPECT_GE(cosine, c.cosine) << c.file;
  }
}

TEST(Golden, TinyGreedyIdsEqualBitnetCpp) {
  auto model = LoadOrSkip(testing_support::TinyModelPath());
  std::ifstream file(SharedPath("golden/tiny-greedy.txt"));
  if (model == nullptr || !file) GTEST_SKIP() << "no tiny model: see tests/README.md";
  const auto ids_after = [&file](const char* label) {
    std::string word;
    while (file >> word && word != label) {
    }
    std::vector<std::int32_t> ids;
    for (std::int32_t id = 0; file >> id;) ids.push_back(id);
    file.clear();
    return ids;
  };
  const auto prompt = ids_after("prompt:");
  const auto expected = ids_after("greedy:");
  ASSERT_EQ(expected.size(), 32u);
  auto session = NewSession(model, model::KvType::kF16);
  EXPECT_EQ(Greedy(session, prompt, 32), expected);
}

}  // namespace
}  // namespace bittern
