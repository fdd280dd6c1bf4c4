// SPDX-License-Identifier: Apache-2.0
// Uses everything a parsed GGUF file offers, so that a wrong view or length shows up under a
// sanitizer. Shared by the mutation tests and the fuzz target.
#pragma once

#include <cstdint>

#include "formats/gguf/gguf_reader.hpp"

namespace bittern::formats {

/// Calls every getter for every key and reads both ends of every string and tensor. The sum of
/// what was seen: use it, or the compiler may drop the reads.
[[nodiscard]] inline std::uint64_t TouchEverything(const GgufContents& contents) {
  std::uint64_t sum = contents.data_start + contents.version;
  const auto add_ends = [&sum](const auto& range) {
    if (range.empty()) return;
    sum += static_cast<std::uint64_t>(range.front()) + static_cast<std::uint64_t>(range.back());
  };
  const Metadata& metadata = contents.metadata;
  for (const auto& [key, value, overridden, was_read] : metadata.entries()) {
    sum += MetaTypeName(value.type).size();
    if (const auto number = metadata.GetUint(key)) sum += number->value_or(0);
    if (const auto number = metadata.GetFloat(key)) sum += number->has_value();
    if (const auto flag = metadata.GetBool(key)) sum += flag->value_or(false);
    if (const auto text = metadata.GetString(key)) add_ends(text->value_or(""));
    if (const auto ints = metadata.GetInts(key)) sum += ints->has_value();
    if (const auto floats = metadata.GetFloats(key)) sum += floats->has_value();
    if (const auto strings = metadata.GetStrings(key); strings && *strings) {
      for (const auto& text : **strings) add_ends(text);
    }
  }
  for (const Tensor& tensor : contents.tensors) {
    add_ends(tensor.bytes);
    sum += tensor.num_elements() + tensor.rows() + tensor.name.size();
  }
  return sum;
}

}  // namespace bittern::formats
