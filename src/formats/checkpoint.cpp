// SPDX-License-Identifier: Apache-2.0
// Tensors point into mapped files, or into memory that was made for them. Both live as long as the
// checkpoint, so a pointer to a tensor that was replaced stays valid.
#include "formats/checkpoint.hpp"

#include <functional>
#include <utility>

#include "quant/blocks/dequantize.hpp"

namespace bittern::formats {

/// Without biases a pack is ternary: code 0 stands for minus the scale.
std::pair<float, float> TensorPlaces::ScaleAndBias(std::size_t i) const noexcept {
  const std::size_t bytes = scale_format == quant::WeightFormat::kF32 ? 4 : 2;
  const auto decode = quant::DequantizeRowFor(scale_format);
  float scale, bias;
  decode(scales.data() + i * bytes, 1, &scale);
  if (biases.empty()) return {scale, -scale};
  decode(biases.data() + i * bytes, 1, &bias);
  return {scale, bias};
}

/// A tensor that was made of parts counts them, not the memory in which they were joined.
std::uint64_t Tensor::stored_bytes() const noexcept {
  if (places == nullptr) return bytes.size();
  std::uint64_t sum = places->scales.size() + places->biases.size();
  for (const auto& part : places->parts) sum += part.size();
  return places->parts.empty() ? sum + bytes.size() : sum;
}

void Checkpoint::SetTensors(std::vector<Tensor> tensors) {
  tensors_ = std::move(tensors);
  index_.clear();
  index_.reserve(tensors_.size());
  for (std::size_t i = 0; i < tensors_.size(); ++i) index_.emplace(tensors_[i].name, i);
}

void Checkpoint::ReplaceTensors(std::vector<Tensor> tensors,
                                std::vector<std::vector<std::byte>> memory) {
  for (auto& bytes : memory) replaced_.push_back(std::move(bytes));
  SetTensors(std::move(tensors));
}

std::uint64_t Checkpoint::file_bytes() const noexcept {
  std::uint64_t bytes = memory_.size();
  for (const MappedFile& file : files_) bytes += file.bytes().size();
  return bytes;
}

Result<void> Checkpoint::CheckUnchanged() const {
  for (const MappedFile& file : files_) BITTERN_TRY(file.CheckUnchanged());
  return {};
}

void Checkpoint::Release(const Tensor& tensor) const noexcept {
  Release(tensor.bytes);
  if (tensor.places == nullptr) return;
  Release(tensor.places->scales);
  Release(tensor.places->biases);
  for (const auto& part : tensor.places->parts) Release(part);
}

/// Memory that is no file's stays: it cannot be read again. Pointers of different objects are
/// compared by std::less_equal, which orders all of them.
void Checkpoint::Release(std::span<const std::byte> bytes) const noexcept {
  const std::less_equal<const std::byte*> not_after;
  for (const MappedFile& file : files_) {
    const std::span<const std::byte> all = file.bytes();
    const bool inside = not_after(all.data(), bytes.data()) &&
                        not_after(bytes.data() + bytes.size(), all.data() + all.size());
    if (inside) file.Release(bytes);
  }
}

const Tensor* Checkpoint::Find(std::string_view name) const {
  const auto found = index_.find(std::string(name));
  return found == index_.end() ? nullptr : &tensors_[found->second];
}

}  // namespace bittern::formats
