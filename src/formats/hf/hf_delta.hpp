// SPDX-License-Identifier: Apache-2.0
// The order of value heads. In a folder those of one key head lie side by side; in a GGUF file head
// h has key head h % key_heads. Any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "formats/hf/hf_config.hpp"
#include "formats/network_tensors.hpp"

namespace bittern::formats {

/// The order of a tensor of a delta layer: element r is the place in the folder of what GGUF has at
/// r. Empty: all are in their place. `columns`: it is that of columns, else of rows.
struct DeltaOrder {
  std::vector<std::uint32_t> places;
  bool columns = false;
};
[[nodiscard]] DeltaOrder OrderOfDelta(const HfDelta& delta, TensorId id);

}  // namespace bittern::formats
