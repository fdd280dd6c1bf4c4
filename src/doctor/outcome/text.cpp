// SPDX-License-Identifier: Apache-2.0
#include "doctor/outcome/text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text/display.hpp"

namespace bittern::doctor {
namespace {

std::string LikenessText(const Likeness& likeness, const Wording& word) {
  constexpr std::size_t kMostShown = 20;
  std::string text = fmt::format("\n  Beside {}: {}\n", likeness.path, likeness.summary);
  for (const auto* list : {&likeness.unlike, &likeness.unlike_keys}) {
    for (std::size_t i = 0; i < std::min(list->size(), kMostShown); ++i) {
      text += fmt::format("    {}: {}\n", Printable((*list)[i].name), (*list)[i].what);
    }
    if (list->size() > kMostShown) {
      text += word(fmt::format("    and {} more (json=true has all)\n", list->size() - kMostShown));
    }
  }
  return text;
}

/// "cannot tell"
std::string Words(Verdict verdict) {
  std::string words(VerdictName(verdict));
  std::ranges::replace(words, '_', ' ');
  return words;
}

constexpr std::string_view kWasThisAll =
    "Whether this was all, only a healthy file can tell: like=HEALTHY.";

std::string FixText(const FixOutcome& fix, const Wording& word) {
  if (!fix.why.empty()) return fmt::format("\n  {} was not written: {}.\n", fix.path, fix.why);
  return fmt::format("\n  {} written; codes and scales proved. {}\n", fix.path, word(kWasThisAll));
}

}  // namespace

std::string CureAdvice(const std::string& path, const Wording& word) {
  return fmt::format("bittern doctor {} {} {}", path,
                     word("fixed=FILE writes a file with all of this put right."),
                     word(kWasThisAll));
}

std::string OutcomeText(const Outcome& found, const Wording& word) {
  const Diagnosis& diagnosis = found.diagnosis;
  const bool told_below = diagnosis.findings.size() == 1;  // the summary is that finding's cause
  std::string text = fmt::format("{}: {}.{}\n", found.path, Words(diagnosis.verdict),
                                 told_below ? "" : " " + diagnosis.summary);
  for (const Finding& finding : diagnosis.findings) {
    text += fmt::format("\n  {}\n  Evidence: {}\n  Cure: {}\n", finding.cause, finding.evidence,
                        finding.cure);
  }
  for (const std::string& sentence : diagnosis.undecided) text += fmt::format("\n  {}\n", sentence);
  if (found.likeness) text += LikenessText(*found.likeness, word);
  if (!found.likeness &&
      (diagnosis.verdict == Verdict::kNothingFound || diagnosis.verdict == Verdict::kCannotTell)) {
    text += word("\n  like=HEALTHY compares with a healthy file and makes sure.\n");
  }
  if (found.fix) {
    text += FixText(*found.fix, word);
  } else if (diagnosis.verdict == Verdict::kCurable) {
    text += fmt::format("\n  {}\n", CureAdvice(found.path, word));
  }
  if (diagnosis.nats_after) {
    text += fmt::format(
        "\n  {:.2f} nats per token of the built-in text that the model knows best; {} "
        "{} in {:.1f} s\n",
        *diagnosis.nats_after, diagnosis.trials, diagnosis.trials == 1 ? "trial" : "trials",
        diagnosis.seconds);
  }
  return text;
}

}  // namespace bittern::doctor
