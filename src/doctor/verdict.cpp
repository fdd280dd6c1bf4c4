// SPDX-License-Identifier: Apache-2.0
// "Healthy" is said only of what is known to be: a file that is a known one, byte by byte, or that
// is like a healthy one in all its tensors and keys. A model whose perplexity rose by a third may
// pass every check and still be right about its own doubt, so all else is "nothing was found".
#include "doctor/verdict.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "doctor/likeness.hpp"
#include "doctor/proof.hpp"
#include "doctor/static_checks.hpp"

namespace bittern::doctor {
namespace {

constexpr double kSense = 1.0;  // nats per token that the order of words must be worth
/// The most that a text may cost, as a share of its cost to a model that knows nothing. Broken
/// models are often sure of the wrong thing, so that shuffled words cost them even more.
constexpr double kMostNats = 0.65;

/// Words the verdict that nothing certain can be said: random weights, or a fault that no reading
/// cures.
void CannotTell(const Evidence& evidence, Diagnosis* found) {
  found->verdict = Verdict::kCannotTell;
  const Probe& probe = *evidence.probe;
  const bool sense = MakesSomeSense(probe);
  if (!evidence.trained && !sense) {
    found->summary = "The weights look random, so whether the model makes sense cannot be judged.";
    found->undecided.emplace_back(
        "The weights look like random numbers: no neuron has more zeros than chance gives it. "
        "Whether they mean anything cannot be judged.");
    return;
  }
  found->summary = !found->findings.empty() ? found->findings.front().cause
                   : sense ? "Something seems to be wrong, but no reading that was tried puts it "
                             "right."
                           : "Nothing is wrong with the file's form, but its text makes no sense "
                             "in any reading that was tried.";
  found->undecided.push_back(fmt::format(
      "The text that this model knows best costs it {:.2f} nats per token, where it expects {:.2f} "
      "and a model that knows nothing pays {:.2f}; the order of its words is worth {:.2f}. A model "
      "that was damaged reads so, or one that never read such text.",
      probe.nats(), probe.nats() - probe.excess().nats, probe.uniform, probe.order_gain));
}

/// Says what was looked at, and what could not have been seen.
void NothingFound(Diagnosis* found) {
  found->verdict = Verdict::kNothingFound;
  found->summary = "Nothing was found.";
  found->undecided.emplace_back(
      "Looked at: keys, vocabulary and merges, the values of all tensors, whether matrices of a "
      "layer go together, and whether the model makes sense of built-in texts as it is and in "
      "other "
      "readings.");
  found->undecided.emplace_back(
      "Not seen would be: damage to single weights, an exchanged or foreign norm, a matrix of "
      "attention that is another's, and whatever else costs the model little of these texts. Only "
      "a "
      "comparison with a healthy file makes sure.");
}

}  // namespace

bool MakesSomeSense(const Probe& probe) noexcept {
  return probe.order_gain >= kSense && probe.nats() <= kMostNats * probe.uniform;
}

std::string_view VerdictName(Verdict verdict) noexcept {
  switch (verdict) {
    case Verdict::kHealthy:
      return "healthy";
    case Verdict::kNothingFound:
      return "nothing_found";
    case Verdict::kCurable:
      return "curable";
    case Verdict::kIncurable:
      return "incurable";
    case Verdict::kUnsupported:
      return "unsupported";
    case Verdict::kCannotTell:
      return "cannot_tell";
  }
  return "";
}

void Judge(const Evidence& evidence, Diagnosis* found) {
  if (evidence.lost) {
    const auto worst = std::ranges::find(found->findings, false, &Finding::curable);
    std::rotate(found->findings.begin(), worst, worst + 1);
    found->verdict =
        found->findings.front().id == kUnsupportedId ? Verdict::kUnsupported : Verdict::kIncurable;
    found->summary = found->findings.front().cause;
  } else if (!evidence.known_as.empty() && found->findings.empty()) {
    found->verdict = Verdict::kHealthy;
    found->summary = fmt::format("Nothing is wrong: this is {}, byte by byte.", evidence.known_as);
  } else if (!MakesSomeSense(*evidence.probe) || IsSureOfWrong(*evidence.probe)) {
    CannotTell(evidence, found);
  } else if (!found->findings.empty()) {
    found->verdict = Verdict::kCurable;
    found->summary = found->findings.front().cause;
  } else {
    NothingFound(found);
  }
}

void ConfirmBy(const Likeness& likeness, Diagnosis* found) {
  const bool open = found->verdict == Verdict::kNothingFound ||
                    (found->verdict == Verdict::kCannotTell && found->findings.empty());
  if (!open || likeness.tensors == 0 || !likeness.unlike.empty() || !likeness.unlike_keys.empty()) {
    return;
  }
  found->verdict = Verdict::kHealthy;
  found->summary = fmt::format(
      "Nothing is wrong if {} is healthy: all tensors and keys are as in it.", likeness.path);
  found->undecided.clear();
}

}  // namespace bittern::doctor
