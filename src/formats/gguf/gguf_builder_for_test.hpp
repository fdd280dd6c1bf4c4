// SPDX-License-Identifier: Apache-2.0
// Makes GGUF files in memory for tests and fuzz seeds: good ones, and, because it writes whatever
// it is told and remembers where each field lies, every kind of bad one. Never part of the library.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "formats/metadata.hpp"
#include "quant/weight_format.hpp"

namespace bittern::formats {

/// Collects keys and tensors; Build() writes them in the order given.
///   GgufBuilder().Add("general.architecture", "bitnet").AddTensor("a", kF32, {4}).Build()
class GgufBuilder {
 public:
  using Bytes = std::vector<std::byte>;

  /// A number in the header that says how long, how many, where or what.
  struct Field {
    std::string what;   ///< "key length", "tensor count", "dimension", ...
    std::string place;  ///< the key or tensor it belongs to; empty for the file's own
    std::size_t offset;
    std::size_t size;  ///< 4 or 8
  };

  explicit GgufBuilder(std::uint32_t version = 3) : version_(version) {}

  /// A number or bool, with T's own GGUF type.
  template <class T>
    requires std::is_arithmetic_v<T>
  GgufBuilder& Add(std::string_view key, T value) {
    return AddRaw(key, TypeOf<T>(), Raw(value));
  }
  GgufBuilder& Add(std::string_view key, std::string_view text) {
    keys_.push_back(
        {std::string(key), MetaType::kString, MetaType::kString, {}, 0, {std::string(text)}});
    return *this;
  }
  GgufBuilder& Add(std::string_view key, const char* text) {
    return Add(key, std::string_view(text));
  }
  template <class T>
  GgufBuilder& AddArray(std::string_view key, const std::vector<T>& values) {
    Bytes raw;
    for (const T value : values) Append(Raw(value), &raw);
    return AddRawArray(key, TypeOf<T>(), values.size(), std::move(raw));
  }
  GgufBuilder& AddStrings(std::string_view key, std::vector<std::string> texts) {
    keys_.push_back({std::string(key),
                     MetaType::kArray,
                     MetaType::kString,
                     {},
                     texts.size(),
                     std::move(texts)});
    return *this;
  }
  /// A value of any type id whose bytes are given: for types that do not exist.
  GgufBuilder& AddRaw(std::string_view key, MetaType type, Bytes raw) {
    keys_.push_back({std::string(key), type, type, std::move(raw), 0, {}});
    return *this;
  }
  GgufBuilder& AddRawArray(std::string_view key, MetaType element, std::uint64_t count, Bytes raw) {
    keys_.push_back({std::string(key), MetaType::kArray, element, std::move(raw), count, {}});
    return *this;
  }

  /// A tensor with these bytes of data; `type` may be an id that Bittern does not read.
  GgufBuilder& AddTensor(std::string_view name, std::uint32_t type,
                         std::vector<std::uint64_t> shape, Bytes data) {
    tensors_.push_back({std::string(name), type, std::move(shape), std::move(data)});
    return *this;
  }
  /// A tensor of zero bytes, as many as the format asks for.
  GgufBuilder& AddTensor(std::string_view name, quant::WeightFormat format,
                         std::vector<std::uint64_t> shape) {
    std::uint64_t rows = 1;
    for (std::size_t i = 1; i < shape.size(); ++i) rows *= shape[i];
    const std::uint64_t row = shape.empty() ? 1 : shape[0];
    const auto size = quant::TensorBytes(quant::InfoOf(format), row, rows);
    return AddTensor(name, static_cast<std::uint32_t>(format), std::move(shape),
                     Bytes(size.value_or(0)));
  }
  /// The alignment that Build pads with; does not write general.alignment.
  GgufBuilder& PadTo(std::size_t alignment) {
    alignment_ = alignment;
    return *this;
  }

