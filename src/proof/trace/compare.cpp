// SPDX-License-Identifier: Apache-2.0
// If every input of an operation is the same in both traces, any difference of its result beyond
// one rounding is its own. Where inputs differ, the operation may carry that on, somewhat enlarged:
// int8 values flip by a step near ties, a softmax makes more of small differences. What exceeds
// that is the operation's own fault. The factors are generous: programs that compute the same
// network stay within them (docs/trace.md), and a planted fault of a few per cent does not.
#include "proof/trace/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace bittern::proof {
namespace {

using enum Operation;

constexpr double kSameFloats = 1e-5;  // two orders of adding floats
constexpr double kSoftmax = 12;       // how much more a softmax makes of differences
constexpr double kSeen = 1e-12;       // less than this is nothing

/// One rounding of the coarser of both programs, as a share of a value.
double FloorOf(const Trace& a, const Trace& b) {
  const auto one = [](const std::string& precision) {
    if (precision == "bfloat16") return 4.0 / 256;
    if (precision == "float16") return 4.0 / 2048;
    return kSameFloats;
  };
  return std::max(one(a.precision), one(b.precision));
}

/// The difference that attention may have if keys and values are kept in other types.
double KvFloorOf(const Trace& a, const Trace& b) {
  if (a.kv == b.kv) return 0;
  return a.kv == "i8" || b.kv == "i8" ? 0.5 : 0.03;
}

class Comparer {
 public:
  Comparer(const Trace& a, const Trace& b) : a_(a), b_(b) {}
  Result<TraceComparison> Run();

 private:
  [[nodiscard]] bool Both(std::size_t step, std::size_t position) const {
    const TraceStep &a = a_.at(step, position), &b = b_.at(step, position);
    return a.count != 0 && a.count == b.count;
  }
  /// Euclidean distance.
  [[nodiscard]] double Apart(std::size_t step, std::size_t position) const;
  /// The same as a share of the norm in A; 0 where the operation is not in both traces.
  [[nodiscard]] double Relative(int layer, Operation operation, std::size_t position) const;
  /// The largest share of any input's distance.
  [[nodiscard]] double InputsOf(int layer, Operation operation, std::size_t position) const;
  [[nodiscard]] double Tolerance(int layer, Operation operation, std::size_t position) const;
  /// The operation that holds the residual stream before the layer.
  [[nodiscard]] double StreamBefore(int layer, std::size_t position) const {
    return layer == 0 ? Relative(-1, kEmbedding, position)
                      : Relative(layer - 1, kFfnResidual, position);
  }
  [[nodiscard]] TraceDifference At(std::size_t step, std::size_t position) const;
  void Say(TraceComparison* found) const;

