// SPDX-License-Identifier: Apache-2.0
// The tracer is called by one thread at a time; the values of one place come in parts and are kept
// until the next place comes.
#include "proof/trace/trace.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "base/hash.hpp"
#include "kernels/instruction_sets.hpp"
#include "kernels/sizes.h"
#include "model/trace.hpp"
#include "model/weights.hpp"
#include "request/options/choice_names.hpp"
#include "runtime/session.hpp"

namespace bittern::proof {
namespace {

using model::TracePlace;
using model::TracePoint;

constexpr std::array<std::string_view, kNumOperations> kNames = {
#define POINT(id, name) name,
#define INPUT(id, name) name,
#include "model/operations.def"
#undef POINT
#undef INPUT
};

/// The point of every operation; an input's is that of the operation before it.
constexpr std::array<std::optional<TracePoint>, kNumOperations> kPoints = {
#define POINT(id, name) TracePoint::id,
#define INPUT(id, name) std::nullopt,
#include "model/operations.def"
#undef POINT
#undef INPUT
};

/// The operation of a point, and what is quantised there.
struct PointOperations {
  Operation values;
  std::optional<Operation> quantized;
};

PointOperations OperationsOf(TracePoint point) {
  const auto values = static_cast<std::size_t>(std::ranges::find(kPoints, point) - kPoints.begin());
  PointOperations operations{static_cast<Operation>(values), std::nullopt};
  if (values + 1 < kPoints.size() && !kPoints[values + 1]) {
    operations.quantized = static_cast<Operation>(values + 1);
  }
  return operations;
}

class TraceRecorder final : public model::Tracer {
 public:
  TraceRecorder(const model::ModelConfig& config, const TraceOptions& options, Trace* trace)
      : config_(config), options_(options), trace_(*trace) {}

  void OnValues(const TracePlace& place, std::span<const std::byte> values) noexcept override {
    const bool same = place.layer == place_.layer && place.point == place_.point &&
                      place.position == place_.position;
    if (!same) Finish();
    place_ = place;
    bytes_.insert(bytes_.end(), values.begin(), values.end());
  }

  void Change(const TracePlace& place, std::span<float> values) noexcept override {
    if (!options_.fault) return;
    const PointOperations operations = OperationsOf(place.point);
    options_.fault(place.layer, operations.quantized.value_or(operations.values), place.position,
                   values);
  }

  /// Keeps what came last.
  void Finish() {
    if (bytes_.empty()) return;
    const PointOperations operations = OperationsOf(place_.point);
    std::span<const std::byte> bytes = bytes_;
    if (operations.quantized) {
      const std::size_t size = QuantizedSize();
      const std::size_t with_norm = (sizeof(float) + Digits()) * size;
      const std::size_t floats = bytes.size() >= with_norm ? sizeof(float) * size : 0;
      Keep(*operations.quantized, Dequantized(bytes.subspan(floats), size));
      bytes = bytes.first(floats);
    }
    Keep(operations.values, Floats(bytes));
    bytes_.clear();
  }

 private:
  /// Inputs of the projection behind the place.
  [[nodiscard]] std::size_t QuantizedSize() const {
    const bool delta = place_.layer >= 0 && config_.IsDelta(place_.layer);
    const int mixer = delta ? config_.delta.value_size() : config_.q_size();
    const int size = place_.point == TracePoint::kAttnSubNorm  ? mixer
                     : place_.point == TracePoint::kFfnSubNorm ? config_.intermediate_size
                                                               : config_.hidden_size;
    return static_cast<std::size_t>(size);
  }

  /// int8 numbers of an input (kernels::FloatOps::quantize_digits).
  [[nodiscard]] std::size_t Digits() const noexcept { return config_.activation_bits > 8 ? 2 : 1; }

  static std::vector<float> Floats(std::span<const std::byte> bytes) {
    std::vector<float> values(bytes.size() / sizeof(float));
    if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
    return values;
  }

