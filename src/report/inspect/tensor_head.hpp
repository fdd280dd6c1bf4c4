// SPDX-License-Identifier: Apache-2.0
// The first weights of one tensor, as they are read: codes and scales of a ternary one, numbers of
// any other.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/decision.hpp"
#include "base/json/json.hpp"
#include "base/result.hpp"
#include "formats/checkpoint.hpp"

namespace bittern::report {

struct TensorHead {
  const formats::Tensor* tensor = nullptr;  ///< of the checkpoint, whose life it shares
  std::string layout = {};                  ///< "i2_s"; empty: not ternary
  std::vector<int> codes = {};              ///< -1, 0, +1, row by row
  std::vector<float> scales = {};           ///< of the first row that `codes` touches
  std::size_t group_cols = 0;               ///< columns that share one of `scales`
  std::vector<float> numbers = {};          ///< of a tensor that is not ternary
};

/// The first `count` weights of the tensor `name`. Errors: kNotFound (no such tensor; the closest
/// name), kUnsupported (a format whose numbers are not read), kCorruptFile (invalid codes).
[[nodiscard]] Result<TensorHead> HeadOf(const formats::Checkpoint& checkpoint,
                                        const std::string& name, std::size_t count,
                                        Decisions* decisions);

[[nodiscard]] std::string TensorHeadText(const TensorHead& head);
/// {"name", "format", "layout", "shape", "scales", "group_columns", "codes"}, or "values" in place
/// of what only ternary tensors have.
[[nodiscard]] Json TensorHeadJson(const TensorHead& head);

}  // namespace bittern::report
