// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/decision.hpp"
#include "base/result.hpp"
#include "formats/checkpoint.hpp"
#include "model/config.hpp"
#include "model/hadamard_rotation.hpp"

namespace bittern::model {

/// How the weights of a file were rotated; empty where it does not say so. Versions 1 and 2 of the
/// keys are known; what they cannot say is refused. Errors, by key: kUnsupported, kCorruptFile.
[[nodiscard]] Result<HadamardRotation> ReadRotation(const formats::Checkpoint& checkpoint,
                                                    const ModelConfig& config,
                                                    Decisions* decisions);

}  // namespace bittern::model
