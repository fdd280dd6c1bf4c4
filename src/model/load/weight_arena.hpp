// SPDX-License-Identifier: Apache-2.0
// The place of matrices once they are laid out: in memory, or in a file where memory has no room
// for them. The system drops parts of the file and reads them again. A token needs few of a mixture
// of experts, so such a model runs in less memory than it has weights.
#pragma once

#include <cstdint>

#include "base/decision.hpp"
#include "base/memory/aligned_buffer.hpp"
#include "formats/checkpoint.hpp"
#include "model/load_options.hpp"

namespace bittern::model {

/// An arena for the ternary matrices of layers, with a decision where it is a file or should be one
/// and cannot. The output head is in memory already. One thread.
[[nodiscard]] HugeArena ChooseArena(const formats::Checkpoint& checkpoint,
                                    const LoadOptions& options, Decisions* decisions);

}  // namespace bittern::model
