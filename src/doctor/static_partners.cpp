// SPDX-License-Identifier: Apache-2.0
// Matrices of a feed-forward part go together: a neuron's row of gate, its row of up and its column
// of down are like each other in which of the stream's dimensions they use, far more than the rows
// of two neurons are. A matrix whose rows were moved, shifted or taken from another layer or file
// has lost that, and no other layer has. All ternary formats. One thread.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "doctor/static_checks.hpp"
#include "formats/network_tensors.hpp"
#include "formats/ternary_source.hpp"

namespace bittern::doctor {
namespace {

using formats::Checkpoint;
using formats::TensorId;
using formats::TensorName;

constexpr std::size_t kMostNeurons = 768, kMostDims = 512;  // looked at, evenly spread
constexpr int kLeastLayers = 4;
/// In units of chance. Measured over the models of this repository: gate and up 18 to 112, those
/// two with down 4 to 76, zeros in them with zeros in down 5 to 31; what was moved or exchanged 2
/// at most. Where it is little everywhere, chance alone could hide it in one layer.
constexpr double kLost = 2.5, kThere = 8, kLeastThere = 3.5, kZerosLost = 3.5;
constexpr std::array<std::size_t, 6> kOthers = {1, 2, 3, 5, 7, 11};  // neurons to compare with

/// TableSigns of weights: a row for each neuron, a column for each dimension of the stream.
struct TableSigns {
  std::size_t neurons = 0, dims = 0;
  std::vector<std::int8_t> values;
  [[nodiscard]] const std::int8_t* row(std::size_t neuron) const {
    return values.data() + neuron * dims;
  }
};

std::vector<std::size_t> Spread(std::size_t count, std::size_t most) {
  std::vector<std::size_t> places(std::min(count, most));
  for (std::size_t i = 0; i < places.size(); ++i) places[i] = i * count / places.size();
  return places;
}

/// `by_column`: neurons are columns, as in down.
std::optional<TableSigns> Read(formats::TernaryOpener* opener, const formats::Tensor* tensor,
                               bool by_column) {
  if (tensor == nullptr) return std::nullopt;
  const auto source = opener->Open(*tensor);
  if (!source) return std::nullopt;
  const auto neurons = Spread(by_column ? source->cols() : source->rows(), kMostNeurons);
  const auto dims = Spread(by_column ? source->rows() : source->cols(), kMostDims);
  TableSigns signs{neurons.size(), dims.size(),
                   std::vector<std::int8_t>(neurons.size() * dims.size())};
  std::vector<std::uint8_t> codes(source->cols());
  std::vector<float> scales(source->scales_per_row());
  const auto& rows = by_column ? dims : neurons;
  const auto& cols = by_column ? neurons : dims;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    if (!source->ReadRows(rows[r], 1, codes.data(), scales.data())) return std::nullopt;
    for (std::size_t c = 0; c < cols.size(); ++c) {
      const std::size_t place = by_column ? c * dims.size() + r : r * dims.size() + c;
      signs.values[place] = static_cast<std::int8_t>(codes[cols[c]] - 1);
    }
  }
  return signs;
}

/// A part of the neurons and dimensions.
struct Window {
  std::size_t first_neuron, neurons, first_dim, dims;
};

/// How far a sum of products is from what chance gives, for one pair of rows.
double Resemblance(const std::int8_t* a, const std::int8_t* b, const Window& window) {
  int sum = 0, count = 0;
  for (std::size_t i = window.first_dim; i < window.first_dim + window.dims; ++i) {
    const int product = a[i] * b[i];
    sum += product;
    count += product * product;
  }
  return std::log1p(static_cast<double>(sum) * sum / std::max(count, 1));
}

/// How much more a neuron's own rows are like each other than those of two neurons, in units of
/// chance.
double Together(const TableSigns& a, const TableSigns& b, const Window& window) {
  double own = 0, others = 0, squares = 0;
  for (std::size_t i = 0; i < window.neurons; ++i) {
    const std::int8_t* row = a.row(window.first_neuron + i);
    own += Resemblance(row, b.row(window.first_neuron + i), window);
    for (const std::size_t away : kOthers) {
      const std::size_t other = window.first_neuron + (i + away) % window.neurons;
      const double x = Resemblance(row, b.row(other), window);
      others += x;
      squares += x * x;
    }
  }
  const auto n = static_cast<double>(window.neurons);
  const double mean = others / (n * kOthers.size());
  const double variance = squares / (n * kOthers.size()) - mean * mean;
  return (own / n - mean) / std::sqrt(std::max(variance, 1e-9) / n);
}

/// How the numbers of zeros of the neurons' rows go together, in units of chance.
double ZerosTogether(const TableSigns& a, const TableSigns& b) {
  double sa = 0, sb = 0, saa = 0, sbb = 0, sab = 0;
  for (std::size_t i = 0; i < a.neurons; ++i) {
    const auto zeros = [&](const TableSigns& signs) {
      return static_cast<double>(std::count(signs.row(i), signs.row(i) + signs.dims, 0));
    };
    const double x = zeros(a), y = zeros(b);
    sa += x;
    sb += y;
    saa += x * x;
    sbb += y * y;
    sab += x * y;
  }
  const auto n = static_cast<double>(a.neurons);
  const double spread = std::sqrt((saa - sa * sa / n) * (sbb - sb * sb / n));
  return spread > 0 ? (sab - sa * sb / n) / spread * std::sqrt(n) : 0;
}

/// How a layer's matrices go together, whole and by halves of neurons and of dimensions.
struct LayerBonds {
  static constexpr std::size_t kWindows = 5;
  struct Bonds {
    double gate_up = 0, gate_down = 0, up_down = 0;
    [[nodiscard]] double down() const { return (gate_down + up_down) / std::sqrt(2.0); }
  };
  std::array<Bonds, kWindows> windows;
  double zeros = 0;  ///< the better of gate and up with down
};

/// Measures how well gate, up and down of a layer go together; nullopt where one is missing or the
/// shapes do not fit.
std::optional<LayerBonds> BondsOf(const Checkpoint& file, formats::TernaryOpener* opener,
                                  int layer) {
  const auto find = [&](TensorId id) { return file.Find(TensorName(id, layer)); };
  const auto gate = Read(opener, find(TensorId::kFfnGate), false),
             up = Read(opener, find(TensorId::kFfnUp), false),
             down = Read(opener, find(TensorId::kFfnDown), true);
  if (!gate || !up || !down) return std::nullopt;
  const std::size_t n = gate->neurons, d = gate->dims;
  if (up->neurons != n || down->neurons != n || up->dims != d || down->dims != d || n < 64) {
    return std::nullopt;
  }
  const std::array<Window, LayerBonds::kWindows> windows = {{{0, n, 0, d},
                                                             {0, n / 2, 0, d},
                                                             {n / 2, n - n / 2, 0, d},
                                                             {0, n, 0, d / 2},
                                                             {0, n, d / 2, d - d / 2}}};
  LayerBonds bonds;
  bonds.zeros = std::max(ZerosTogether(*gate, *down), ZerosTogether(*up, *down));
  for (std::size_t w = 0; w < windows.size(); ++w) {
    bonds.windows[w] = {Together(*gate, *up, windows[w]), Together(*gate, *down, windows[w]),
                        Together(*up, *down, windows[w])};
  }
  return bonds;
}

/// Whether this layer alone has lost what `value` tells.
template <class Value>
bool OnlyLost(const std::vector<LayerBonds>& layers, std::size_t layer, double lost, double there,
              const Value& value) {
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const double own = value(layers[i]);
    if (i == layer ? own >= lost : own < there) return false;
  }
  return true;
}

