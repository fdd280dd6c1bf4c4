// SPDX-License-Identifier: Apache-2.0
// Writes one safetensors file: the header first, since all sizes are known, then the data of one
// tensor after the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/files/atomic_file.hpp"
#include "base/result.hpp"

namespace bittern::formats {

struct SafetensorsTensor {
  std::string name;
  std::string_view dtype;            ///< "U8", "BF16", ...
  std::vector<std::uint64_t> shape;  ///< C order
  std::uint64_t bytes = 0;
};

/// A file being written. Exactly the announced bytes of all tensors must follow, in the announced
/// order; then Finish. Not thread-safe.
class SafetensorsWriter {
 public:
  /// The header is padded with spaces to a multiple of 8 bytes. Error kIo.
  [[nodiscard]] static Result<SafetensorsWriter> Create(const std::filesystem::path& path,
                                                        std::span<const SafetensorsTensor> tensors);
  /// The next bytes; they may belong to more than one tensor. Errors kIo, kInternal (too many).
  [[nodiscard]] Result<void> Append(std::span<const std::byte> bytes);
  /// Gives the file its name. Errors kInternal (bytes are missing), kIo.
  [[nodiscard]] Result<void> Finish();

 private:
  SafetensorsWriter(AtomicFile file, std::uint64_t left) : file_(std::move(file)), left_(left) {}
  AtomicFile file_;
  std::uint64_t left_;  // bytes that are still to come
};

}  // namespace bittern::formats
