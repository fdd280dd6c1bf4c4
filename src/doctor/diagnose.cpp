// SPDX-License-Identifier: Apache-2.0
// Certain cures are taken first, since a trial tells nothing while something else makes nonsense of
// all texts. Then one factor after the other: the best hypothesis of a factor is kept where it
// makes the text clearly more probable, until a round keeps none. Pairs are tried only where no
// single hypothesis brings sense. One thread; trials use the team.
#include "doctor/diagnose.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "doctor/hypotheses.hpp"
#include "doctor/static_checks.hpp"
#include "formats/i2s_detector.hpp"
#include "runtime/convert_hints.hpp"

namespace bittern::doctor {
namespace {

using formats::Checkpoint;

constexpr double kSense = 1.0;       // nats per token that the order of words must be worth
constexpr double kClearSense = 3.0;  // above, what is destructive has not happened
/// What a text may cost at most, in parts of what it costs a model that knows nothing. Broken
/// models are often sure of the wrong thing, so that shuffled words cost them even more.
constexpr double kMostCost = 0.65, kClearCost = 0.45;
constexpr double kClearlyBetter = 0.05;  // nats per token
constexpr double kSmallGain = 0.01;      // a smaller one is not worth a second look
constexpr std::uint64_t kSmallFile = std::uint64_t{64} << 20;
constexpr int kMostRounds = 4;

bool Sensible(const Probe& probe) {
  return probe.order_gain >= kSense && probe.nats() <= kMostCost * probe.uniform;
}

class Search {
 public:
  Search(const Opener& open, const std::string& path, const DiagnoseOptions& options)
      : open_(open), path_(path), options_(options) {}

  Diagnosis Run();

 private:
  using Clock = std::chrono::steady_clock;

  void TakeStatic(const Checkpoint& file);
  void TryFactors();
  bool TryRound();
  void TryPairs();
  void TryToLoad();
  void Judge();
  void Keep(const Hypothesis& hypothesis, Probe probe, std::string evidence);
  void AddUndecided();
  [[nodiscard]] std::vector<Hypothesis> OpenHypotheses();
  [[nodiscard]] std::optional<Probe> Try(const std::vector<Edit>& edits, bool order = false,
                                         bool more = false);
  [[nodiscard]] bool IsClear(const Hypothesis& hypothesis, const Gain& gain);
  [[nodiscard]] double Seconds() const {
    return std::chrono::duration<double>(Clock::now() - start_).count();
  }
  /// Small files are done soon enough, and so give the same diagnosis on any machine.
  [[nodiscard]] bool TimeIsUp() const { return !small_ && Seconds() > options_.seconds; }
  void Say(std::string_view what) const {
    if (options_.on_progress) options_.on_progress(what);
  }
  [[nodiscard]] bool MakesSense() const { return now_ && Sensible(*now_); }

