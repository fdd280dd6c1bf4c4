// SPDX-License-Identifier: Apache-2.0
// Finds what loading the weights would find wrong, without loading them: for `bittern inspect`.
#pragma once

#include <string>
#include <vector>

#include "base/decision.hpp"
#include "formats/checkpoint.hpp"
#include "model/config.hpp"

namespace bittern::model {

/// One sentence for each thing that Weights::Load would refuse, in its words, and for what it would
/// take and get wrong: with `read_values`, numbers of the embedding and the head that are not
/// finite. Codes and scales of ternary matrices are not looked at. Adds the decisions about tensors
/// that are not used.
[[nodiscard]] std::vector<std::string> CheckWeights(const formats::Checkpoint& checkpoint,
                                                    const ModelConfig& config, bool read_values,
                                                    Decisions* decisions);

}  // namespace bittern::model
