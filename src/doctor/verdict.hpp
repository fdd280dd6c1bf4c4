// SPDX-License-Identifier: Apache-2.0
// The verdict over all findings, in words.
#pragma once

#include <string>

#include "doctor/diagnose.hpp"

namespace bittern::doctor {

/// Whether the order of words means anything to the model, and the text is not all surprise.
[[nodiscard]] bool MakesSomeSense(const Probe& probe) noexcept;

/// The grounds of a verdict beside the findings.
struct Evidence {
  bool lost = false;             ///< a finding that cannot be put right
  bool trained = true;           ///< the weights do not look like random numbers
  const Probe* probe = nullptr;  ///< of the last reading; null: nothing ran
  std::string known_as;          ///< the file is this model's, byte by byte; empty: not known
};

/// Sets verdict, summary and what is undecided.
void Judge(const Evidence& evidence, Diagnosis* found);

}  // namespace bittern::doctor
