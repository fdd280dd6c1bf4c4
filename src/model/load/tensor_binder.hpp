// SPDX-License-Identifier: Apache-2.0
// Finds tensors by name and checks shape and format; remembers which were asked for, so that what
// is left over can be reported.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "formats/checkpoint.hpp"

namespace bittern::model {

class TensorBinder {
 public:
  explicit TensorBinder(const formats::Checkpoint& checkpoint) : checkpoint_(checkpoint) {}

  [[nodiscard]] const formats::Checkpoint& checkpoint() const noexcept { return checkpoint_; }

  /// The tensor if it is there; marks it as used.
  [[nodiscard]] const formats::Tensor* Find(const std::string& name);

  /// The tensor `name` of rows x cols (rows 1: a vector). Error kCorruptFile.
  [[nodiscard]] Result<const formats::Tensor*> Matrix(const std::string& name, std::size_t rows,
                                                      std::size_t cols);
  /// The floats of an F32, F16 or BF16 vector; every one must be finite.
  [[nodiscard]] Result<std::vector<float>> Vector(const std::string& name, std::size_t size);

  /// Names of the tensors that were not asked for, in file order.
  [[nodiscard]] std::vector<std::string> Unused() const;

 private:
  const formats::Checkpoint& checkpoint_;
  std::unordered_set<std::string> used_;
};

/// "tensor "NAME": " in front of an error.
[[nodiscard]] std::string TensorPrefix(std::string_view name);

}  // namespace bittern::model