  const Opener& open_;
  const std::string& path_;
  const DiagnoseOptions& options_;
  Clock::time_point start_ = Clock::now();
  Diagnosis found_;
  std::optional<Probe> now_;       // of the reading so far
  std::optional<Probe> now_more_;  // the same with more text, where that was wanted
  std::string last_error_;         // of the last trial that did not run
  bool small_ = false, trained_ = true, lost_ = false;
};

/// Runs the reading so far with more edits.
std::optional<Probe> Search::Try(const std::vector<Edit>& further, bool order, bool more) {
  std::vector<Edit> edits = found_.edits;
  edits.insert(edits.end(), further.begin(), further.end());
  auto file = OpenReading(open_, edits);
  if (!file) {
    last_error_ = file.error().message;
    return std::nullopt;
  }
  ++found_.trials;
  auto probe = RunProbe(*std::move(file),
                        {.num_threads = options_.num_threads, .order = order, .more = more});
  if (probe) return *std::move(probe);
  last_error_ = probe.error().message;
  return std::nullopt;
}

/// Findings of the static checks; cures are taken at once. A cure can make more visible.
void Search::TakeStatic(const Checkpoint& file) {
  const auto take = [&](std::vector<Cure> cures) {
    for (Cure& cure : cures) {
      lost_ = lost_ || !cure.finding.curable;
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
  trained_ = evidence.neurons == 0 || evidence.LooksTrained();
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

void Search::Keep(const Hypothesis& hypothesis, Probe probe, std::string evidence) {
  found_.findings.push_back({hypothesis.factor.substr(0, hypothesis.factor.find(':')),
                             hypothesis.cause, std::move(evidence), hypothesis.cure, true});
  found_.edits.push_back(hypothesis.edit);
  now_ = std::move(probe);
  now_more_.reset();
  if (auto again = Try({}, /*order=*/true)) now_ = std::move(again);
}

/// Hypotheses about the reading so far.
std::vector<Hypothesis> Search::OpenHypotheses() {
  const auto file = OpenReading(open_, found_.edits);
  if (!file) return {};
  return HypothesesFor(*file, small_);
}

/// Whether the gain is more than chance. Small ones, also of changes that the file itself speaks
/// for, are looked at with more text.
bool Search::IsClear(const Hypothesis& hypothesis, const Gain& gain) {
  if (gain.clear) return true;
  if (!small_ || gain.nats < (hypothesis.likely ? kSmallGain / 10 : kSmallGain)) return false;
  if (!now_more_) now_more_ = Try({}, /*order=*/false, /*more=*/true);
  const auto more = Try({hypothesis.edit}, /*order=*/false, /*more=*/true);
  if (!now_more_ || !more) return false;
  const Gain again = GainOfMore(*now_more_, *more);
  return again.clear || (hypothesis.likely && again.nats > kSmallGain / 10);
}

/// Keeps the best hypothesis of the factor that gains most. False if none gains clearly.
bool Search::TryRound() {
  const bool sense = now_->order_gain >= kClearSense && now_->nats() <= kClearCost * now_->uniform;
  const Hypothesis* best = nullptr;
  std::optional<Probe> best_probe;
  double best_gain = 0;
  const auto hypotheses = OpenHypotheses();
  for (const Hypothesis& hypothesis : hypotheses) {
    if (hypothesis.destructive && sense) continue;
    if (TimeIsUp()) {
      found_.undecided.push_back("The time was up before all hypotheses had been tried.");
      break;
    }
    Say("trying: " + hypothesis.cure);
    auto probe = Try({hypothesis.edit});
    if (!probe) continue;
    const Gain gain = GainOf(*now_, *probe);
    // Of one factor the likelier come first: a later one must be clearly better.
    const bool rival = best != nullptr && best->factor == hypothesis.factor;
    const double margin = rival ? kClearlyBetter : 0;
    // What the file speaks for comes before what only the text speaks for.
    const bool goes_before = best != nullptr && hypothesis.likely && !best->likely;
    if (best != nullptr && best->likely && !hypothesis.likely) continue;
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
      "So read, a text that the model knows costs {:.2f} nats per token instead of {:.2f} "
      "(a model that knows nothing: {:.2f}).",
      best_probe->nats(), now_->texts[best_probe->best()].per_token(), now_->uniform);
  // A better guess of one that still makes no sense proves little.
  const std::size_t findings = found_.findings.size();
  const std::optional<Probe> before = now_;
  Keep(*best, *std::move(best_probe), evidence);
  if (MakesSense() || Sensible(*before)) return true;
  found_.findings.resize(findings);
  found_.edits.pop_back();
  now_ = before;
  now_more_.reset();
  return false;
}

/// Two destructive faults hide each other.
void Search::TryPairs() {
  const auto hypotheses = OpenHypotheses();
  for (std::size_t i = 0; i < hypotheses.size(); ++i) {
    for (std::size_t k = i + 1; k < hypotheses.size(); ++k) {
      const Hypothesis &a = hypotheses[i], &b = hypotheses[k];
      if (a.factor == b.factor || !(a.destructive || b.destructive)) continue;
      if (TimeIsUp()) return;
      Say("trying: " + a.cure + " and " + b.cure);
      const auto probe = Try({a.edit, b.edit}, /*order=*/true);
      if (!probe || !Sensible(*probe) || !GainOf(*now_, *probe).clear) continue;
      const std::string evidence = fmt::format(
          "With both changes a text that the model knows costs {:.2f} nats per token "
          "instead of {:.2f}.",
          probe->nats(), now_->nats());
      Keep(a, *probe, evidence);
      Keep(b, *probe, evidence);
      return;
    }
  }
}

/// The file does not load as it is: the hypothesis with which it does, and knows the texts best.
void Search::TryToLoad() {
  const std::string why = last_error_;
  const auto hypotheses = OpenHypotheses();
  const Hypothesis* best = nullptr;
  std::optional<Probe> best_probe;
  for (const Hypothesis& hypothesis : hypotheses) {
    if (TimeIsUp()) break;
    Say("trying: " + hypothesis.cure);
    auto probe = Try({hypothesis.edit}, /*order=*/true);
    if (!probe || !Sensible(*probe)) continue;
    if (best_probe && best_probe->nats() <= probe->nats()) continue;
    best = &hypothesis;
    best_probe = std::move(probe);
  }
  if (best != nullptr) {
    Keep(*best, *std::move(best_probe), "Without it the model does not run: " + why + ".");
  }
  last_error_ = why;
}

void Search::TryFactors() {
  now_ = Try({}, /*order=*/true);
  if (!now_) TryToLoad();
  if (!now_) {
    found_.findings.push_back({"does_not_run", "The model does not run.", last_error_ + ".",
                               "fetch or make the file again", false});
    lost_ = true;
    return;
  }
  found_.nats_before = now_->nats();
  found_.uniform = now_->uniform;
  const bool random = !MakesSense() && !trained_;
  for (int round = 0; round < kMostRounds && !random && TryRound(); ++round) {
  }
  if (!MakesSense() && !random && small_) {
    TryPairs();
    for (int round = 0; round < kMostRounds && MakesSense() && TryRound(); ++round) {
    }
  }
  found_.nats_after = now_->nats();
}

void Search::AddUndecided() {
  if (!trained_) {
    found_.undecided.push_back(
        "The weights look like random numbers: no neuron has more zeros than chance gives it. "
        "Whether "
        "they mean anything cannot be judged.");
  } else {
    found_.undecided.push_back(fmt::format(
        "The text that this model knows best costs it {:.2f} nats per token, where a model "
        "that knows nothing pays {:.2f}, and the order of its words is worth {:.2f}; no "
        "hypothesis changed that.",
        now_->nats(), now_->uniform, now_->order_gain));
  }
}

void Search::Judge() {
  const std::size_t faults = found_.findings.size();
  if (lost_) {
    found_.verdict = Verdict::kIncurable;
    const auto worst = std::ranges::find(found_.findings, false, &Finding::curable);
    std::rotate(found_.findings.begin(), worst, worst + 1);
    found_.summary = found_.findings.front().cause;
  } else if (!MakesSense()) {
    found_.verdict = Verdict::kCannotTell;
    AddUndecided();
    found_.summary = faults == 0
                         ? "Nothing is wrong with the file's form, but its text makes no sense "
                           "in any reading that was tried."
                         : found_.findings.front().cause;
    if (!trained_) {
      found_.summary =
          "The weights look random, so whether the model makes sense cannot be judged.";
    }
  } else if (faults != 0) {
    found_.verdict = Verdict::kCurable;
    found_.summary = found_.findings.front().cause;
  } else {
    found_.verdict = Verdict::kHealthy;
    found_.summary = "Nothing is wrong.";
  }
}

Diagnosis Search::Run() {
  if (const auto file = open_()) {
    small_ = file->file_bytes() <= kSmallFile;
    TakeStatic(*file);
  } else {
    found_.findings.push_back(FindingOfUnreadable(path_, file.error()));
    lost_ = true;
  }
  if (!lost_) TryFactors();
  Judge();
  found_.seconds = Seconds();
  return std::move(found_);
}

/// The target that keeps the format of the ternary weights.
std::string TargetOf(const Checkpoint& file) {
  for (const formats::Tensor& tensor : file.tensors()) {
    if (!tensor.name.ends_with("ffn_down.weight")) continue;
    if (tensor.format == quant::WeightFormat::kHfPacked || tensor.quantize_absmean) {
      return file.kind().starts_with("GGUF") ? "i2_s" : "safetensors";
    }
    const auto* codec = quant::DefaultCodec(tensor.format);
    if (codec != nullptr) return std::string(codec->name);
  }
  return "i2_s";
}

}  // namespace

std::string_view VerdictName(Verdict verdict) noexcept {
  switch (verdict) {
    case Verdict::kHealthy:
      return "healthy";
    case Verdict::kCurable:
      return "curable";
    case Verdict::kIncurable:
      return "incurable";
    case Verdict::kCannotTell:
      return "cannot_tell";
  }
  return "";
}

Diagnosis Diagnose(const Opener& open, const std::string& path, const DiagnoseOptions& options) {
  return Search(open, path, options).Run();
}

Result<formats::ConvertReport> WriteCured(const Opener& open, const Diagnosis& diagnosis,
                                          const std::string& out, bool overwrite) {
  if (diagnosis.verdict != Verdict::kCurable) {
    return Fail(ErrorCode::kInvalidArgument, diagnosis.verdict == Verdict::kHealthy
                                                 ? "nothing is wrong, so nothing was written"
                                                 : "no cure is known, so nothing was written");
  }
  const auto file = BITTERN_TRY(OpenReading(open, diagnosis.edits));
  formats::ConvertOptions options;
  options.to = TargetOf(file);
  options.prove = true;
  options.overwrite = overwrite;
  Decisions ignored;
  options.hints = runtime::HintsFor(file, &ignored);
  return formats::Convert(file, out, options);
}

}  // namespace bittern::doctor
