// SPDX-License-Identifier: Apache-2.0
#include "doctor/outcome/examine.hpp"

#include <fmt/format.h>

#include <filesystem>

namespace bittern::doctor {
namespace {

/// Compares with the healthy file; one that does not open here was diagnosed already.
Result<std::optional<Likeness>> CompareWith(const Opener& open, const Opener& like) {
  if (!like) return std::nullopt;
  BITTERN_TRY(like());
  if (!open()) return std::nullopt;
  return BITTERN_TRY(CompareFiles(open, like));
}

}  // namespace

Result<Outcome> Examine(const Opener& open, const ExamineOptions& options) {
  Outcome found{.path = options.name,
                .diagnosis = {},
                .fix = {},
                .likeness = BITTERN_TRY(CompareWith(open, options.like))};
  found.diagnosis = Diagnose(open, found.path, options.diagnose);
  if (found.likeness) ConfirmBy(*found.likeness, &found.diagnosis);
  if (options.fixed.empty()) return found;
  if (found.diagnosis.verdict != Verdict::kCurable) {
    found.fix = FixOutcome{.path = options.fixed,
                           .why = std::string(NothingWritten(found.diagnosis.verdict))};
    return found;
  }
  auto report = BITTERN_TRY(WriteCured(open, found.diagnosis, options.fixed, options.overwrite));
  found.fix = FixOutcome{.path = options.fixed, .report = std::move(report)};
  if (found.fix->ok()) return found;
  return Fail(ErrorCode::kInternal,
              fmt::format("the proof failed; {} was not written: {}", options.fixed,
                          found.fix->report->proof->first_problem));
}

Result<void> CheckFolder(const std::string& path, const Opener& open) {
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) return {};
  const auto file = open();
  if (file || file.error().code != ErrorCode::kIo) return {};
  return tl::unexpected(file.error());
}

}  // namespace bittern::doctor