  /// The file's bytes; the last tensor is not padded.
  [[nodiscard]] Bytes Build() {
    out_.clear();
    fields_.clear();
    Append(AsBytes("GGUF"), &out_);
    Put("version", "", version_);
    Put("tensor count", "", std::uint64_t{tensors_.size()});
    Put("key count", "", std::uint64_t{keys_.size()});
    for (const Key& key : keys_) PutKey(key);
    std::uint64_t offset = 0;
    for (const Tensor& tensor : tensors_) {
      PutTensorInfo(tensor, offset);
      offset = RoundUp(offset + tensor.data.size());
    }
    header_bytes_ = out_.size();
    for (const Tensor& tensor : tensors_) {
      out_.resize(RoundUp(out_.size()));
      Append(tensor.data, &out_);
    }
    return out_;
  }
  /// The offsets of the last Build's fields.
  [[nodiscard]] std::span<const Field> fields() const { return fields_; }
  /// Bytes before the padding that precedes tensor data.
  [[nodiscard]] std::size_t header_bytes() const { return header_bytes_; }

  template <class T>
  [[nodiscard]] static Bytes Raw(T value) {
    Bytes raw(sizeof(T));
    std::memcpy(raw.data(), &value, sizeof(T));
    return raw;
  }
  [[nodiscard]] static Bytes AsBytes(std::string_view text) {
    const auto* first = reinterpret_cast<const std::byte*>(text.data());
    return Bytes(first, first + text.size());
  }

 private:
  struct Key {
    std::string name;
    MetaType type, element;
    Bytes raw;
    std::uint64_t count;
    std::vector<std::string> texts;
  };
  struct Tensor {
    std::string name;
    std::uint32_t type;
    std::vector<std::uint64_t> shape;
    Bytes data;
  };

  template <class T>
  static constexpr MetaType TypeOf() {
    if constexpr (std::same_as<T, bool>) return MetaType::kBool;
    if constexpr (std::same_as<T, float>) return MetaType::kF32;
    if constexpr (std::same_as<T, double>) return MetaType::kF64;
    constexpr bool kSigned = std::is_signed_v<T>;
    if constexpr (sizeof(T) == 1) return kSigned ? MetaType::kI8 : MetaType::kU8;
    if constexpr (sizeof(T) == 2) return kSigned ? MetaType::kI16 : MetaType::kU16;
    if constexpr (sizeof(T) == 4) return kSigned ? MetaType::kI32 : MetaType::kU32;
    return kSigned ? MetaType::kI64 : MetaType::kU64;
  }
  static void Append(const Bytes& bytes, Bytes* out) {
    out->insert(out->end(), bytes.begin(), bytes.end());
  }
  [[nodiscard]] std::uint64_t RoundUp(std::uint64_t value) const {
    return (value + alignment_ - 1) / alignment_ * alignment_;
  }

  template <class T>
  void Put(std::string_view what, std::string_view place, T value) {
    fields_.push_back({std::string(what), std::string(place), out_.size(), sizeof(T)});
    Append(Raw(value), &out_);
  }
  void PutString(std::string_view what, std::string_view place, std::string_view text) {
    Put(what, place, std::uint64_t{text.size()});
    Append(AsBytes(text), &out_);
  }
  void PutKey(const Key& key) {
    PutString("key length", key.name, key.name);
    Put("value type", key.name, static_cast<std::uint32_t>(key.type));
    if (key.type == MetaType::kArray) {
      Put("element type", key.name, static_cast<std::uint32_t>(key.element));
      Put("array count", key.name, key.count);
    }
    for (const std::string& text : key.texts) PutString("string length", key.name, text);
    Append(key.raw, &out_);
  }
  void PutTensorInfo(const Tensor& tensor, std::uint64_t offset) {
    PutString("name length", tensor.name, tensor.name);
    Put("rank", tensor.name, static_cast<std::uint32_t>(tensor.shape.size()));
    for (const std::uint64_t size : tensor.shape) Put("dimension", tensor.name, size);
    Put("tensor type", tensor.name, tensor.type);
    Put("data offset", tensor.name, offset);
  }

  std::uint32_t version_;
  std::uint64_t alignment_ = 32;
  std::vector<Key> keys_;
  std::vector<Tensor> tensors_;
  Bytes out_;
  std::vector<Field> fields_;
  std::size_t header_bytes_ = 0;
};

}  // namespace bittern::formats
