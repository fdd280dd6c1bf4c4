// SPDX-License-Identifier: Apache-2.0
// Reads GGUF v2 and v3 (docs/formats/gguf.md). The bytes come from strangers: nothing is believed
// before it was checked, and nothing is allocated beyond what the file's own size justifies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "formats/checkpoint.hpp"
#include "formats/metadata.hpp"

namespace bittern::formats {

/// Limits of what is read. Real files stay far below; what is above them is damage or malice.
namespace gguf_limits {
inline constexpr std::uint64_t kMaxKeys = 65536;
inline constexpr std::uint64_t kMaxTensors = 65536;
inline constexpr std::uint64_t kMaxKeyBytes = 65535;
inline constexpr std::uint64_t kMaxStringBytes = std::uint64_t{64} << 20;
inline constexpr std::uint64_t kMaxArrayElements = std::uint64_t{1} << 30;
/// Each string costs 16 bytes of memory for as few as 8 bytes of file.
inline constexpr std::uint64_t kMaxArrayStrings = std::uint64_t{1} << 24;
inline constexpr std::uint64_t kMaxTensorNameBytes = 63;
inline constexpr std::uint32_t kMaxDimensions = 4;
inline constexpr std::uint32_t kDefaultAlignment = 32;
inline constexpr std::uint32_t kMaxAlignment = 65536;
}  // namespace gguf_limits

/// A parsed file. Everything but the names views into the bytes given to ParseGguf.
struct GgufContents {
  std::uint32_t version = 0;
  std::uint32_t alignment = 0;
  /// The offset of tensor data. Past the end of the bytes only if there are no tensors.
  std::uint64_t data_start = 0;
  Metadata metadata;
  std::vector<Tensor> tensors;
};

/// Parses and checks a whole GGUF file held in memory; `bytes` must outlive the result. Errors:
/// kCorruptFile, kUnsupported (version 1, big-endian, nested arrays, tensor types); messages name
/// the key or tensor, or the offset. Reads the header only, never the tensor data.
[[nodiscard]] Result<GgufContents> ParseGguf(std::span<const std::byte> bytes);

}  // namespace bittern::formats
