// SPDX-License-Identifier: Apache-2.0
// The order of value heads. A folder keeps the value heads of one key head side by side. A GGUF
// file gives value head h the key head h % key_heads. Any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "formats/hf/hf_config.hpp"
#include "formats/network_tensors.hpp"

namespace bittern::formats {

/// The order of the rows or columns of a delta layer's tensor.
struct DeltaOrder {
  /// Row or column r of the GGUF tensor is number places[r] in the folder. Empty: the order is the
  /// same.
  std::vector<std::uint32_t> places;
  bool columns = false;  ///< `places` are numbers of columns; else of rows
};
[[nodiscard]] DeltaOrder OrderOfDelta(const HfDelta& delta, TensorId id);

}  // namespace bittern::formats
