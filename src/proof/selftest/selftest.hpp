// SPDX-License-Identifier: Apache-2.0
// One table of checks: does this program compute on this machine what it computes everywhere?
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "formats/checkpoint.hpp"

namespace bittern::proof {

enum class CheckState {
  kOk,
  kSlow,     ///< right, but much slower than usual
  kFailed,   ///< wrong
  kSkipped,  ///< could not be checked; the detail says why
};
/// "ok", "slow", "failed", "skipped".
[[nodiscard]] std::string_view CheckStateName(CheckState state) noexcept;

struct CheckRow {
  std::string group;  ///< "machine", "kernels", "shipped model", "given model"
  std::string name;
  CheckState state = CheckState::kOk;
  std::string detail;   ///< what was found; names no file
  bool missed = false;  ///< skipped for want of time: it would have been checked
  double seconds = 0;
};

/// Opens a model file; may be called several times.
using Opener = std::function<Result<formats::Checkpoint>()>;

struct SelftestOptions {
  Opener shipped = {};       ///< the model that comes with the program; empty: none
  Opener given = {};         ///< a user's; empty: none
  int num_threads = 0;       ///< 0: DefaultThreadCount()
  double seconds = 50;       ///< what has not begun after this time is skipped
  std::string version = {};  ///< of the program
  std::function<void(std::string_view)> on_progress = {};  ///< what is being done; may be empty
};

struct SelftestReport {
  std::vector<CheckRow> rows;
  double seconds = 0;
  /// No row has failed.
  [[nodiscard]] bool ok() const noexcept;
  /// No row was skipped for want of time.
  [[nodiscard]] bool complete() const noexcept;
};

/// Runs all checks. Never fails: what goes wrong is a row. One thread calls; checks use a team.
[[nodiscard]] SelftestReport RunSelftest(const SelftestOptions& options);

}  // namespace bittern::proof
