// SPDX-License-Identifier: Apache-2.0
// From a file to what is wrong with it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "doctor/facts/finding.hpp"
#include "doctor/probe.hpp"
#include "formats/convert/convert.hpp"

namespace bittern::doctor {

struct DiagnoseOptions {
  int num_threads = 0;
  double seconds = 50;  ///< no new trial begins after this time
  /// Told now and then of the work that is being done; may be empty.
  std::function<void(std::string_view)> on_progress = {};
  /// The name of the model whose file this is, byte by byte; empty: not known. May be empty.
  std::function<std::string(const formats::Checkpoint&)> identify = {};
};

struct Diagnosis {
  Verdict verdict = Verdict::kCannotTell;
  std::vector<Finding> findings;                  ///< the first matters most
  std::string summary;                            ///< one sentence
  std::vector<std::string> undecided;             ///< what could not be told, a sentence each
  std::optional<double> nats_before, nats_after;  ///< per token of the text known best
  std::optional<double> nats_expected;            ///< what the model itself expects of nats_before
  double uniform = 0;                             ///< nats per token of a model that knows nothing
  std::size_t trials = 0;                         ///< readings that were run
  double seconds = 0;
  std::vector<Edit> edits;  ///< all cures, in their order
};

/// Looks at a file, and runs it where that can tell more. Never fails: what goes wrong is a
/// finding. `path` stands in sentences. The same file gives the same diagnosis, unless the time is
/// up.
[[nodiscard]] Diagnosis Diagnose(const Opener& open, const std::string& path,
                                 const DiagnoseOptions& options);

struct Likeness;
/// A file that is in all tensors and keys as another, which is healthy, is healthy: changes the
/// verdict where nothing was found or could be told.
void ConfirmBy(const Likeness& likeness, Diagnosis* found);

/// Why WriteCured writes nothing with this verdict.
[[nodiscard]] std::string_view NothingWritten(Verdict verdict) noexcept;
/// Writes the file as the diagnosis reads it, in the format it has, with proof. Errors as
/// formats::Convert; kInvalidArgument: there is nothing to put right.
[[nodiscard]] Result<formats::ConvertReport> WriteCured(const Opener& open,
                                                        const Diagnosis& diagnosis,
                                                        const std::string& out, bool overwrite);

}  // namespace bittern::doctor
