// SPDX-License-Identifier: Apache-2.0
// A part is left out by a scale so small that it adds nothing. One thread; trials use the team.
#include "doctor/proof.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "formats/network_tensors.hpp"

namespace bittern::doctor {
namespace {

using formats::Checkpoint;

/// The share that a step must have of the gain from there to the end. Two faults share; a stack of
/// small gains is none of the causes.
constexpr double kLeastShare = 0.3;
constexpr std::size_t kMostSteps = 2;
/// Nats per token that a sound model's own kind of text may cost beyond what it expects.
constexpr double kMostExcess = 0.35;
constexpr double kExcessSigmas = 2;
constexpr double kLeastHarm = 0.06;  // nats per token that leaving a part out must gain
constexpr double kStandsOut = 0.5;   // the next part may gain at most this share
constexpr double kLeastHelp = 0.05;  // nats per token that a part is worth at least
constexpr double kMostCost = 0.65;   // of what a model that knows nothing pays
constexpr float kNothing = 1e-20f;

std::string NameOf(const Part& part) {
  return fmt::format("{} of layer {}", part.attention ? "attention" : "feed-forward part",
                     part.layer);
}

double NatsOf(const Probe& probe, std::size_t text) { return probe.texts[text].per_token(); }

}  // namespace

bool IsSureOfWrong(const Probe& probe) noexcept {
  const TextProbe::Excess excess = probe.excess();
  return excess.nats > kMostExcess + kExcessSigmas * excess.error;
}

/// A reason not to believe the cures that were found; empty if there is none. Many small gains,
/// for one, may come from chance.
std::string DoubtAbout(const std::vector<Step>& steps, const std::vector<PartCost>& costs) {
  const Probe& end = steps.back().after;
  const std::size_t text = end.best();
  const double last = NatsOf(end, text);
  std::size_t unlikely = 0;
  for (const Step& step : steps) {
    if (step.likely) continue;
    ++unlikely;
    const double gain = NatsOf(step.before, text) - NatsOf(step.after, text);
    if (gain < kLeastShare * (NatsOf(step.before, text) - last)) {
      return "a cause gains nearly all at once, and these gain a little each";
    }
    for (const PartCost& cost : costs) {
      const bool touched = std::ranges::find(step.parts, cost.part) != step.parts.end();
      if (touched && cost.nats < kLeastHelp) {
        return fmt::format("with it the {} is worth no more than nothing in its place",
                           NameOf(cost.part));
      }
    }
  }
  if (unlikely > kMostSteps) return "so many changes at once explain anything";
  if (IsSureOfWrong(end)) {
    return fmt::format("the text still costs {:.2f} nats per token more than the model expects",
                       end.excess().nats);
  }
  if (const PartCost* harm = HarmOf(end, costs)) {
    return fmt::format("without the {} the text would be more probable still", NameOf(harm->part));
  }
  return "";
}

std::vector<PartCost> CostsOfParts(const Probe& now, Trials* trials, const Checkpoint& file) {
  const std::size_t text = now.best();
  std::vector<PartCost> costs;
  for (int layer = 0;; ++layer) {
    for (const bool attention : {true, false}) {
      const std::string name = formats::TensorName(
          attention ? formats::TensorId::kAttnOutput : formats::TensorId::kFfnDown, layer);
      const auto* tensor = file.Find(name);
      if (tensor == nullptr || !ScaleOf(*tensor)) return costs;
      auto without = trials->Run({SetScale(name, kNothing)}, {.only = text});
      if (!without) continue;
      const double nats = NatsOf(*without, text) - NatsOf(now, text);
      costs.push_back({{layer, attention}, *std::move(without), nats});
    }
  }
}

std::vector<Part> SuspectsOf(const std::vector<PartCost>& costs) {
  std::vector<Part> suspects;
  for (const PartCost& cost : costs) {
    if (cost.nats < kLeastHelp) suspects.push_back(cost.part);
  }
  return suspects;
}

const PartCost* HarmOf(const Probe& now, const std::vector<PartCost>& costs) {
  if (costs.size() < 2) return nullptr;
  std::vector<const PartCost*> order;
  for (const PartCost& cost : costs) order.push_back(&cost);
  std::ranges::sort(order, {}, &PartCost::nats);
  const PartCost& worst = *order[0];
  if (-worst.nats < kLeastHarm || -order[1]->nats > kStandsOut * -worst.nats) return nullptr;
  const std::size_t text = now.best();
  // If all is nonsense, the part may only make another fault worse.
  if (NatsOf(worst.without, text) > kMostCost * now.uniform) return nullptr;
  Probe before;
  before.texts[text] = now.texts[text];
  return GainOf(before, worst.without).clear ? &worst : nullptr;
}

}  // namespace bittern::doctor
