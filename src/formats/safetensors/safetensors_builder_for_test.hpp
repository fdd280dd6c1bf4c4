// SPDX-License-Identifier: Apache-2.0
// Makes safetensors files in memory for tests and fuzz seeds: good ones, and, since the header is
// plain text, bad ones by replacing words in it. Never part of the library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace bittern::formats {

/// Collects tensors; Build() lays them out in the order given.
class SafetensorsBuilder {
 public:
  using Bytes = std::vector<std::byte>;

  SafetensorsBuilder& Add(std::string_view name, std::string_view dtype,
                          const std::vector<std::uint64_t>& shape, const Bytes& data) {
    header_ += header_.empty() ? "{" : ",";
    header_ += "\"" + std::string(name) + R"(":{"dtype":")" + std::string(dtype) + R"(","shape":[)";
    for (std::size_t i = 0; i < shape.size(); ++i) {
      header_ += (i == 0 ? "" : ",") + std::to_string(shape[i]);
    }
    header_ += R"(],"data_offsets":[)" + std::to_string(data_.size()) + "," +
               std::to_string(data_.size() + data.size()) + "]}";
    data_.insert(data_.end(), data.begin(), data.end());
    return *this;
  }
  /// A tensor of `bytes` zero bytes.
  SafetensorsBuilder& AddZeros(std::string_view name, std::string_view dtype,
                               const std::vector<std::uint64_t>& shape, std::size_t bytes) {
    return Add(name, dtype, shape, Bytes(bytes));
  }

  [[nodiscard]] std::string header() const { return header_.empty() ? "{}" : header_ + "}"; }
  [[nodiscard]] Bytes Build() const { return Assemble(header(), data_); }
  /// The file with one part of its header replaced.
  [[nodiscard]] Bytes BuildWith(std::string_view from, std::string_view to) const {
    std::string text = header();
    text.replace(text.find(from), from.size(), to);
    return Assemble(text, data_);
  }

  [[nodiscard]] static Bytes Assemble(std::string_view header, const Bytes& data) {
    const std::uint64_t length = header.size();
    Bytes file(sizeof length + header.size());
    std::memcpy(file.data(), &length, sizeof length);
    std::memcpy(file.data() + sizeof length, header.data(), header.size());
    file.insert(file.end(), data.begin(), data.end());
    return file;
  }

 private:
  std::string header_;
  Bytes data_;
};

}  // namespace bittern::formats
