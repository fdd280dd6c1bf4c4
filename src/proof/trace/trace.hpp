// SPDX-License-Identifier: Apache-2.0
// The values that a network computed for some tokens, operation by operation.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "proof/trace/operations.hpp"
#include "runtime/loaded_model.hpp"

namespace bittern::proof {

using tokenizer::TokenId;

/// Sums of the values with signs that look random: element i has the sign of bit k of
/// SignBits(i) in sum k. The mean of the squared differences of two sketches is about the squared
/// distance of the values.
inline constexpr std::size_t kSketch = 16;
using Sketch = std::array<double, kSketch>;
/// splitmix64 of i: the same in every program.
[[nodiscard]] std::uint64_t SignBits(std::uint64_t i) noexcept;

/// One operation at one position.
struct TraceStep {
  std::size_t count = 0;  ///< values; 0: this network or program has no such operation
  double norm = 0;        ///< Euclidean
  double mean = 0, least = 0, most = 0;
  double zeros = 0;       ///< share of values that are 0
  std::string hash = {};  ///< XXH3-128 of the values as float32; empty: not known
  Sketch sketch = {};
  std::vector<float> values = {};  ///< where they were asked for
};

/// Facts of some values.
[[nodiscard]] TraceStep Summarise(std::span<const float> values);

struct Trace {
  std::string program = {};           ///< "bittern 0.1.0", "numpy"
  std::string precision = "float32";  ///< in which floats are kept: float32, float16, bfloat16
  std::string kv = "f16";             ///< what keys and values are kept as: f16, f32, i8
  std::string isa = {};               ///< instruction set; may be empty
  int num_layers = 0;
  std::vector<TokenId> tokens = {};
  std::vector<TraceStep> steps = {};  ///< NumSteps(num_layers) times tokens: [step][position]

  [[nodiscard]] const TraceStep& at(std::size_t step, std::size_t position) const {
    return steps[step * tokens.size() + position];
  }
  [[nodiscard]] TraceStep& at(std::size_t step, std::size_t position) {
    return steps[step * tokens.size() + position];
  }
};

/// For tests: changes the values of an operation before the next one reads them; see
/// model::Tracer::Change.
using TraceFault =
    std::function<void(int layer, Operation operation, int position, std::span<float> values)>;

struct TraceOptions {
  model::KvType kv_type = model::KvType::kF16;
  int num_threads = 0;
  bool values = false;       ///< keep them all
  std::string program = {};  ///< Trace::program
  TraceFault fault = {};
};

/// Runs the tokens through the model. Errors: as Session::Create and Session::PrefillAll.
[[nodiscard]] Result<Trace> RunTrace(const std::shared_ptr<const runtime::LoadedModel>& model,
                                     std::span<const TokenId> tokens, const TraceOptions& options);

}  // namespace bittern::proof
