// SPDX-License-Identifier: Apache-2.0
// Changes the metadata of a GGUF file and nothing else: tensor descriptions and tensor data are
// copied byte for byte, unread, so files with tensor types that this build does not know are fine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "formats/metadata.hpp"

namespace bittern::formats {

/// A GGUF header, cut where an editor has to cut. Everything views into the file's bytes.
struct GgufOutline {
  struct Entry {
    std::string_view key;
    MetaValue value;
    std::span<const std::byte> bytes;  ///< key, type and value as they stand
  };
  std::uint32_t version = 0;
  std::uint64_t num_tensors = 0;
  std::uint64_t alignment = 0;
  std::vector<Entry> entries;
  std::span<const std::byte> tensor_infos;
  /// All from where the first tensor begins to the end of the file.
  std::span<const std::byte> data;

  [[nodiscard]] const Entry* Find(std::string_view key) const noexcept;
};

/// Reads the header; tensor types and sizes are not looked at. `bytes` must outlive the result.
/// Errors: kCorruptFile, kUnsupported, as ParseGguf.
[[nodiscard]] Result<GgufOutline> ReadGgufOutline(std::span<const std::byte> bytes);

/// One change: the new value of a key, or its removal.
struct MetaEdit {
  std::string key;
  bool remove = false;
  /// TYPE:VALUE. TYPE: u8 i8 u16 i16 u32 i32 u64 i64 f32 f64 bool str; also `int` and `float`,
  /// which keep the type of a number that is there, else mean u32 (i32 below 0; 64 bits where
  /// 32 are too few) and f32. TYPE[] takes a JSON array: `str[]:["a", "b"]`, `u32[]:[1, 2]`.
  std::string typed_value;
};

/// The result of an edit. The hashes are XXH3-128 of all tensor data: before from the file that was
/// read, after from the file that was written, read back from the disk.
struct MetaEditReport {
  std::uint64_t data_bytes = 0;
  std::string hash_before, hash_after;
};

/// Applies the edits, in their order, to the file at `in` and writes the result to `out`, which
/// may be the same path. The new file is written beside `out` and renamed, so that a process that
/// has the old one mapped keeps it whole. Errors: kInvalidArgument (a bad text; a key to be
/// removed that is not there; general.alignment, on which tensors lie), kCorruptFile, kIo;
/// kCancelled where `on_progress` (share of the data written) returns false.
[[nodiscard]] Result<MetaEditReport> EditGgufMetadata(
    const std::filesystem::path& in, const std::filesystem::path& out,
    std::span<const MetaEdit> edits, const std::function<bool(double)>& on_progress = {});

}  // namespace bittern::formats
