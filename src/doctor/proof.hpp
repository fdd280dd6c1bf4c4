// SPDX-License-Identifier: Apache-2.0
// Whether what made a text more probable is the cause of what is wrong. A fault that no hypothesis
// names makes many wrong readings a little better, so a gain alone proves nothing.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "doctor/hypotheses/hypotheses.hpp"
#include "doctor/trials.hpp"

namespace bittern::doctor {

/// A change that was kept because the text gained by it.
struct Step {
  Probe before, after;
  bool likely = false;      ///< the file itself speaks for it
  std::vector<Part> parts;  ///< what it is about, where that is not the whole model
};

/// True where the text costs clearly more than the model expects: it is sure of what is wrong.
[[nodiscard]] bool IsSureOfWrong(const Probe& probe) noexcept;

/// A sentence that says why the steps are no proven cure; empty: they are. `end` is the last
/// reading's; `costs` its parts' costs, empty where they were not measured.
struct PartCost;
[[nodiscard]] std::string DoubtAbout(const std::vector<Step>& steps,
                                     const std::vector<PartCost>& costs);

/// The cost of leaving a part out, in nats per token of the text known best. Every part of a
/// trained model helps; one that does not holds something that is not its own.
struct PartCost {
  Part part;
  Probe without;
  double nats = 0;
};
/// Every part; nothing where the scales are not the file's own. `now`: of the reading of `trials`.
[[nodiscard]] std::vector<PartCost> CostsOfParts(const Probe& now, Trials* trials,
                                                 const formats::Checkpoint& file);
/// The parts that help little or not at all.
[[nodiscard]] std::vector<Part> SuspectsOf(const std::vector<PartCost>& costs);
/// The part without which the text is clearly more probable, if one stands out.
[[nodiscard]] const PartCost* HarmOf(const Probe& now, const std::vector<PartCost>& costs);

}  // namespace bittern::doctor
