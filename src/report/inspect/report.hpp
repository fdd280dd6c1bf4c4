// SPDX-License-Identifier: Apache-2.0
// A model file as it is: sizes, formats, codes counted, decisions and findings. Findings name
// options as key=value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/decision.hpp"
#include "base/json/json.hpp"
#include "formats/checkpoint.hpp"
#include "quant/ternary_stats.hpp"

namespace bittern::report {

/// A tensor's ternary codes; only for formats that have them.
struct TernaryTensor {
  quant::TernaryStats stats;
  float scale = 0;          ///< the largest
  std::string damage = {};  ///< the first thing that loading would refuse; empty for a good one
};

/// Sums over the tensors of one format.
struct FormatTotal {
  std::string format;
  std::uint64_t tensors = 0, parameters = 0, bytes = 0;
};

/// The answers that one wants first.
struct InspectSummary {
  std::string name;  ///< general.name; may be empty
  std::string architecture;
  int context_length = 0;             ///< 0: not known
  std::uint64_t weight_bytes = 0;     ///< in memory: two bits for each ternary weight
  std::uint64_t context_bytes = 0;    ///< keys and values of the whole context, as f16
  int experts = 0, experts_used = 0;  ///< in each layer, and for each token; 0: there are none
  bool runs = false;                  ///< nothing that a run would refuse was found
};

/// One file. Entry i of `ternary` belongs to tensor i of the checkpoint, whose life it shares.
struct InspectReport {
  const formats::Checkpoint* checkpoint = nullptr;
  std::vector<FormatTotal> totals;  ///< in order of appearance
  FormatTotal total;
  InspectSummary summary;
  bool counted_codes = false;
  std::vector<std::optional<TernaryTensor>> ternary;
  quant::TernaryStats ternary_total;
  Decisions decisions;
  bool has_plain_floats = false;      ///< where ternary weights are expected
  std::vector<std::string> findings;  ///< one sentence for each fault; empty for a good one
};

/// Reads the header, the ternary tensors, embedding and head if `count_codes`, and asks the model
/// and the tokenizer what they would decide and refuse; their errors become findings.
[[nodiscard]] InspectReport MakeInspectReport(const formats::Checkpoint& checkpoint,
                                              bool count_codes);

/// The report for programs: one object with everything.
[[nodiscard]] Json InspectJson(const InspectReport& report);

}  // namespace bittern::report
