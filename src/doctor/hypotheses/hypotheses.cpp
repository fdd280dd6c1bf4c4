// SPDX-License-Identifier: Apache-2.0
// One idea a function. One thread.
#include "doctor/hypotheses/hypotheses.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "doctor/facts/tensor_facts.hpp"
#include "doctor/hypotheses/subject.hpp"
#include "formats/i2s_detector.hpp"

namespace bittern::doctor {
namespace {

using formats::Checkpoint;
using formats::Tensor;
using formats::TensorId;
using formats::TensorKindName;
using formats::TensorName;
using quant::WeightFormat;

/// Proposes each order of I2_S weights that the file does not state; its type id is one for all.
void I2sLayouts(const Subject& s) {
  if (!s.HasI2s()) return;
  struct Layout {
    const char *name, *maker;
  };
  for (const auto& [name, maker] :
       {Layout{"x86-128", "the official file is"}, Layout{"arm-64", "bitnet.cpp on ARM writes it"},
        Layout{"row4", "bitnet.cpp without ACT_PARALLEL writes it"},
        Layout{"sequential", "some other converters write it"}}) {
    const auto said = s.file.metadata().GetString("ternary.layout");
    if (said && *said == name) continue;
    s.Add(
        {"i2s_layout",
         fmt::format("The ternary weights are ordered as {} ({}), which nothing in the file says.",
                     maker, name),
         fmt::format("read the weights as {}", name), SetKey("ternary.layout", "str", name), true});
  }
}

/// Which code stands for which weight. Codes that occur stand for -1, 0 and 1 in some order.
void CodeMaps(const Subject& s) {
  std::array<std::uint64_t, 4> counts = {};
  std::uint64_t all = 0;
  for (const Tensor& tensor : s.file.tensors()) {
    if (const auto own = CodeCounts(tensor)) {
      for (std::size_t c = 0; c < 4; ++c) counts[c] += (*own)[c];
      all += tensor.num_elements();
    }
  }
  std::vector<unsigned> used;
  for (unsigned c = 0; c < 4; ++c) {
    if (counts[c] > all / 50) used.push_back(c);
  }
  if (used.size() != 3) return;
  // The codes of -1 and 1 are equally common; zero is the one that differs.
  const auto distance = [&](unsigned a, unsigned b) {
    return std::abs(static_cast<double>(counts[a]) - static_cast<double>(counts[b]));
  };
  const auto others_differ = [&](unsigned zero) {
    std::vector<unsigned> rest = used;
    std::erase(rest, zero);
    return distance(rest[0], rest[1]);
  };
  std::ranges::stable_sort(used, {}, others_differ);
  for (const unsigned zero : used) {
    std::vector<unsigned> rest = used;
    std::erase(rest, zero);
    for (int flip = 0; flip < 2; ++flip) {
      const unsigned minus = std::min(rest[0], rest[1]), plus = std::max(rest[0], rest[1]);
      std::array<std::uint8_t, 4> map = {1, 1, 1, 1};
      map[flip == 0 ? minus : plus] = 0;
      map[flip == 0 ? plus : minus] = 2;
      if (map == std::array<std::uint8_t, 4>{0, 1, 2, 1} && counts[3] == 0) continue;
      // Signs cancel in attention, so a model with wrong ones may still make some sense.
      const bool only_signs = map == std::array<std::uint8_t, 4>{2, 1, 0, 1};
      s.Add({"code_map",
             fmt::format(
                 "The codes of the ternary weights mean something else than in other files: {} "
                 "stands for -1, {} for 0 and {} for 1.",
                 flip == 0 ? minus : plus, zero, flip == 0 ? plus : minus),
             "rewrite the codes as 0, 1 and 2", MapCodes(map), !only_signs});
    }
  }
}

/// How far the ratio of the scales of gate and up varies from layer to layer, if each tensor had
/// the scale of the one `shift` places behind it: in trained models hardly. nullopt: too few
/// layers.
std::optional<double> SpreadOfGateToUp(const Subject& s, std::ptrdiff_t shift) {
  std::vector<float> scales;
  std::map<std::string, std::ptrdiff_t> places;
  for (const Tensor& tensor : s.file.tensors()) {
    const auto scale = ScaleOf(tensor);
    if (!scale) continue;
    if (!(*scale > 0)) return std::nullopt;
    places[tensor.name] = static_cast<std::ptrdiff_t>(scales.size());
    scales.push_back(*scale);
  }
  const auto n = static_cast<std::ptrdiff_t>(scales.size());
  const auto scale_at = [&](const std::string& name) {
    return double{scales[static_cast<std::size_t>((places.at(name) + shift + n) % n)]};
  };
  double sum = 0, squares = 0;
  const int layers = s.config.num_layers;
  for (int i = 0; i < layers; ++i) {
    const std::string gate = TensorName(TensorId::kFfnGate, i);
    const std::string up = TensorName(TensorId::kFfnUp, i);
    if (!places.contains(gate) || !places.contains(up)) return std::nullopt;
    const double ratio = std::log(scale_at(gate) / scale_at(up));
    sum += ratio;
    squares += ratio * ratio;
  }
  if (layers < 3) return std::nullopt;
  const double mean = sum / layers;
  return std::sqrt(std::max(0.0, squares / layers - mean * mean));
}

/// Whether the scales themselves say that they belong `shift` places away.
bool ScalesFitShifted(const Subject& s, std::ptrdiff_t shift) {
  constexpr double kMuchLess = 3;
  const auto now = SpreadOfGateToUp(s, 0), then = SpreadOfGateToUp(s, shift);
  return now && then && *then * kMuchLess < *now;
}

void AllScales(const Subject& s) {
  const auto inverted = [](std::size_t i, const std::vector<float>& scales) {
    return scales[i] > 0 ? std::optional(1 / scales[i]) : std::nullopt;
  };
  // A scale is the mean size of a weight, which is below 1.
  const bool all_large = std::ranges::all_of(s.file.tensors(), [](const Tensor& tensor) {
    const auto scale = ScaleOf(tensor);
    return !scale || *scale > 1;
  });
  s.Add({"scales", "The scales of the ternary weights are stored as their reciprocals.",
         "invert the scales", ChangeScales(inverted), false, all_large});
  for (const int shift : {1, -1}) {
    const auto shifted = [shift](std::size_t i, const std::vector<float>& scales) {
      const auto n = static_cast<std::ptrdiff_t>(scales.size());
      const auto from = (static_cast<std::ptrdiff_t>(i) + shift + n) % n;
      return std::optional(scales[static_cast<std::size_t>(from)]);
    };
    s.Add({"scales",
           fmt::format("Every tensor has the scale of the tensor {} it.",
                       shift == 1 ? "before" : "after"),
           "give every tensor its own scale", ChangeScales(shifted), false,
           ScalesFitShifted(s, shift)});
  }
}

/// So many times the scale of the same matrix in the middle layer is no training's work.
constexpr float kAbsurdScale = 8;

/// A scale far from those of the same matrix in other layers.
void OddScales(const Subject& s) {
  std::map<std::string, std::vector<std::pair<std::string, float>>> kinds;
  for (const Tensor& tensor : s.file.tensors()) {
    const auto scale = ScaleOf(tensor);
    if (scale && *scale > 0) kinds[KindOf(tensor.name)].emplace_back(tensor.name, *scale);
  }
  for (auto& [kind, tensors] : kinds) {
    if (tensors.size() < 3) continue;
    std::vector<float> scales;
    for (const auto& [name, scale] : tensors) scales.push_back(scale);
    std::ranges::nth_element(scales,
                             scales.begin() + static_cast<std::ptrdiff_t>(scales.size() / 2));
    const float usual = scales[scales.size() / 2];
    for (const auto& [name, scale] : tensors) {
      const float ratio = scale / usual;
      if (ratio < 4 && ratio > 0.25f) continue;
      const bool likely = ratio > kAbsurdScale || ratio < 1 / kAbsurdScale;
      // Mistakes of known programs come first; factors within a third cannot be told apart.
      std::vector<float> factors = {127, 128, 16, 2, 4, 8, 32, 64, 256, 10, 100, 1000, 1024};
      std::ranges::stable_sort(factors, {}, [&](float factor) {
        const float off = std::abs(std::log(ratio > 1 ? ratio / factor : ratio * factor));
        return std::floor(off / 0.35f);
      });
      for (const float factor : factors) {
        const float wanted = ratio > 1 ? scale / factor : scale * factor;
        if (wanted / usual > 1.8f || wanted / usual < 0.55f) continue;
        s.Add({"scale:" + name,
               fmt::format("The scale of {} is {} times too {}.", name, factor,
                           ratio > 1 ? "large" : "small"),
               fmt::format("{} the scale of {} by {}", ratio > 1 ? "divide" : "multiply", name,
                           factor),
               SetScale(name, wanted), false, likely});
      }
    }
  }
}

/// Proposes the other activation: "bitnet" files are made with either.
void Activations(const Subject& s) {
  const bool relu2 = s.config.activation == model::Activation::kRelu2;
  const std::string key = s.config.architecture + ".hidden_activation";
  s.Add({"activation",
         fmt::format(
             "The network was trained with {}, not with {}, which the file says or lets follow.",
             relu2 ? "SiLU" : "squared ReLU", relu2 ? "squared ReLU" : "SiLU"),
         fmt::format("set {} to {}", key, relu2 ? "silu" : "relu2"),
         SetKey(key, "str", relu2 ? "silu" : "relu2"), false});
}

/// Proposes the other order of q's and k's rows, and the usual bases of the rotation.
void Rotations(const Subject& s) {
  s.Add({"rope_pairing",
         s.config.permuted_qk
             ? "The rows of q and k are not in the order that this architecture's files have."
             : "The rows of q and k were put in an order (pairs of neighbours) that this "
               "architecture's "
               "files do not have.",
         "put the rows of q and k in order",
         SetKey("bittern.rope_pairing", "str", s.config.permuted_qk ? "neox" : "norm"), false});
  const std::string key = s.config.architecture + ".rope.freq_base";
  for (const auto& [base, text] : {std::pair{1e4, "10000"}, {5e5, "500000"}, {1e6, "1000000"}}) {
    if (s.config.rope_theta == base) continue;
    s.Add({"rope_base",
           fmt::format("The base of the rotation is wrong: {} instead of {}.", s.config.rope_theta,
                       text),
           fmt::format("set {} to {}", key, text), SetKey(key, "float", text), false});
  }
}

void Epsilons(const Subject& s) {
  if (s.config.rms_norm_eps <= 2e-5f) return;
  const std::string key = s.config.architecture + ".attention.layer_norm_rms_epsilon";
  s.Add({"rms_epsilon",
         fmt::format("The epsilon of the norms is wrong: {}.", s.config.rms_norm_eps),
         fmt::format("set {} to 1e-05", key), SetKey(key, "float", "1e-05"), false});
}

/// Whether `a` has a larger scale than `b` in all layers but this one, or a smaller one.
bool OrderIsUnlikeOthers(const Subject& s, int layer, TensorId a, TensorId b) {
  int larger = 0, layers = 0;
  bool own = false;
  for (int i = 0; i < s.config.num_layers; ++i) {
    const auto scale_a = ScaleOf(*s.Layer(i, a)), scale_b = ScaleOf(*s.Layer(i, b));
    if (!scale_a || !scale_b) return false;
    if (i == layer) {
      own = *scale_a > *scale_b;
      continue;
    }
    larger += *scale_a > *scale_b ? 1 : 0;
    ++layers;
  }
  return layers >= 3 && larger == (own ? 0 : layers);
}

/// Whether all layers have both.
bool HasBoth(const Subject& s, TensorId a, TensorId b) {
  for (int i = 0; i < s.config.num_layers; ++i) {
    if (s.Layer(i, a) == nullptr || s.Layer(i, b) == nullptr) return false;
  }
  return true;
}

/// Matrices and norms of one shape that converters confuse.
void Exchanges(const Subject& s) {
  constexpr std::pair<TensorId, TensorId> kKinds[] = {{TensorId::kFfnGate, TensorId::kFfnUp},
                                                      {TensorId::kAttnQ, TensorId::kAttnK},
                                                      {TensorId::kAttnK, TensorId::kAttnV},
                                                      {TensorId::kAttnQ, TensorId::kAttnOutput},
                                                      {TensorId::kAttnNorm, TensorId::kFfnNorm}};
  for (const auto& [first, second] : kKinds) {
    if (!SameShape(s.Layer(0, first), s.Layer(0, second))) continue;
    const std::string a = TensorKindName(first), b = TensorKindName(second);
    const std::string factor = fmt::format("exchanged:{}:{}", a, b);
    s.Add({factor, fmt::format("{} and {} are exchanged in all layers.", a, b),
           fmt::format("exchange {} and {}", a, b), ExchangeKinds(a, b), false});
    // No program exchanges q with another matrix in one layer, and a q that was damaged gains by
    // it.
    if (!s.small || first == TensorId::kAttnQ) continue;
    for (int i = 0; i < s.config.num_layers; ++i) {
      const bool both_kinds = first == TensorId::kAttnNorm;
      std::vector<Part> parts = {{i, a.starts_with("attn")}};
      if (both_kinds) parts.push_back({i, false});
      const bool suspect = std::ranges::any_of(
          parts, [&](const Part& part) { return s.IsSuspect(part.layer, part.attention); });
      const bool likely = HasBoth(s, first, second) && OrderIsUnlikeOthers(s, i, first, second);
      if (!suspect && !likely) continue;
      const std::string prefix = fmt::format("blk.{}.", i);
      s.Add({factor, fmt::format("{0}{1} and {0}{2} are exchanged.", prefix, a, b),
             fmt::format("exchange {0}{1} and {0}{2}", prefix, a, b),
             ExchangeTensors(prefix + a, prefix + b), false, likely, false, parts});
    }
  }
}

/// Norms as some other programs keep them: the distance from 1.
void NormOffsets(const Subject& s) {
  double sum = 0;
  int count = 0;
  for (const Tensor& tensor : s.file.tensors()) {
    const auto mean = MeanOf(tensor);
    if (!mean || tensor.name.find("norm") == std::string::npos) continue;
    sum += *mean;
    ++count;
  }
  if (count == 0 || std::abs(sum / count) > 0.4) return;
  s.Add({"norm_offset", "The norms are stored as their distance from 1.", "add 1 to the norms",
         ChangeNorms([](float x) { return x + 1; }), true});
}

void OutputHead(const Subject& s) {
  const Tensor *head = s.file.Find(TensorName(TensorId::kOutput)),
               *embedding = s.file.Find(TensorName(TensorId::kTokenEmbd));
  if (!SameShape(head, embedding)) return;
  s.Add({"output_head", "output.weight is not this model's head, which is its embedding.",
         "leave output.weight out", DropTensor(TensorName(TensorId::kOutput)), true});
}

/// Proposes that two neighbours are exchanged. Only for small models, as there is a trial for each
/// pair.
void NeighbouringLayers(const Subject& s) {
  if (!s.small) return;
  for (int i = 0; i + 1 < s.config.num_layers; ++i) {
    s.Add({"layers", fmt::format("Layers {} and {} are exchanged.", i, i + 1),
           fmt::format("exchange layers {} and {}", i, i + 1),
           [i](Checkpoint* file) -> Result<void> {
             for (const formats::TensorSpec& spec : formats::kNetworkTensors) {
               const std::string a = TensorName(spec.id, i), b = TensorName(spec.id, i + 1);
               if (!spec.of_layer() || file->Find(a) == nullptr) continue;
               BITTERN_TRY(ExchangeTensors(a, b)(file));
             }
             return {};
           },
           false});
  }
}

}  // namespace

std::vector<Hypothesis> HypothesesFor(const Checkpoint& checkpoint, bool small,
                                      const std::vector<Part>& suspects) {
  std::vector<Hypothesis> hypotheses;
  Decisions ignored;
  const auto config = model::ReadConfig(checkpoint, &ignored);
  if (!config) return hypotheses;
  const Subject subject{checkpoint, *config, small, suspects, &hypotheses};
  I2sLayouts(subject);
  CodeMaps(subject);
  AllScales(subject);
  OddScales(subject);
  NormOffsets(subject);
  OutputHead(subject);
  Rotations(subject);
  Activations(subject);
  Epsilons(subject);
  Exchanges(subject);
  NeighbouringLayers(subject);
  HypothesesOfKeys(subject);
  HypothesesOfParts(subject);
  return hypotheses;
}

}  // namespace bittern::doctor
