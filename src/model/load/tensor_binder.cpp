// SPDX-License-Identifier: Apache-2.0
#include "model/load/tensor_binder.hpp"

#include <fmt/format.h>

#include <cmath>

#include "quant/blocks/dequantize.hpp"

namespace bittern::model {

std::string TensorPrefix(std::string_view name) { return fmt::format("tensor \"{}\"", name); }

const formats::Tensor* TensorBinder::Find(const std::string& name) {
  const formats::Tensor* tensor = checkpoint_.Find(name);
  if (tensor != nullptr) used_.insert(name);
  return tensor;
}

Result<const formats::Tensor*> TensorBinder::Matrix(const std::string& name, std::size_t rows,
                                                    std::size_t cols) {
  const formats::Tensor* tensor = Find(name);
  if (tensor == nullptr) {
    return Fail(ErrorCode::kCorruptFile, TensorPrefix(name) + " is missing");
  }
  if (tensor->row_elements() != cols || tensor->rows() != rows) {
    return Fail(ErrorCode::kCorruptFile,
                fmt::format("{}: expected {} rows of {}, found {} rows of {}", TensorPrefix(name),
                            rows, cols, tensor->rows(), tensor->row_elements()));
  }
  return tensor;
}

Result<std::vector<float>> TensorBinder::Vector(const std::string& name, std::size_t size) {
  const formats::Tensor* tensor = BITTERN_TRY(Matrix(name, 1, size));
  using quant::WeightFormat;
  if (tensor->format != WeightFormat::kF32 && tensor->format != WeightFormat::kF16 &&
      tensor->format != WeightFormat::kBF16) {
    return Fail(ErrorCode::kUnsupported,
                fmt::format("{}: expected F32, F16 or BF16, found {}", TensorPrefix(name),
                            quant::InfoOf(tensor->format).name));
  }
  std::vector<float> values(size);
  quant::DequantizeRowFor(tensor->format)(tensor->bytes.data(), size, values.data());
  for (std::size_t i = 0; i < size; ++i) {
    if (!std::isfinite(values[i])) {
      return Fail(ErrorCode::kCorruptFile,
                  fmt::format("{}: element {} is {}, expected a finite number", TensorPrefix(name),
                              i, values[i]));
    }
  }
  return values;
}

std::vector<std::string> TensorBinder::Unused() const {
  std::vector<std::string> names;
  for (const formats::Tensor& tensor : checkpoint_.tensors()) {
    if (!used_.contains(tensor.name)) names.push_back(tensor.name);
  }
  return names;
}

}  // namespace bittern::model
