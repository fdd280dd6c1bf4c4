// SPDX-License-Identifier: Apache-2.0
// A layout says where in the bytes a weight lies. So zeros are counted once, by byte and bit field,
// and the counts are then added up as each layout has them.
#include "formats/i2s_detector.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "formats/network_tensors.hpp"

namespace bittern::formats {
namespace {

using quant::TernaryLayout;

constexpr int kMaxLayers = 4;          // looked at; the first layers have the most dead neurons
constexpr double kLeastSigmas = 6;     // of the noise of a mean correlation, 1 / sqrt(neurons)
constexpr double kLeast = 0.1;         // whatever the number of neurons
constexpr double kTrainedFrom = 1.25;  // dispersion of rows

using Counts = std::vector<std::uint32_t>;

/// 1 where bit field `field` (0: bits 7-6) of a byte is the code of zero.
constexpr std::uint32_t IsZero(std::byte byte, unsigned field) {
  return (std::to_integer<unsigned>(byte) >> (6 - 2 * field) & 3) == 1;
}

/// Zeros by field in each of consecutive runs of `run` bytes: [run][field].
Counts CountByRun(std::span<const std::byte> bytes, std::size_t run) {
  Counts counts;
  for (std::size_t begin = 0; begin < bytes.size(); begin += run) {
    for (unsigned field = 0; field < 4; ++field) {
      std::uint32_t zeros = 0;
      for (const std::byte byte : bytes.subspan(begin, run)) zeros += IsZero(byte, field);
      counts.push_back(zeros);
    }
  }
  return counts;
}

/// Zeros by field at each place of runs of `run` bytes: [field][place].
Counts CountByPlace(std::span<const std::byte> bytes, std::size_t run) {
  Counts counts(4 * run);
  for (std::size_t begin = 0; begin < bytes.size(); begin += run) {
    const std::byte* in = bytes.data() + begin;
    for (unsigned field = 0; field < 4; ++field) {
      std::uint32_t* zeros = counts.data() + field * run;
      for (std::size_t i = 0; i < run; ++i) zeros[i] += IsZero(in[i], field);
    }
  }
  return counts;
}

/// A tensor's codes without the tail that holds its scale.
std::span<const std::byte> CodesOf(const Tensor& tensor) {
  return tensor.bytes.first(tensor.num_elements() / 4);
}

/// Zeros in each row, from those of the bytes of a row. Layouts other than row4 all keep a row in
/// consecutive bytes.
Counts RowZeros(const Counts& runs, bool row4) {
  Counts zeros(runs.size() / 4);
  for (std::size_t row = 0; row < zeros.size(); ++row) {
    for (std::size_t i = 0; i < 4; ++i) {
      zeros[row] += row4 ? runs[(row / 4 * 4 + i) * 4 + row % 4] : runs[row * 4 + i];
    }
  }
  return zeros;
}

/// Zeros in each column, from those by place in the bytes of four rows.
Counts ColumnZeros(const Counts& places, TernaryLayout layout) {
  const std::size_t cols = places.size() / 4;
  const std::size_t stride = layout == TernaryLayout::kI2sX86   ? 32
                             : layout == TernaryLayout::kI2sArm ? 16
                                                                : 1;
  Counts zeros(cols);
  for (std::size_t i = 0; i < places.size(); ++i) {
    const std::size_t field = i / cols, place = i % (cols / 4);
    const std::size_t column = layout == TernaryLayout::kI2sRow4
                                   ? i % cols
                                   : (place / stride * 4 + field) * stride + place % stride;
    zeros[column] += places[i];
  }
  return zeros;
}

/// Mean and variance of counts.
struct Moments {
  double mean = 0, variance = 0;
};

Moments MomentsOf(const Counts& counts) {
  Moments moments;
  for (const std::uint32_t count : counts) moments.mean += count;
  moments.mean /= static_cast<double>(counts.size());
  for (const std::uint32_t count : counts) {
    moments.variance += (count - moments.mean) * (count - moments.mean);
  }
  moments.variance /= static_cast<double>(counts.size());
  return moments;
}

/// Pearson's; 0 where one of the two does not vary.
double Correlation(const Counts& a, const Counts& b) {
  const Moments of_a = MomentsOf(a), of_b = MomentsOf(b);
  if (of_a.variance == 0 || of_b.variance == 0) return 0;
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - of_a.mean) * (b[i] - of_b.mean);
  return sum / static_cast<double>(a.size()) / std::sqrt(of_a.variance * of_b.variance);
}

/// The variance of counts over that of `weights` independent ones each.
double Dispersion(const Counts& counts, std::size_t weights) {
  const auto [mean, variance] = MomentsOf(counts);
  const double expected = mean * (1 - mean / static_cast<double>(weights));
  return expected > 0 ? variance / expected : 0;
}

/// The three matrices of a layer's feed-forward part.
struct FeedForward {
  const Tensor* gate = nullptr;
  const Tensor* up = nullptr;
  const Tensor* down = nullptr;
};

/// The three matrices of a layer if they are I2_S and fit each other.
std::optional<FeedForward> FindLayer(const Checkpoint& checkpoint, int layer) {
  const auto find = [&](TensorId id) -> const Tensor* {
    const Tensor* tensor = checkpoint.Find(TensorName(id, layer));
    const bool fits = tensor != nullptr && tensor->format == quant::WeightFormat::kI2_S &&
                      tensor->rows() % 4 == 0 && tensor->row_elements() % 4 == 0 &&
                      tensor->num_elements() != 0;
    return fits ? tensor : nullptr;
  };
  const FeedForward found{find(TensorId::kFfnGate), find(TensorId::kFfnUp),
                          find(TensorId::kFfnDown)};
  if (found.gate == nullptr || found.up == nullptr || found.down == nullptr) return std::nullopt;
  if (found.gate->shape != found.up->shape || found.gate->rows() != found.down->row_elements()) {
    return std::nullopt;
  }
  return found;
}

bool Fits(const Tensor& tensor, TernaryLayout layout) {
  return quant::CodecOf(layout).check(tensor.rows(), tensor.row_elements(), {}).has_value();
}

/// Zeros in the rows of gate and up together.
Counts NeuronZeros(const Counts& gate_runs, const Counts& up_runs, bool row4) {
  Counts zeros = RowZeros(gate_runs, row4);
  const Counts up = RowZeros(up_runs, row4);
  for (std::size_t i = 0; i < zeros.size(); ++i) zeros[i] += up[i];
  return zeros;
}

/// Adds one layer's correlations and dispersion to the sums in `evidence`.
void AddLayer(const FeedForward& layer, I2sEvidence* evidence) {
  const std::size_t hidden = layer.gate->row_elements(), neurons = layer.gate->rows();
  const Counts gate = CountByRun(CodesOf(*layer.gate), hidden / 4);
  const Counts up = CountByRun(CodesOf(*layer.up), hidden / 4);
  const Counts down = CountByPlace(CodesOf(*layer.down), neurons);
  const Counts by_bytes = NeuronZeros(gate, up, false), as_row4 = NeuronZeros(gate, up, true);
  evidence->neurons += neurons;
  evidence->dispersion +=
      std::max(Dispersion(by_bytes, 2 * hidden), Dispersion(as_row4, 2 * hidden));
  for (std::size_t i = 0; i < kI2sLayouts.size(); ++i) {
    const TernaryLayout layout = kI2sLayouts[i];
    if (!Fits(*layer.gate, layout) || !Fits(*layer.down, layout)) continue;
    evidence->correlation[i] += Correlation(layout == TernaryLayout::kI2sRow4 ? as_row4 : by_bytes,
                                            ColumnZeros(down, layout));
  }
}

}  // namespace