constexpr const char* kPlaces[] = {
    "", " in the first half of its rows", " in the second half of its rows",
    " in the first half of its columns", " in the second half of its columns"};

/// Which matrix of a layer does not go with the others, and where; empty: all do.
std::string LostIn(const std::vector<LayerBonds>& layers, std::size_t layer) {
  for (std::size_t w = 0; w < LayerBonds::kWindows; ++w) {
    const auto gate_up = [w](const LayerBonds& b) { return b.windows[w].gate_up; };
    const auto down = [w](const LayerBonds& b) { return b.windows[w].down(); };
    const LayerBonds::Bonds& own = layers[layer].windows[w];
    if (OnlyLost(layers, layer, kLost, kThere, gate_up)) {
      const char* kind = own.gate_down > own.up_down ? "ffn_up" : "ffn_gate";
      if (own.down() < kLost) kind = "ffn_gate (or ffn_up)";
      return fmt::format("blk.{}.{}{}", layer, kind, kPlaces[w]);
    }
    const bool zeros_lost = w == 0 && layers[layer].zeros < kZerosLost;
    if (OnlyLost(layers, layer, kLost, zeros_lost ? kLeastThere : kThere, down)) {
      const std::size_t turned = w == 0 ? 0 : w < 3 ? w + 2 : w - 2;  // neurons are its columns
      return fmt::format("blk.{}.ffn_down{}", layer, kPlaces[turned]);
    }
  }
  return "";
}

}  // namespace

std::vector<Cure> CheckPartners(const Checkpoint& file) {
  Decisions ignored;
  auto opener = formats::TernaryOpener::Create(file, &ignored);
  if (!opener) return {};
  std::vector<LayerBonds> layers;
  for (int i = 0; file.Find(TensorName(TensorId::kFfnGate, i)) != nullptr; ++i) {
    const auto bonds = BondsOf(file, &*opener, i);
    if (!bonds) return {};
    layers.push_back(*bonds);
  }
  std::vector<Cure> cures;
  if (layers.size() < kLeastLayers) return cures;
  for (std::size_t layer = 0; layer < layers.size(); ++layer) {
    const std::string where = LostIn(layers, layer);
    if (where.empty()) continue;
    cures.push_back(
        {{"foreign_matrix", fmt::format("A matrix holds other weights than its own: {}.", where),
          "In all other layers the neurons' rows and columns of gate, up and down are like each "
          "other; there they are not.",
          "nothing in the file can bring this back: fetch or make the file again", false},
         {}});
  }
  return cures;
}

}  // namespace bittern::doctor
