// SPDX-License-Identifier: Apache-2.0
// Single matrices of a layer; small files only, since every trial runs the model. One thread.
#include <cmath>
#include <map>

#include "doctor/facts/tensor_facts.hpp"
#include "doctor/hypotheses/subject.hpp"

namespace bittern::doctor {
namespace {

using formats::Tensor;

/// Matrices of which one with wrong signs is the same as the other with wrong signs: the network
/// multiplies the two.
struct Twins {
  const char *first, *second;  // second may be empty
};
constexpr Twins kTwins[] = {{"ffn_gate.weight", ""},
                            {"ffn_down.weight", "ffn_up.weight"},
                            {"attn_q.weight", "attn_k.weight"},
                            {"attn_output.weight", "attn_v.weight"}};

std::string NamesOf(const std::string& prefix, const Twins& twins) {
  std::string names = prefix + twins.first;
  if (*twins.second != '\0') names += " (or of " + prefix + twins.second + ")";
  return names;
}

/// All signs of one matrix, or of one kind in all layers.
void Signs(const Subject& s) {
  if (!s.small || !s.HasI2s()) return;
  constexpr std::array<std::uint8_t, 4> kOther = {2, 1, 0, 3};
  for (const Twins& twins : kTwins) {
    const std::string kind = twins.first;
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
  for (const char* kind : {"attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up",
                           "ffn_down", "attn_norm", "ffn_norm", "attn_sub_norm", "ffn_sub_norm"}) {
    for (int i = 0; i + 1 < s.config.num_layers; ++i) {
      const std::string a = fmt::format("blk.{}.{}.weight", i, kind);
      const std::string b = fmt::format("blk.{}.{}.weight", i + 1, kind);
      const bool attention = std::string_view(kind).starts_with("attn");
      if (!s.IsSuspect(i, attention) || !s.IsSuspect(i + 1, attention)) continue;
      if (!SameShape(s.file.Find(a), s.file.Find(b))) continue;
      s.Add({fmt::format("neighbours:{}", kind),
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
                           [name = name](const std::string& of) { return of == name; })});
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