/// The layout whose correlation is far above chance and twice that of any other; else nullopt.
std::optional<TernaryLayout> I2sEvidence::Layout() const {
  const auto best = std::ranges::max_element(correlation);
  const double least = std::max(
      kLeast, kLeastSigmas / std::sqrt(static_cast<double>(std::max<std::size_t>(neurons, 1))));
  if (*best < least) return std::nullopt;
  for (const double& other : correlation) {
    // x86-128 and arm-64 agree about a quarter of the columns, so a quarter is expected there.
    if (&other != best && other > *best / 2) return std::nullopt;
  }
  return kI2sLayouts[static_cast<std::size_t>(best - correlation.begin())];
}

bool I2sEvidence::LooksTrained() const { return dispersion >= kTrainedFrom; }

/// A neuron that is nearly dead has zeros in its rows of gate and up and in its column of down.
/// Only under the true layout do the two agree.
I2sEvidence WeighI2sLayouts(const Checkpoint& checkpoint) {
  I2sEvidence evidence;
  int layers = 0;
  for (; layers < kMaxLayers; ++layers) {
    const auto layer = FindLayer(checkpoint, layers);
    if (!layer) break;
    AddLayer(*layer, &evidence);
  }
  if (layers == 0) return evidence;
  evidence.dispersion /= layers;
  for (double& sum : evidence.correlation) sum /= layers;
  return evidence;
}

}  // namespace bittern::formats