  const Trace &a_, &b_;
  double floor_ = FloorOf(a_, b_);
};

/// The same bits have one hash. Whole values are subtracted; of traces that kept sketches alone,
/// the mean of the squared differences stands for the squared distance (trace.hpp).
double Comparer::Apart(std::size_t step, std::size_t position) const {
  const TraceStep &a = a_.at(step, position), &b = b_.at(step, position);
  if (!a.hash.empty() && a.hash == b.hash) return 0;
  double squares = 0;
  if (!a.values.empty() && a.values.size() == b.values.size()) {
    for (std::size_t i = 0; i < a.values.size(); ++i) {
      const double d = static_cast<double>(a.values[i]) - static_cast<double>(b.values[i]);
      squares += d * d;
    }
    return std::sqrt(squares);
  }
  for (std::size_t k = 0; k < kSketch; ++k) {
    const double d = a.sketch[k] - b.sketch[k];
    squares += d * d / kSketch;
  }
  return std::sqrt(squares);
}

/// Infinite where one side is not a number, so that it exceeds every tolerance.
double Comparer::Relative(int layer, Operation operation, std::size_t position) const {
  const std::size_t step = StepOf(layer, operation, a_.num_layers);
  if (!Both(step, position)) return 0;
  const double apart = Apart(step, position), norm = a_.at(step, position).norm;
  if (std::isnan(apart)) return std::numeric_limits<double>::infinity();
  return apart == 0 ? 0 : apart / std::max(norm, 1e-30);
}

/// A matrix reads quantised values, but another program may have none, and rounding hides small
/// differences of the floats behind them: both count. Attention at position p has read all
/// positions up to p.
double Comparer::InputsOf(int layer, Operation operation, std::size_t p) const {
  const auto of = [&](Operation input) { return Relative(layer, input, p); };
  switch (operation) {
    case kEmbedding:
      return 0;
    case kAttnNorm:
      return StreamBefore(layer, p);
    case kQkvInput:
      return of(kAttnNorm);
    case kQkvProj:
      return std::max(of(kQkvInput), of(kAttnNorm));
    case kRope:
      return of(kQkvProj);
    case kAttention: {
      double most = 0;
      for (std::size_t i = 0; i <= p; ++i) {
        most = std::max({most, Relative(layer, kRope, i), Relative(layer, kQkvProj, i)});
      }
      return most;
    }
    case kAttnSubNorm:
      return of(kAttention);
    case kOInput:
      return std::max(of(kAttnSubNorm), of(kAttention));
    case kOProj:
      return std::max(of(kOInput), of(kAttnSubNorm));
    case kAttnResidual:
      return std::max(of(kOProj), StreamBefore(layer, p));
    case kFfnNorm:
      return of(kAttnResidual);
    case kGateUpInput:
      return of(kFfnNorm);
    case kGate:
      return std::max(of(kGateUpInput), of(kFfnNorm));
    case kAct:
      return std::max({of(kGate), of(kGateUpInput), of(kFfnNorm)});
    case kFfnSubNorm:
      return of(kAct);
    case kDownInput:
      return std::max(of(kFfnSubNorm), of(kAct));
    case kDownProj:
      return std::max(of(kDownInput), of(kFfnSubNorm));
    case kFfnResidual:
      return std::max(of(kDownProj), of(kAttnResidual));
    case kFinalNorm:
      return StreamBefore(a_.num_layers, p);
    case kHead:
      return Relative(-1, kFinalNorm, p);
  }
  return 0;
}

/// A rounding of its own, and what the inputs' difference may grow to. The factors stand in
/// docs/trace.md.
double Comparer::Tolerance(int layer, Operation operation, std::size_t p) const {
  const double inputs = InputsOf(layer, operation, p);
  const double carried = std::max(inputs, floor_);
  const auto norm = [&](int of_layer, Operation of) {
    return a_.at(StepOf(of_layer, of, a_.num_layers), p).norm;
  };
  switch (operation) {
    case kQkvInput:
    case kOInput:
    case kGateUpInput:
    case kDownInput: {
      if (inputs <= kSeen) return floor_;
      // Values within the difference of a tie flip by a whole step.
      const TraceStep& own = a_.at(StepOf(layer, operation, a_.num_layers), p);
      const double largest = std::max(std::abs(own.least), std::abs(own.most));
      const double rms =
          own.norm / std::sqrt(static_cast<double>(std::max<std::size_t>(own.count, 1)));
      const double step = rms > 0 ? largest / 127 / rms : 0;
      return floor_ + 2 * carried + 2 * std::sqrt(carried * step);
    }
    case kAttention:
      return floor_ + KvFloorOf(a_, b_) + kSoftmax * (inputs <= kSeen ? 0 : carried);
    case kAttnResidual:
    case kFfnResidual: {
      // Terms may cancel: what counts is how far they are apart, not their shares.
      const bool first = operation == kAttnResidual;
      const Operation added = first ? kOProj : kDownProj;
      const double stream =
          first ? (layer == 0 ? norm(-1, kEmbedding) : norm(layer - 1, kFfnResidual))
                : norm(layer, kAttnResidual);
      const double before = first ? StreamBefore(layer, p) : Relative(layer, kAttnResidual, p);
      const double apart = before * stream + Relative(layer, added, p) * norm(layer, added);
      return floor_ + 2 * apart / std::max(norm(layer, operation), 1e-30);
    }
    case kRope:  // the cache's rounding of q and k
      return floor_ + KvFloorOf(a_, b_) / 10 + 8 * (inputs <= kSeen ? 0 : carried);
    case kAct:
      return floor_ + 16 * (inputs <= kSeen ? 0 : carried);
    case kEmbedding:
      return floor_;
    default:
      return floor_ + 8 * (inputs <= kSeen ? 0 : carried);
  }
}

TraceDifference Comparer::At(std::size_t step, std::size_t position) const {
  const auto [layer, operation] = PlaceOf(step, a_.num_layers);
  TraceDifference difference{layer,
                             operation,
                             static_cast<int>(position),
                             Relative(layer, operation, position),
                             InputsOf(layer, operation, position),
                             Tolerance(layer, operation, position),
                             std::nullopt};
  const TraceStep &a = a_.at(step, position), &b = b_.at(step, position);
  if (!a.values.empty() && a.values.size() == b.values.size()) {
    double most = 0;
    for (std::size_t i = 0; i < a.values.size(); ++i) {
      most = std::max(
          most, std::abs(static_cast<double>(a.values[i]) - static_cast<double>(b.values[i])));
    }
    difference.largest = most;
  }
  return difference;
}

std::string PlaceText(const TraceDifference& d) {
  const std::string where = d.layer < 0 ? "" : fmt::format("layer {}, ", d.layer);
  return fmt::format("{}{}, position {}", where, OperationName(d.operation), d.position);
}

void Comparer::Say(TraceComparison* found) const {
  if (found->likeness == Likeness::kIdentical) {
    found->summary =
        fmt::format("All {} results that both traces have are the same.", found->compared);
  } else if (found->likeness == Likeness::kRounding) {
    found->summary = fmt::format(
        "Rounding explains all differences: they begin at {} and are {:.2g} of a result at most "
        "({}).",
        PlaceText(*found->first), found->largest->distance, PlaceText(*found->largest));
  } else {
    const TraceDifference& d = *found->first;
    found->summary = fmt::format(
        "The first operation that differs is {}: its result is {:.3g} of its size apart, its "
        "inputs "
        "{:.2g}; rounding explains {:.2g}.",
        PlaceText(d), d.distance, d.inputs, d.tolerance);
  }
}

/// Steps in the order of the pass: the first that exceeds its tolerance is the fault, and those
/// after it carry it on. Without a fault, the first that differs at all is told.
Result<TraceComparison> Comparer::Run() {
  if (a_.tokens != b_.tokens || a_.num_layers != b_.num_layers) {
    return Fail(
        ErrorCode::kInvalidArgument,
        fmt::format("traces of the same tokens expected, {} tokens of {} layers and other {} "
                    "tokens of {} layers found",
                    a_.tokens.size(), a_.num_layers, b_.tokens.size(), b_.num_layers));
  }
  TraceComparison found;
  found.distances.assign(a_.steps.size(), -1);
  bool beyond = false;
  for (std::size_t step = 0; step < NumSteps(a_.num_layers); ++step) {
    for (std::size_t p = 0; p < a_.tokens.size(); ++p) {
      if (!Both(step, p)) continue;
      ++found.compared;
      const auto [layer, operation] = PlaceOf(step, a_.num_layers);
      const double distance = Relative(layer, operation, p);
      found.distances[step * a_.tokens.size() + p] = distance;
      if (distance == 0) continue;
      if (!found.largest || distance > found.largest->distance) found.largest = At(step, p);
      const bool own = !beyond && distance > Tolerance(layer, operation, p);
      if (own || !found.first) found.first = At(step, p);
      beyond = beyond || own;
    }
  }
  if (found.compared == 0) {
    return Fail(ErrorCode::kInvalidArgument, "the traces have no operation in common");
  }
  found.likeness = beyond        ? Likeness::kDifferent
                   : found.first ? Likeness::kRounding
                                 : Likeness::kIdentical;
  Say(&found);
  return found;
}

}  // namespace

std::string_view LikenessName(Likeness likeness) noexcept {
  switch (likeness) {
    case Likeness::kIdentical:
      return "identical";
    case Likeness::kRounding:
      return "rounding";
    case Likeness::kDifferent:
      return "different";
  }
  return "";
}

Result<TraceComparison> CompareTraces(const Trace& a, const Trace& b) {
  return Comparer(a, b).Run();
}

}  // namespace bittern::proof
