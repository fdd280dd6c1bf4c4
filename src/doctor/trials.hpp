// SPDX-License-Identifier: Apache-2.0
// Readings that are run: the edits so far, and what is tried beyond them.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "doctor/facts/reading.hpp"
#include "doctor/probe.hpp"

namespace bittern::doctor {

/// One thread; a trial uses the team. What is referred to outlives it.
class Trials {
 public:
  Trials(const Opener& open, const std::vector<Edit>& edits, int num_threads)
      : open_(open), edits_(edits), num_threads_(num_threads) {}

  /// Runs the reading so far with more edits; nullopt where it does not run (see last_error()).
  [[nodiscard]] std::optional<Probe> Run(const std::vector<Edit>& further,
                                         ProbeOptions options = {});
  [[nodiscard]] std::size_t count() const noexcept { return count_; }
  [[nodiscard]] const std::string& last_error() const noexcept { return last_error_; }
  void set_last_error(std::string error) { last_error_ = std::move(error); }

 private:
  const Opener& open_;
  const std::vector<Edit>& edits_;
  const int num_threads_;
  std::size_t count_ = 0;
  std::string last_error_;
};

}  // namespace bittern::doctor
