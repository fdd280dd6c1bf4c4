// SPDX-License-Identifier: Apache-2.0
#include "model/row_failure.hpp"

#include <fmt/format.h>

#include "model/trace_point.hpp"

namespace bittern::model {

Error NotFiniteError(const RowFailure& failure, int position) {
  const std::string layer = failure.layer < 0 ? "" : fmt::format("layer {}, ", failure.layer);
  return {ErrorCode::kInternal,
          fmt::format("position {}, {}operation {}: not finite numbers, or too large to go on "
                      "with: the weights are damaged or the file is read with a wrong setting (see "
                      "`bittern inspect`)",
                      position, layer, TracePointName(failure.point))};
}

}  // namespace bittern::model