  /// The bytes are int8 values, then one scale to divide by, or one to multiply with for each
  /// group. Where there are two digits, the high values stand first, then the low ones, then the
  /// scales of the high ones, then those of the low ones.
  [[nodiscard]] std::vector<float> Dequantized(std::span<const std::byte> bytes,
                                               std::size_t size) const {
    const std::vector<float> scales = Floats(bytes.subspan(Digits() * size));
    std::vector<float> values(size);
    for (std::size_t i = 0; i < Digits() * size; ++i) {
      const auto value = static_cast<float>(static_cast<std::int8_t>(bytes[i]));
      const std::size_t group =
          i / size * scales.size() / Digits() + i % size / kernels::kGroupCols;
      values[i % size] += scales.size() == 1 ? value / scales[0] : value * scales[group];
    }
    return values;
  }

  void Keep(Operation operation, std::vector<float> values) {
    if (values.empty()) return;
    TraceStep& step = trace_.at(StepOf(place_.layer, operation, trace_.num_layers),
                                static_cast<std::size_t>(place_.position));
    step = Summarise(values);
    if (options_.values) step.values = std::move(values);
  }

  const model::ModelConfig& config_;
  const TraceOptions& options_;
  Trace& trace_;
  TracePlace place_{};
  std::vector<std::byte> bytes_;
};

}  // namespace

std::string_view OperationName(Operation operation) noexcept {
  return kNames[static_cast<std::size_t>(operation)];
}

std::optional<Operation> OperationOf(std::string_view name) noexcept {
  const auto found = std::ranges::find(kNames, name);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<Operation>(found - kNames.begin());
}

std::uint64_t SignBits(std::uint64_t i) noexcept {
  std::uint64_t z = i + 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

TraceStep Summarise(std::span<const float> values) {
  TraceStep step{.count = values.size(), .hash = {}};
  if (values.empty()) return step;
  step.hash = HashOf(std::as_bytes(values));
  step.least = step.most = static_cast<double>(values[0]);
  std::size_t zeros = 0;
  double squares = 0, sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto value = static_cast<double>(values[i]);
    sum += value;
    squares += value * value;
    step.least = std::min(step.least, value);
    step.most = std::max(step.most, value);
    zeros += value == 0 ? 1 : 0;
    if (value == 0) continue;
    const std::uint64_t bits = SignBits(i);
    for (std::size_t k = 0; k < kSketch; ++k)
      step.sketch[k] += (bits >> k & 1) != 0 ? value : -value;
  }
  const auto count = static_cast<double>(values.size());
  step.norm = std::sqrt(squares);
  step.mean = sum / count;
  step.zeros = static_cast<double>(zeros) / count;
  return step;
}

Result<Trace> RunTrace(const std::shared_ptr<const runtime::LoadedModel>& model,
                       std::span<const TokenId> tokens, const TraceOptions& options) {
  Trace trace{.program = options.program,
              .kv = std::string(request::ChoiceNameOf(request::kKvTypes, options.kv_type)),
              .isa = std::string(kernels::IsaName(
                  kernels::KernelOf(*model->model.weights().kernels, "float32").isa)),
              .num_layers = model->model.config().num_layers,
              .tokens = {tokens.begin(), tokens.end()},
              .steps = {}};
  trace.steps.resize(NumSteps(trace.num_layers) * tokens.size());
  auto session = BITTERN_TRY(
      runtime::Session::Create(model, {.context_length = static_cast<int>(tokens.size()),
                                       .kv_type = options.kv_type,
                                       .num_threads = options.num_threads}));
  TraceRecorder recorder(model->model.config(), options, &trace);
  session.SetTracer(&recorder);
  BITTERN_TRY(session.PrefillAll(tokens, [](int, std::span<const float>) {}));
  session.SetTracer(nullptr);
  recorder.Finish();
  return trace;
}

}  // namespace bittern::proof
