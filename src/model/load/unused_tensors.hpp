// SPDX-License-Identifier: Apache-2.0
// Tensors of a file that its network has no place for: refused where leaving it out would change
// the result, reported elsewhere.
#pragma once

#include <string>
#include <vector>

#include "base/decision.hpp"
#include "base/result.hpp"
#include "model/config.hpp"

namespace bittern::model {

/// `unused`: names of the tensors that were not asked for. Error kUnsupported names one of them,
/// the key that is likely wrong and the cure, if there is one.
[[nodiscard]] Result<void> ReportUnusedTensors(const std::vector<std::string>& unused,
                                               const ModelConfig& config, Decisions* decisions);

}  // namespace bittern::model
