// SPDX-License-Identifier: Apache-2.0
// All that can be done for one file: a diagnosis, a comparison with a healthy file, a mended file.
// One thread calls.
#pragma once

#include <optional>
#include <string>

#include "doctor/diagnose.hpp"
#include "doctor/likeness.hpp"

namespace bittern::doctor {

/// How the mended file came out.
struct FixOutcome {
  std::string path;
  std::optional<formats::ConvertReport> report = {};
  std::string why = {};  ///< nothing was written; empty: it was
  [[nodiscard]] bool ok() const { return report && report->proof && report->proof->ok(); }
};

/// All that was found.
struct Outcome {
  std::string path;  ///< ExamineOptions::name
  Diagnosis diagnosis;
  std::optional<FixOutcome> fix;     ///< where one was asked for
  std::optional<Likeness> likeness;  ///< where a healthy file was given and both open
};

struct ExamineOptions {
  std::string name;        ///< of the file, in sentences
  Opener like = {};        ///< opens a healthy file; empty: none
  std::string fixed = {};  ///< where to write the mended file; empty: nowhere
  bool overwrite = false;  ///< replace `fixed` if it is there
  DiagnoseOptions diagnose = {};
};

/// Diagnoses the file that `open` opens; compares it; writes the mended file where the verdict is
/// kCurable. Errors: those of opening the healthy file and of writing; kInternal: the proof of the
/// mended file failed.
[[nodiscard]] Result<Outcome> Examine(const Opener& open, const ExamineOptions& options);

/// A folder that holds no model, or several, says nothing about a file: that is an error, not a
/// verdict. Error kIo.
[[nodiscard]] Result<void> CheckFolder(const std::string& path, const Opener& open);

}  // namespace bittern::doctor
