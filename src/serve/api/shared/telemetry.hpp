// SPDX-License-Identifier: Apache-2.0
// Figures that a stream carries beside its text, as llama-server does: the times so far, and how
// much of the prompt has been read. An answer's shape holds one; its threads are the shape's.
#pragma once

#include <optional>
#include <vector>

#include "serve/api/shared/json_text.hpp"

namespace bittern::serve {

/// The figures of one request's sequences.
class Telemetry {
 public:
  Telemetry(const request::TelemetryRequest& wanted, std::size_t sequences)
      : wanted_(wanted), so_far_(sequences), told_(sequences, -1) {}

  /// Takes the times of a sequence. Returns the "prompt_progress" to send now, if it is wanted and
  /// more of the prompt has been read than the last one said.
  [[nodiscard]] std::optional<Json> Note(std::size_t choice,
                                         const runtime::SequenceTimings& so_far);

  /// Adds "timings" to a chunk, if they are wanted and the sequence has begun to run.
  void AddTimings(std::size_t choice, Json* chunk) const;

 private:
  request::TelemetryRequest wanted_;
  std::vector<runtime::SequenceTimings> so_far_;  // of each sequence
  std::vector<int> told_;  // of each: tokens read, as the last progress said; -1: none
};

}  // namespace bittern::serve
