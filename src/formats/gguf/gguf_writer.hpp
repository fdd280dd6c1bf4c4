// SPDX-License-Identifier: Apache-2.0
// Writes GGUF v3 (docs/formats/gguf.md): the header first, since all sizes are known, then the data
// of one tensor after the other, so that a file of any size needs the memory of one piece of it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/files/atomic_file.hpp"
#include "base/result.hpp"
#include "formats/metadata.hpp"

namespace bittern::formats {

/// Appends one key with its value as the header holds it. Strings and arrays may be views.
void AppendGgufEntry(std::string_view key, const MetaValue& value, std::string* out);

/// Appends a value without its type: the element of an array, or what follows a type id.
void AppendGgufPayload(const MetaValue& value, std::string* out);

/// Appends a little-endian number.
void AppendGgufU32(std::uint32_t number, std::string* out);
void AppendGgufU64(std::uint64_t number, std::string* out);

/// A tensor to be written. type_id: GGUF's; bytes: of its data, tail included, padding not.
struct GgufTensor {
  std::string name;
  int rank = 0;
  std::array<std::uint64_t, 4> shape = {1, 1, 1, 1};  ///< GGUF order, contiguous dimension first
  std::uint32_t type_id = 0;
  std::uint64_t bytes = 0;
};

/// A file being written. Exactly the announced bytes of every tensor must follow, in the announced
/// order; then Finish. Until then nothing stands under the final name. Not thread-safe.
class GgufWriter {
 public:
  /// Writes the header. The alignment is `general.alignment` if the entries have it (checked: u32,
  /// a power of two up to 65536), else 32. Errors: kIo; kInvalidArgument (a bad alignment, an
  /// empty or too long name or key).
  [[nodiscard]] static Result<GgufWriter> Create(const std::filesystem::path& path,
                                                 std::span<const Metadata::Entry> entries,
                                                 std::vector<GgufTensor> tensors);

  /// The next bytes of the current tensor; never past its end. The padding follows by itself.
  [[nodiscard]] Result<void> Append(std::span<const std::byte> bytes);
  /// Puts the whole file on the disk under a temporary name and says which, so that it can be
  /// checked before it replaces anything. Errors: kInternal (a tensor is incomplete), kIo.
  [[nodiscard]] Result<std::filesystem::path> Complete();
  /// Gives the file its name. Errors as Complete.
  [[nodiscard]] Result<void> Finish();

 private:
  GgufWriter(AtomicFile file, std::vector<GgufTensor> tensors, std::uint64_t alignment)
      : file_(std::move(file)), tensors_(std::move(tensors)), alignment_(alignment) {}
  /// Pads and moves on while the current tensor has all its bytes.
  [[nodiscard]] Result<void> EndTensors();

  AtomicFile file_;
  std::vector<GgufTensor> tensors_;
  std::uint64_t alignment_;
  std::size_t current_ = 0;
  std::uint64_t written_ = 0;  // bytes of the current tensor
};

}  // namespace bittern::formats
