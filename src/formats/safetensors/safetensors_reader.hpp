// SPDX-License-Identifier: Apache-2.0
// Reads the safetensors container (docs/formats/huggingface.md): one file at a time, and the index
// that names the shards of a large one. What the tensors mean is not its business (hf_tensors).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace bittern::formats {

/// Limits of what is read; the first is the reference implementation's own.
namespace safetensors_limits {
inline constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;
inline constexpr std::size_t kMaxTensors = 65536;
inline constexpr std::size_t kMaxNameBytes = 1024;
inline constexpr std::size_t kMaxRank = 8;
inline constexpr std::size_t kMaxShards = 1024;
}  // namespace safetensors_limits

/// A tensor as the file describes it. Its bytes are checked to be inside the file and to be as
/// many as type and shape ask for.
struct SafetensorsEntry {
  std::string name;
  std::string dtype;                 ///< "F32", "BF16", "U8", ...
  std::vector<std::uint64_t> shape;  ///< C order: the last dimension is the contiguous one
  std::uint64_t elements = 1;
  std::uint64_t file_offset = 0;  ///< of the first byte, from the start of the file
  std::span<const std::byte> bytes;
};

struct SafetensorsContents {
  std::uint64_t data_start = 0;           ///< 8 + header bytes
  std::vector<SafetensorsEntry> entries;  ///< in the order of their bytes
};

/// Parses and checks a whole file held in memory; `bytes` must outlive the result. Tensors must
/// tile the data without a hole, an overlap or a rest. Errors: kCorruptFile, kUnsupported (a type
/// of unknown size); messages name the tensor. Reads the header only.
[[nodiscard]] Result<SafetensorsContents> ParseSafetensors(std::span<const std::byte> bytes);

/// Which file holds a tensor.
struct ShardedTensor {
  std::string name, file;
};

/// Parses model.safetensors.index.json. File names are checked to be plain names that end in
/// .safetensors: nothing in an index can point out of its folder. Error kCorruptFile.
[[nodiscard]] Result<std::vector<ShardedTensor>> ParseSafetensorsIndex(std::string_view text);

}  // namespace bittern::formats
