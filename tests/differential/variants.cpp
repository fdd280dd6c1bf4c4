// SPDX-License-Identifier: Apache-2.0
#include "variants.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <utility>

#include "kernels/instruction_sets.hpp"

namespace bittern::differential {
namespace {

using model::HeadMode;
using model::KvType;
using model::MatrixLayout;
using model::SkipMode;
using runtime::Speculation;

constexpr KvType kCaches[] = {KvType::kF32, KvType::kF16, KvType::kI8};
constexpr const char* kCacheNames[] = {"f32", "f16", "q8_0"};
constexpr int kChunks[] = {1, 2, 7, 9, 512};
constexpr int kThreads[] = {1, 1, 1, 1, 2, 3};  // mostly one: waiting for others takes longest
constexpr std::size_t kMostDifferences = 4;

std::size_t IndexOf(KvType cache) {
  return cache == KvType::kF32 ? 0 : cache == KvType::kF16 ? 1 : 2;
}

/// Logits that are not finite are told in other words where only candidates were computed.
std::string Canonical(const std::string& error) {
  for (const char* words : {"logits are not finite", "logits is a finite"}) {
    if (error.find(words) != std::string::npos) return "logits are not finite";
  }
  return error;
}

/// The first thing in which two outcomes differ.
std::string Difference(const Outcome& got, const Outcome& want) {
  const std::pair<const std::string*, const std::string*> kTexts[] = {
      {&got.error, &want.error},
      {&got.prompt_error, &want.prompt_error},
      {&got.generate_error, &want.generate_error},
      {&got.text, &want.text}};
  for (const auto& [a, b] : kTexts) {
    if (*a != *b) return fmt::format("\"{}\" instead of \"{}\"", *a, *b);
  }
  if (got.logits.size() != want.logits.size()) {
    return fmt::format("{} logits instead of {}", got.logits.size(), want.logits.size());
  }
  for (std::size_t i = 0; i < got.logits.size(); ++i) {
    if (std::memcmp(&got.logits[i], &want.logits[i], 4) == 0) continue;
    return fmt::format("logit {} is {} instead of {}", i, got.logits[i], want.logits[i]);
  }
  return got == want ? "" : "other ids";
}

void ForceIsa(const std::string& isa) { kernels::ForceIsa(isa); }

Result<std::shared_ptr<const runtime::LoadedModel>> Load(const std::filesystem::path& path,
                                                         const Variant& variant) {
  ForceIsa(variant.isa);
  return runtime::LoadedModel::Load(path, {.num_threads = 2,
                                           .weights = {.layout = variant.layout,
                                                       .head = variant.head,
                                                       .zero_skip = variant.skip,
                                                       .batch_kernel = variant.batch}});
}

std::string ErrorOf(const Result<std::shared_ptr<const runtime::LoadedModel>>& model) {
  return model ? "" : model.error().message;
}

}  // namespace

std::string Variant::Name() const {
  return fmt::format(
      "isa {}, kernel {}, batches {}, zero-skip {}, head {}, cache {}, threads {}, chunk {}, {}",
      isa, model::MatrixLayoutName(layout), batch == model::BatchKernel::kVlut ? "vlut" : "tile16",
      skip == SkipMode::kOn ? "on" : "off", head == HeadMode::kScreened ? "screened" : "exact",
      kCacheNames[IndexOf(cache)], threads, chunk,
      speculation == Speculation::kOff ? "no drafts" : "drafts");
}

Variants::Variants(std::filesystem::path model, std::vector<runtime::TokenId> prompt, int generate,
                   std::uint32_t seed)
    : path_(std::move(model)), prompt_(std::move(prompt)), generate_(generate), rng_(seed) {}

Outcome Variants::Run(const runtime::LoadedModel* model, const std::string& error,
                      const Variant& variant) {
  ++runs_;
  Outcome outcome;
  outcome.error = error;
  if (model == nullptr) return outcome;
  const runtime::SessionOptions options{.context_length = 128,
                                        .kv_type = variant.cache,
                                        .batch_size = variant.chunk,
                                        .num_threads = variant.threads};
  auto session = runtime::Session::Create(model_, options).value();
  const auto prompt = session.PrefillAll(prompt_, [&](int, std::span<const float> logits) {
    outcome.logits.insert(outcome.logits.end(), logits.begin(), logits.end());
  });
  if (!prompt) outcome.prompt_error = Canonical(prompt.error().message);
  auto other = runtime::Session::Create(model_, options).value();
  const runtime::GenerateOptions generate{.max_tokens = generate_,
                                          .sampler = {.temperature = 0},
                                          .ignore_eos = true,
                                          .speculation = variant.speculation};
  if (const auto read = other.PrefillFor(prompt_, generate); !read) {
    outcome.generate_error = Canonical(read.error().message);
    return outcome;
  }
  const auto done = other.Generate(generate, [&](std::string_view text) {
    outcome.text += text;
    return true;
  });
  outcome.tokens.assign(other.tokens().begin(), other.tokens().end());
  if (done) {
    outcome.ids = done->ids;
  } else {
    outcome.generate_error = Canonical(done.error().message);
  }
  return outcome;
}

void Variants::CompareLoaded(Variant variant, std::vector<std::string>* differences) {
  const auto loaded = Load(path_, variant);
  if (!loaded && loaded.error().message.find("need layout tile16") != std::string::npos) return;
  model_ = loaded ? *loaded : nullptr;
  const auto any = [this](std::size_t size) { return rng_() % size; };
  for (const KvType cache : kCaches) {
    variant.cache = cache;
    variant.threads = kThreads[any(std::size(kThreads))];
    variant.chunk = kChunks[any(std::size(kChunks))];
    variant.speculation = any(2) == 0 ? Speculation::kOff : Speculation::kAlways;
    const Outcome got = Run(model_.get(), ErrorOf(loaded), variant);
    const std::string difference = Difference(got, plain_[IndexOf(cache)]);
    if (difference.empty() || differences->size() >= kMostDifferences) continue;
    differences->push_back(variant.Name() + ": " + difference);
  }
}

std::vector<std::string> Variants::Compare() {
  Variant plain;
  const auto loaded = Load(path_, plain);
  model_ = loaded ? *loaded : nullptr;
  for (const KvType cache : kCaches) {
    plain.cache = cache;
    plain_[IndexOf(cache)] = Run(model_.get(), ErrorOf(loaded), plain);
  }
  std::vector<std::string> differences;
  for (const kernels::Isa isa : kernels::AllIsas()) {
    if (!kernels::Supports(isa)) continue;
    for (const MatrixLayout layout :
         {MatrixLayout::kTile16, MatrixLayout::kTile48, MatrixLayout::kTl1, MatrixLayout::kTl2}) {
      for (const SkipMode skip : {SkipMode::kOff, SkipMode::kOn}) {
        // Lookup layouts never skip.
        if (skip == SkipMode::kOn && !model::IsTiled(layout)) continue;
        Variant variant;
        variant.isa = kernels::IsaName(isa);
        variant.layout = layout;
        variant.skip = skip;
        variant.head = rng_() % 2 == 0 ? HeadMode::kExact : HeadMode::kScreened;
        variant.batch = rng_() % 2 == 0 ? model::BatchKernel::kTile16 : model::BatchKernel::kVlut;
        CompareLoaded(variant, &differences);
      }
    }
  }
  return differences;
}

}  // namespace bittern::differential
