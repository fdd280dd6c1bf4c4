// SPDX-License-Identifier: Apache-2.0
// The table as it grows.
#pragma once

#include <chrono>
#include <string>
#include <utility>

#include "proof/selftest/selftest.hpp"

namespace bittern::proof {

/// The result of one check.
struct CheckOutcome {
  CheckState state = CheckState::kOk;
  std::string detail = {};
};

/// An error as an outcome.
[[nodiscard]] inline CheckOutcome Failed(const Error& error) {
  return {CheckState::kFailed, error.message};
}

/// Adds rows, with their time. One thread.
class CheckList {
 public:
  CheckList(const SelftestOptions& options, SelftestReport* report)
      : options_(options), report_(*report), start_(Clock::now()) {}

  /// Runs `check`, which returns an CheckOutcome, unless the time is up.
  template <class Check>
  void Run(std::string group, std::string name, const Check& check) {
    if (options_.on_progress) options_.on_progress(group + ": " + name);
    const auto begin = Clock::now();
    CheckOutcome outcome{CheckState::kSkipped, "the time was up"};
    const bool missed = seconds() >= options_.seconds;
    if (!missed) outcome = check();
    report_.rows.push_back({std::move(group), std::move(name), outcome.state,
                            std::move(outcome.detail), missed, Seconds(Clock::now() - begin)});
  }
  [[nodiscard]] double seconds() const { return Seconds(Clock::now() - start_); }
  [[nodiscard]] const SelftestOptions& options() const noexcept { return options_; }

 private:
  using Clock = std::chrono::steady_clock;
  static double Seconds(Clock::duration d) { return std::chrono::duration<double>(d).count(); }

  const SelftestOptions& options_;
  SelftestReport& report_;
  Clock::time_point start_;
};

/// Bandwidth of the memory, rate of the matrix kernel, clock.
void CheckMachine(CheckList* list);
/// Every kernel of this CPU against its scalar twin.
void CheckKernels(CheckList* list);
/// Checks a model against its known results, and that all instruction sets agree on it.
void CheckModel(CheckList* list, const std::string& group, const Opener& open);

}  // namespace bittern::proof
