// SPDX-License-Identifier: Apache-2.0
// Certain cures are taken first, since a trial tells nothing while something else makes nonsense of
// all texts. Then one factor after the other: the best hypothesis of a factor is kept where it
// makes the text clearly more probable, until a round keeps none. Pairs are tried only where no
// single hypothesis brings sense. What was kept must then be proven (proof.hpp), or it is no
// finding. One thread; trials use the team.
#include "doctor/diagnose.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "doctor/hypotheses/hypotheses.hpp"
#include "doctor/proof.hpp"
#include "doctor/static_checks.hpp"
#include "doctor/trials.hpp"
#include "doctor/verdict.hpp"
#include "formats/i2s_detector.hpp"

namespace bittern::doctor {
namespace {

using formats::Checkpoint;

constexpr double kClearSense = 3.0;  // above, what is destructive has not happened
constexpr double kClearCost = 0.45;
constexpr double kClearlyBetter = 0.05;  // nats per token
constexpr double kSmallGain = 0.01;      // a smaller one is not worth a second look
constexpr std::uint64_t kSmallFile = std::uint64_t{64} << 20;
constexpr double kLeastOfPair = 0.3;  // what brings sense gains at least so much at once
constexpr int kMostRounds = 6;
constexpr std::size_t kMostRejected = 3;

class Search {
 public:
  Search(const Opener& open, const std::string& path, const DiagnoseOptions& options)
      : open_(open), path_(path), options_(options) {}

  Diagnosis Run();

 private:
  using Clock = std::chrono::steady_clock;

  void TakeStatic(const Checkpoint& file);
  void TryFactors();
  void TryRounds();
  bool TryRound();
  void TryPairs();
  void TryToLoad();
  void Prove();
  [[nodiscard]] bool GainsOnMoreText();
  void NameHarm();
  void Keep(const Hypothesis& hypothesis, Probe probe, std::string evidence);
  [[nodiscard]] std::vector<Hypothesis> OpenHypotheses();
  [[nodiscard]] bool IsClear(const Hypothesis& hypothesis, const Gain& gain);
  [[nodiscard]] double Seconds() const {
    return std::chrono::duration<double>(Clock::now() - start_).count();
  }
  /// Small files are done soon enough, and so give the same diagnosis on any machine.
  [[nodiscard]] bool TimeIsUp() const { return !small_ && Seconds() > options_.seconds; }
  void Say(std::string_view what) const {
    if (options_.on_progress) options_.on_progress(what);
  }
  [[nodiscard]] bool MakesSense() const { return now_ && MakesSomeSense(*now_); }

