// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace bittern::model {

/// Rows of up_proj and columns of down_proj that were read and those that were there, summed over
/// layers and passes of a single token.
struct SkipStats {
  std::uint64_t up_rows = 0, live_up_rows = 0;
  std::uint64_t down_columns = 0, live_down_columns = 0;
};

}  // namespace bittern::model
