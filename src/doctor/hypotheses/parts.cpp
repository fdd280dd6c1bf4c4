// SPDX-License-Identifier: Apache-2.0
// Single matrices of a layer; small files only, since every trial runs the model. One thread.
#include <cmath>
#include <map>
#include <optional>

#include "doctor/facts/tensor_facts.hpp"
#include "doctor/hypotheses/subject.hpp"

namespace bittern::doctor {
namespace {

using formats::Tensor;
using formats::TensorId;
using formats::TensorKindName;
using formats::TensorName;

/// Matrices of which one with wrong signs is the same as the other with wrong signs: the network
/// multiplies the two.
struct Twins {
  TensorId first;
  std::optional<TensorId> second;
};
constexpr Twins kTwins[] = {{TensorId::kFfnGate, {}},
                            {TensorId::kFfnDown, TensorId::kFfnUp},
                            {TensorId::kAttnQ, TensorId::kAttnK},
                            {TensorId::kAttnOutput, TensorId::kAttnV}};

std::string NamesOf(const std::string& prefix, const Twins& twins) {
  const std::string first = prefix + TensorKindName(twins.first);
  if (!twins.second) return first;
  return fmt::format("{} (or of {}{})", first, prefix, TensorKindName(*twins.second));
}

/// All signs of one matrix, or of one kind in all layers.
void Signs(const Subject& s) {
  if (!s.small || !s.HasI2s()) return;
  constexpr std::array<std::uint8_t, 4> kOther = {2, 1, 0, 3};
  for (const Twins& twins : kTwins) {
    const std::string kind = TensorKindName(twins.first);
    s.Add({"signs:" + kind,
           fmt::format("All weights of {} have the wrong sign, in all layers.", NamesOf("", twins)),
           fmt::format("exchange codes 0 and 2 of {}", kind),
           MapCodes(kOther, [kind](const std::string& name) { return KindOf(name) == kind; }),
           false, false, true});
    for (int i = 0; i < s.config.num_layers; ++i) {
      if (!s.IsSuspect(i, kind.starts_with("attn"))) continue;
      const std::string prefix = fmt::format("blk.{}.", i), own = prefix + kind;
      s.Add({"signs:" + kind,
             fmt::format("All weights of {} have the wrong sign.", NamesOf(prefix, twins)),
             fmt::format("exchange codes 0 and 2 of {}", own),
             MapCodes(kOther, [own](const std::string& name) { return name == own; }),
             false,
             false,
             true,
             {{i, kind.starts_with("attn")}}});
    }
  }
}

/// One matrix or norm of a layer in the place of its neighbour's.
void Neighbours(const Subject& s) {
  if (!s.small) return;
  for (const formats::TensorSpec& spec : formats::kNetworkTensors) {
    if (!spec.of_layer() || spec.presence == formats::TensorPresence::kHeadNorms) continue;
    for (int i = 0; i + 1 < s.config.num_layers; ++i) {
      const std::string a = TensorName(spec.id, i), b = TensorName(spec.id, i + 1);
      const bool attention = spec.gguf.starts_with("attn");
      if (!s.IsSuspect(i, attention) || !s.IsSuspect(i + 1, attention)) continue;
      if (!SameShape(s.file.Find(a), s.file.Find(b))) continue;
      s.Add({fmt::format("neighbours:{}", spec.gguf),
             fmt::format("{} and {} are exchanged.", a, b),
             fmt::format("exchange {} and {}", a, b),
             ExchangeTensors(a, b),
             false,
             false,
             true,
             {{i, attention}, {i + 1, attention}}});
    }
  }
}

/// A norm far from those of its kind, as if multiplied on the way.
void NormSizes(const Subject& s) {
  constexpr double kFar = 6;
  std::map<std::string, std::vector<std::pair<std::string, double>>> kinds;
  for (const Tensor& tensor : s.file.tensors()) {
    const auto mean = MeanOf(tensor);
    if (!mean || !(*mean > 0) || tensor.name.find("norm") == std::string::npos) continue;
    kinds[KindOf(tensor.name)].emplace_back(tensor.name, *mean);
  }
  for (const auto& [kind, norms] : kinds) {
    if (norms.size() < 3) continue;
    std::vector<double> means;
    for (const auto& norm : norms) means.push_back(norm.second);
    std::ranges::sort(means);
    const double usual = means[means.size() / 2];
    for (const auto& [name, mean] : norms) {
      const double ratio = mean / usual;
      if (ratio < kFar && ratio > 1 / kFar) continue;
      for (const double factor : {10, 100, 1000, 16, 128, 256, 8, 32, 64}) {
        const double off = std::abs(std::log(ratio > 1 ? ratio / factor : ratio * factor));
        if (off > 1) continue;
        const auto by = static_cast<float>(ratio > 1 ? 1 / factor : factor);
        s.Add({"norm_size:" + name,
               fmt::format("{} is {} times too {}.", name, factor, ratio > 1 ? "large" : "small"),
               fmt::format("{} {} by {}", ratio > 1 ? "divide" : "multiply", name, factor),
               ChangeNorms([by](float x) { return x * by; },
                           [norm = name](const std::string& of) { return of == norm; })});
      }
    }
  }
}

}  // namespace

void HypothesesOfParts(const Subject& subject) {
  Signs(subject);
  Neighbours(subject);
  NormSizes(subject);
}

}  // namespace bittern::doctor