  const Opener& open_;
  const std::string& path_;
  const DiagnoseOptions& options_;
  Clock::time_point start_ = Clock::now();
  Diagnosis found_;
  Trials trials_{open_, found_.edits, options_.num_threads};
  std::optional<Probe> now_;       // of the reading so far
  std::optional<Probe> now_more_;  // the same with more text, where that was wanted
  std::vector<PartCost> costs_;    // of the reading that hypotheses were last made for
  std::vector<Step> steps_;        // kept because the text gained
  std::size_t certain_ = 0, certain_edits_ = 0;  // findings and edits before those
  std::set<std::string> rejected_;               // causes that gained and left no sense
  Evidence evidence_;
  bool small_ = false;
};

/// Findings of the static checks; cures are taken at once. A cure can make more visible.
void Search::TakeStatic(const Checkpoint& file) {
  const auto take = [&](std::vector<Cure> cures) {
    for (Cure& cure : cures) {
      evidence_.lost = evidence_.lost || !cure.finding.curable;
      found_.findings.push_back(std::move(cure.finding));
      found_.edits.insert(found_.edits.end(), cure.edits.begin(), cure.edits.end());
    }
  };
  Say("looking at keys and vocabulary");
  take(CheckKeys(file));
  take(CheckVocabulary(file));
  Say("looking at the weights");
  {  // each mapping of the file counts as memory, so none outlives its use
    const auto mended = OpenReading(open_, found_.edits);
    take(CheckTensors(mended ? *mended : file));
  }
  if (file.metadata().Find("ternary.layout") != nullptr) return;
  const auto evidence = formats::WeighI2sLayouts(file);
  evidence_.trained = evidence.neurons == 0 || evidence.LooksTrained();
  const auto layout = evidence.Layout();
  if (!layout || *layout == quant::TernaryLayout::kI2sX86) return;
  const std::string name(quant::CodecOf(*layout).name.substr(std::string_view("i2_s:").size()));
  found_.findings.push_back(
      {"i2s_layout",
       fmt::format("The ternary weights are ordered as {}, which nothing in the file says; the "
                   "official order is x86-128.",
                   name),
       "Only so do the zeros of gate and up go with those of down.",
       fmt::format("read the weights as {}", name), true});
  found_.edits.push_back(SetKey("ternary.layout", "str", name));
}

/// Takes a hypothesis as a finding. Later trials start from the file with its edit, so the probe is
/// made anew.
void Search::Keep(const Hypothesis& hypothesis, Probe probe, std::string evidence) {
  found_.findings.push_back({hypothesis.factor.substr(0, hypothesis.factor.find(':')),
                             hypothesis.cause, std::move(evidence), hypothesis.cure, true});
  found_.edits.push_back(hypothesis.edit);
  now_ = std::move(probe);
  now_more_.reset();
  if (auto again = trials_.Run({}, {.order = true})) now_ = std::move(again);
}

/// Hypotheses about the reading so far.
std::vector<Hypothesis> Search::OpenHypotheses() {
  const auto file = OpenReading(open_, found_.edits);
  if (!file) return {};
  costs_.clear();
  if (small_ && now_) {
    Say("leaving out parts of layers");
    costs_ = CostsOfParts(*now_, &trials_, *file);
  }
  return HypothesesFor(*file, small_, SuspectsOf(costs_));
}

/// Whether the gain is more than chance. Small ones, also of changes that the file itself speaks
/// for, are looked at with more text.
bool Search::IsClear(const Hypothesis& hypothesis, const Gain& gain) {
  if (gain.clear) return true;
  if (!small_ || gain.nats < (hypothesis.likely ? kSmallGain / 10 : kSmallGain)) return false;
  if (!now_more_) now_more_ = trials_.Run({}, {.more = true});
  const auto more = trials_.Run({hypothesis.edit}, {.more = true});
  if (!now_more_ || !more) return false;
  const Gain again = GainOfMore(*now_more_, *more);
  return again.clear || (hypothesis.likely && again.nats > kSmallGain / 10);
}

/// Keeps the best hypothesis of the factor that gains most. False if none gains clearly.
bool Search::TryRound() {
  const bool sense = now_->order_gain >= kClearSense && now_->nats() <= kClearCost * now_->uniform;
  const bool making_sense = MakesSense();
  const std::size_t text = now_->best();
  const Hypothesis* best = nullptr;
  std::optional<Probe> best_probe;
  double best_gain = 0;
  const auto hypotheses = OpenHypotheses();
  for (const Hypothesis& hypothesis : hypotheses) {
    if ((hypothesis.destructive && sense) || rejected_.contains(hypothesis.cause)) continue;
    if (TimeIsUp()) {
      found_.undecided.push_back("The time was up before all hypotheses had been tried.");
      break;
    }
    Say("trying: " + hypothesis.cure);
    // If the model makes sense, the text known best soon shows the hypotheses that are not worth
    // more.
    if (sense) {
      const auto quick = trials_.Run({hypothesis.edit}, {.only = text});
      const double least = hypothesis.likely ? kSmallGain / 10 : kSmallGain;
      if (!quick || now_->nats() - quick->texts[text].per_token() < least) continue;
    }
    auto probe = trials_.Run({hypothesis.edit});
    if (!probe) continue;
    const Gain gain = GainOf(*now_, *probe);
    // Within one factor the likelier hypotheses come first: a later one must be clearly better.
    const bool rival = best != nullptr && best->factor == hypothesis.factor;
    const double margin = rival ? kClearlyBetter : 0;
    // Evidence of the file goes before evidence of the text alone; but if all is nonsense, the
    // reading that brings sense is the cause.
    const bool goes_before = making_sense && best != nullptr && hypothesis.likely && !best->likely;
    if (making_sense && best != nullptr && best->likely && !hypothesis.likely) continue;
    // A text that is known by heart cannot tell 8 times from 16 times: then all texts decide.
    const bool tells = rival && gain.nats > best_gain - margin &&
                       probe->nats_of_all() < best_probe->nats_of_all() - kClearlyBetter;
    if (!goes_before && !tells && gain.nats <= best_gain + margin) continue;
    if (!IsClear(hypothesis, gain)) continue;
    best = &hypothesis;
    best_gain = gain.nats;
    best_probe = std::move(probe);
  }
  if (best == nullptr) return false;
  const std::string evidence = fmt::format(
      "Read with the cure, the text is easier for the model: {:.2f} nats per token, {:.2f} without "
      "(guessing: {:.2f}).",
      best_probe->nats(), now_->texts[best_probe->best()].per_token(), now_->uniform);
  // A better guess of one that still makes no sense proves little.
  const std::size_t findings = found_.findings.size();
  const std::optional<Probe> before = now_;
  const std::string best_cause = best->cause;
  Keep(*best, *std::move(best_probe), evidence);
  if (MakesSense() || MakesSomeSense(*before)) {
    steps_.push_back({*before, *now_, best->likely, best->parts});
    return true;
  }
  found_.findings.resize(findings);
  found_.edits.pop_back();
  now_ = before;
  now_more_.reset();
  // Another may bring sense: what the file seems to speak for went before it.
  rejected_.insert(best_cause);
  return rejected_.size() <= kMostRejected;
}

/// Two destructive faults hide each other.
void Search::TryPairs() {
  const std::size_t text = now_->best();
  const auto hypotheses = OpenHypotheses();
  for (std::size_t i = 0; i < hypotheses.size(); ++i) {
    for (std::size_t k = i + 1; k < hypotheses.size(); ++k) {
      const Hypothesis &a = hypotheses[i], &b = hypotheses[k];
      if (a.factor == b.factor || a.alone || b.alone) continue;
      if (!a.destructive && !b.destructive) continue;
      if (TimeIsUp()) return;
      Say("trying: " + a.cure + " and " + b.cure);
      const auto quick = trials_.Run({a.edit, b.edit}, {.only = text});
      if (!quick || now_->nats() - quick->texts[text].per_token() < kLeastOfPair) continue;
      const auto probe = trials_.Run({a.edit, b.edit}, {.order = true});
      if (!probe || !MakesSomeSense(*probe) || !GainOf(*now_, *probe).clear) continue;
      const std::string evidence = fmt::format(
          "With both changes a text that the model knows costs {:.2f} nats per token "
          "instead of {:.2f}.",
          probe->nats(), now_->nats());
      const Probe before = *now_;
      Keep(a, *probe, evidence);
      Keep(b, *probe, evidence);
      steps_.push_back({before, *now_, false, {}});
      return;
    }
  }
}

/// The file does not load as it is: the hypothesis with which it does, and knows the texts best.
void Search::TryToLoad() {
  const std::string why = trials_.last_error();
  const auto hypotheses = OpenHypotheses();
  const Hypothesis* best = nullptr;
  std::optional<Probe> best_probe;
  for (const Hypothesis& hypothesis : hypotheses) {
    if (TimeIsUp()) break;
    Say("trying: " + hypothesis.cure);
    auto probe = trials_.Run({hypothesis.edit}, {.order = true});
    if (!probe || !MakesSomeSense(*probe)) continue;
    if (best_probe && best_probe->nats() <= probe->nats()) continue;
    best = &hypothesis;
    best_probe = std::move(probe);
  }
  if (best != nullptr) {
    Keep(*best, *std::move(best_probe), "Without it the model does not run: " + why + ".");
  }
  trials_.set_last_error(why);
}

void Search::TryRounds() {
  for (int round = 0; round < kMostRounds && TryRound(); ++round) {
  }
}

/// One of so many readings gains by chance, on one text.
bool Search::GainsOnMoreText() {
  const bool likely = std::ranges::all_of(steps_, &Step::likely);
  const auto after = trials_.Run({}, {.more = true});
  const std::vector<Edit> all = std::exchange(found_.edits, {});
  found_.edits.assign(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(certain_edits_));
  const auto before = trials_.Run({}, {.more = true});
  found_.edits = all;
  if (!before) return after.has_value();  // as it was it did not run
  return after && (likely || GainOfMore(*before, *after).certain);
}

/// Takes back what gained but is not proven: it is no cause, and a file mended so has more faults.
void Search::Prove() {
  const auto cured = OpenReading(open_, found_.edits);
  if (steps_.empty() || !cured) return;
  if (small_) costs_ = CostsOfParts(*now_, &trials_, *cured);
  std::string doubt = DoubtAbout(steps_, costs_);
  if (doubt.empty() && small_ && !GainsOnMoreText()) doubt = "other texts gain nothing by it";
  if (doubt.empty()) return;
  found_.undecided.push_back(fmt::format(
      "Other readings were tried, and some make the text more probable ({:.2f} nats per token "
      "instead of {:.2f}), but none is the cause: {}.",
      steps_.back().after.nats(), steps_.front().before.nats(), doubt));
  found_.findings.resize(certain_);
  found_.edits.resize(certain_edits_);
  now_ = steps_.front().before;
  now_more_.reset();
  if (const auto file = OpenReading(open_, found_.edits); file && small_) {
    costs_ = CostsOfParts(*now_, &trials_, *file);
  }
}

/// Names the part of a layer that the model does better without.
void Search::NameHarm() {
  const PartCost* harm = HarmOf(*now_, costs_);
  if (harm == nullptr) return;
  const auto [layer, attention] = harm->part;
  found_.findings.push_back(
      {"harmful_part",
       fmt::format("The {} of layer {} is damaged.", attention ? "attention" : "feed-forward part",
                   layer),
       fmt::format("Without it the text costs {:.2f} nats per token less; in a sound model every "
                   "part helps. Which of the tensors blk.{}.{} it is cannot be told.",
                   -harm->nats, layer, attention ? "attn_*" : "ffn_*"),
       "fetch or make the file again", false});
  evidence_.lost = true;
}

/// A model that does not run: of another kind, or damaged.
Finding FindingOfNoRun(const std::vector<Finding>& findings, const std::string& error) {
  const bool other_kind =
      std::ranges::find(findings, "architecture", &Finding::id) != findings.end();
  if (other_kind || error.find("not supported") != std::string::npos) {
    return {kUnsupportedId, "The model is of a kind that Bittern does not run.", error + ".",
            "docs/models.md lists the models that run here", false};
  }
  return {"does_not_run", "The model does not run.", error + ".", "fetch or make the file again",
          false};
}

void Search::TryFactors() {
  now_ = trials_.Run({}, {.order = true});
  if (!now_) TryToLoad();
  if (!now_) {
    found_.findings.push_back(FindingOfNoRun(found_.findings, trials_.last_error()));
    evidence_.lost = true;
    return;
  }
  found_.nats_before = now_->nats();
  found_.nats_expected = now_->texts[now_->best()].per_token() - now_->excess().nats;
  found_.uniform = now_->uniform;
  certain_ = found_.findings.size();
  certain_edits_ = found_.edits.size();
  // A large file of random numbers would take long to no end.
  const bool random = !MakesSense() && !evidence_.trained && !small_;
  const bool known = !evidence_.known_as.empty() && found_.findings.empty();
  if (!random && !known) {
    TryRounds();
    if (!MakesSense() && small_ && evidence_.trained && HarmOf(*now_, costs_) == nullptr) {
      TryPairs();
      if (MakesSense()) TryRounds();
    }
    Prove();
    if (found_.findings.size() == certain_) NameHarm();
  }
  found_.nats_after = now_->nats();
}

Diagnosis Search::Run() {
  if (const auto file = open_()) {
    small_ = file->file_bytes() <= kSmallFile;
    if (options_.identify) evidence_.known_as = options_.identify(*file);
    TakeStatic(*file);
  } else {
    found_.findings.push_back(FindingOfUnreadable(path_, file.error()));
    evidence_.lost = true;
  }
  if (!evidence_.lost) TryFactors();
  evidence_.probe = now_ ? &*now_ : nullptr;
  found_.trials = trials_.count();
  Judge(evidence_, &found_);
  found_.seconds = Seconds();
  return std::move(found_);
}

}  // namespace

Diagnosis Diagnose(const Opener& open, const std::string& path, const DiagnoseOptions& options) {
  return Search(open, path, options).Run();
}

}  // namespace bittern::doctor
