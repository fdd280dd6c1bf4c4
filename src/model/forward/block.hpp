// SPDX-License-Identifier: Apache-2.0
// One transformer layer of any architecture that is known (formats/architecture.hpp).
#pragma once

#include "model/forward/context.hpp"

namespace bittern::model {

/// state.hidden (N, hidden_size) through layer `index`, in place. No barrier at the end.
void RunBlock(const Context& context, int index);

}  // namespace bittern::model
