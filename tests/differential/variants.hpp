// SPDX-License-Identifier: Apache-2.0
// One model through every variant of running it: all must give the same bits or the same error.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "model/matrix_layout.hpp"
#include "runtime/session.hpp"

namespace bittern::differential {

/// How a model is run; nothing in here may change a result but the cache.
struct Variant {
  std::string isa = "scalar";
  model::MatrixLayout layout = model::MatrixLayout::kTile16;
  model::SkipMode skip = model::SkipMode::kOff;
  model::HeadMode head = model::HeadMode::kExact;
  model::BatchKernel batch = model::BatchKernel::kTile16;
  model::KvType cache = model::KvType::kF32;
  int threads = 1, chunk = 1;
  runtime::Speculation speculation = runtime::Speculation::kOff;
  [[nodiscard]] std::string Name() const;
};

/// All that a caller sees.
struct Outcome {
  std::string error;           ///< of loading; nothing else is there then
  std::string prompt_error;    ///< of PrefillAll
  std::vector<float> logits;   ///< of all positions before the first bad one
  std::string generate_error;  ///< of PrefillFor and Generate in a session of their own
  std::vector<runtime::TokenId> ids, tokens;
  std::string text;
  bool operator==(const Outcome&) const = default;
};

class Variants {
 public:
  Variants(std::filesystem::path model, std::vector<runtime::TokenId> prompt, int generate,
           std::uint32_t seed);

  /// Runs them all: every instruction set x layout x skipping; head, kernel of batches,
  /// threads, chunk and speculation in an order that the seed shuffles, each value with each cache.
  /// Returns what differs from the plain way of the same cache, at most a few.
  std::vector<std::string> Compare();
  /// The plain way with a float cache, after Compare.
  [[nodiscard]] const Outcome& plain() const noexcept { return plain_[0]; }
  [[nodiscard]] std::size_t runs() const noexcept { return runs_; }

 private:
  void CompareLoaded(Variant variant, std::vector<std::string>* differences);
  Outcome Run(const runtime::LoadedModel* model, const std::string& error, const Variant& variant);

  std::filesystem::path path_;
  std::vector<runtime::TokenId> prompt_;
  int generate_;
  std::mt19937 rng_;
  Outcome plain_[3];  // by cache
  std::shared_ptr<const runtime::LoadedModel> model_;
  std::size_t runs_ = 0;
};

}  // namespace bittern::differential
