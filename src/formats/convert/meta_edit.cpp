// SPDX-License-Identifier: Apache-2.0
// The header is read entry by entry and written anew; the data behind it is copied in pieces and
// hashed on the way, then hashed again as it lies on the disk.
#include "formats/convert/meta_edit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/bytes.hpp"
#include "base/files/atomic_file.hpp"
#include "base/files/mapped_file.hpp"
#include "base/hash.hpp"
#include "base/text/display.hpp"
#include "formats/convert/typed_value.hpp"
#include "formats/gguf/gguf_metadata.hpp"
#include "formats/gguf/gguf_reader.hpp"
#include "formats/gguf/gguf_writer.hpp"
#include "formats/metadata_draft.hpp"

namespace bittern::formats {
namespace {

constexpr std::string_view kAlignmentKey = "general.alignment";
/// Pieces in which data is copied and hashed: often enough for Ctrl-C and progress.
constexpr std::size_t kPieceBytes = std::size_t{4} << 20;

tl::unexpected<Error> Corrupt(std::string message) {
  return Fail(ErrorCode::kCorruptFile, std::move(message));
}

Result<void> ReadPreamble(ByteReader& reader, GgufOutline* outline, std::uint64_t* num_keys) {
  const auto magic = BITTERN_TRY(reader.Chars(4, "the magic number"));
  if (magic != "GGUF") return Corrupt("not a GGUF file");
  outline->version = BITTERN_TRY(reader.Number<std::uint32_t>("the GGUF version"));
  if (outline->version != 2 && outline->version != 3) {
    return Fail(
        ErrorCode::kUnsupported,
        fmt::format("GGUF version 2 or 3 (little-endian) expected, {} found", outline->version));
  }
  outline->num_tensors = BITTERN_TRY(reader.Number<std::uint64_t>("the tensor count"));
  *num_keys = BITTERN_TRY(reader.Number<std::uint64_t>("the key count"));
  if (outline->num_tensors > gguf_limits::kMaxTensors || *num_keys > gguf_limits::kMaxKeys) {
    return Corrupt(fmt::format("at most {} tensors and {} keys expected, {} and {} found",
                               gguf_limits::kMaxTensors, gguf_limits::kMaxKeys,
                               outline->num_tensors, *num_keys));
  }
  return {};
}

/// Reads the keys and keeps the bytes of each, so that unchanged ones are copied as they are.
Result<void> ReadEntries(std::span<const std::byte> bytes, std::uint64_t count, ByteReader& reader,
                         GgufOutline* outline) {
  std::unordered_set<std::string_view> seen;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t begin = reader.position();
    const auto key = BITTERN_TRY(ReadGgufString(reader, gguf_limits::kMaxKeyBytes, "key"));
    auto value = ReadGgufValue(reader);
    if (!value) {
      return tl::unexpected(Within(fmt::format("key {}", Quoted(key)), std::move(value).error()));
    }
    if (!seen.insert(key).second) return Corrupt(fmt::format("key {} appears twice", Quoted(key)));
    outline->entries.push_back(
        {key, *std::move(value), bytes.subspan(begin, reader.position() - begin)});
  }
  return {};
}

/// Steps over one row of the tensor table: name, dimensions, type and offset, none of which an edit
/// needs.
Result<void> SkipTensorInfo(ByteReader& reader) {
  BITTERN_TRY(ReadGgufString(reader, gguf_limits::kMaxKeyBytes, "tensor name"));
  const auto rank = BITTERN_TRY(reader.Number<std::uint32_t>("the number of dimensions"));
  // Dimensions, type and offset; rank is 32 bits, so nothing overflows.
  BITTERN_TRY(reader.Bytes(std::uint64_t{rank} * 8 + 4 + 8, "a tensor description"));
  return {};
}

/// The alignment of the data: general.alignment, else 32. Other integer types than u32 are fine
/// here, as the value is never written anew.
Result<std::uint64_t> AlignmentOf(const GgufOutline& outline) {
  const auto* entry = outline.Find(kAlignmentKey);
  if (entry == nullptr) return std::uint64_t{gguf_limits::kDefaultAlignment};
  const auto* number = std::get_if<std::uint64_t>(&entry->value.value);
  if (number == nullptr || !std::has_single_bit(*number) || *number > gguf_limits::kMaxAlignment) {
    return Corrupt(fmt::format("key {}: a power of two up to {} expected", Quoted(kAlignmentKey),
                               gguf_limits::kMaxAlignment));
  }
  return *number;
}

/// The draft's entries: those of the file as they stand, changed ones anew.
std::string NewHeader(const GgufOutline& outline, const MetadataDraft& draft,
                      const std::unordered_set<std::string>& changed) {
  std::string out = "GGUF";
  AppendGgufU32(outline.version, &out);
  AppendGgufU64(outline.num_tensors, &out);
  AppendGgufU64(draft.entries().size(), &out);
  const auto append = [&](std::span<const std::byte> bytes) {
    out.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  };
  std::unordered_map<std::string_view, std::span<const std::byte>> in_file;
  for (const auto& entry : outline.entries) in_file.emplace(entry.key, entry.bytes);
  for (const auto& entry : draft.entries()) {
    if (changed.contains(entry.key)) {
      AppendGgufEntry(entry.key, entry.value, &out);
    } else {
      append(in_file[entry.key]);
    }
  }
  append(outline.tensor_infos);
  if (!outline.data.empty()) {
    out.resize((out.size() + outline.alignment - 1) / outline.alignment * outline.alignment);
  }
  return out;
}

/// Applies one edit to the draft. kNotFound is for the removal of a key that is not there; the
/// caller puts the file's name before it.
Result<void> ApplyEdit(const MetaEdit& edit, MetadataDraft* draft) {
  if (edit.key == kAlignmentKey) {
    return Fail(
        ErrorCode::kInvalidArgument,
        fmt::format("{} cannot be changed: the places of the tensors depend on it", kAlignmentKey));
  }
  if (edit.key.empty() || edit.key.size() > gguf_limits::kMaxKeyBytes) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("a key of 1 to {} bytes expected", gguf_limits::kMaxKeyBytes));
  }
  if (!edit.remove) return SetTypedValue(edit.key, edit.typed_value, draft);
  if (draft->Remove(edit.key)) return {};
  return Fail(ErrorCode::kNotFound, fmt::format("there is no key {}", Quoted(edit.key)));
}

/// Copies the data piece by piece, hashing it.
Result<std::string> CopyData(const MappedFile& from, std::span<const std::byte> data,
                             const std::function<bool(double)>& on_progress, AtomicFile* to) {
  Hash128 hash;
  for (std::size_t at = 0; at < data.size(); at += kPieceBytes) {
    const auto piece = data.subspan(at, std::min(kPieceBytes, data.size() - at));
    hash.Add(piece);
    BITTERN_TRY(to->Write(piece));
    from.Release(piece);
    if (on_progress && !on_progress(double(at) / double(data.size()))) {
      return Fail(ErrorCode::kCancelled, "interrupted; nothing was changed");
    }
  }
  return hash.Hex();
}

/// The XXH3-128 of the data, as 32 hexadecimal digits. Pages are let go as it walks.
std::string HashData(const MappedFile& file, std::span<const std::byte> data) {
  Hash128 hash;
  for (std::size_t at = 0; at < data.size(); at += kPieceBytes) {
    const auto piece = data.subspan(at, std::min(kPieceBytes, data.size() - at));
    hash.Add(piece);
    file.Release(piece);
  }
  return hash.Hex();
}

}  // namespace

const GgufOutline::Entry* GgufOutline::Find(std::string_view key) const noexcept {
  const auto found = std::ranges::find(entries, key, &Entry::key);
  return found == entries.end() ? nullptr : &*found;
}

Result<GgufOutline> ReadGgufOutline(std::span<const std::byte> bytes) {
  GgufOutline outline;
  ByteReader reader(bytes);
  std::uint64_t num_keys = 0;
  BITTERN_TRY(ReadPreamble(reader, &outline, &num_keys));
  BITTERN_TRY(ReadEntries(bytes, num_keys, reader, &outline));
  const std::uint64_t infos_begin = reader.position();
  for (std::uint64_t i = 0; i < outline.num_tensors; ++i) BITTERN_TRY(SkipTensorInfo(reader));
  const std::uint64_t infos_end = reader.position();
  outline.tensor_infos = bytes.subspan(infos_begin, infos_end - infos_begin);
  outline.alignment = BITTERN_TRY(AlignmentOf(outline));
  std::uint64_t data_start = 0;
  if (!CheckedRoundUp(infos_end, outline.alignment, &data_start)) {
    return Corrupt("the header is longer than memory can address");
  }
  if (data_start < bytes.size()) {
    outline.data = bytes.subspan(data_start);
  } else if (outline.num_tensors != 0) {
    return Corrupt("the file ends before its tensor data; an incomplete download?");
  }
  return outline;
}

namespace {

/// The edited file, which has no name yet.
struct Edited {
  AtomicFile file;
  MetaEditReport report;
};

/// Builds the new header, copies the data and reads the copy back.
Result<Edited> EditFile(const MappedFile& file, const std::filesystem::path& in,
                        const std::filesystem::path& out, std::span<const MetaEdit> edits,
                        const std::function<bool(double)>& on_progress) {
  auto outline = ReadGgufOutline(file.bytes());
  if (!outline) return tl::unexpected(Within(in.string(), std::move(outline).error()));
  MetadataDraft draft;
  for (const auto& entry : outline->entries) draft.Add(std::string(entry.key), entry.value);
  std::unordered_set<std::string> changed;
  for (const MetaEdit& edit : edits) {
    auto applied = ApplyEdit(edit, &draft);
    if (!applied && applied.error().code == ErrorCode::kNotFound) {
      return tl::unexpected(Within(in.string(), std::move(applied).error()));
    }
    BITTERN_TRY(applied);
    changed.insert(edit.key);
  }
  AtomicFile target = BITTERN_TRY(AtomicFile::Create(out));
  BITTERN_TRY(target.Write(NewHeader(*outline, draft, changed)));
  MetaEditReport report;
  report.data_bytes = outline->data.size();
  report.hash_before = BITTERN_TRY(CopyData(file, outline->data, on_progress, &target));
  BITTERN_TRY(target.Sync());
  const MappedFile written = BITTERN_TRY(MappedFile::Open(target.temporary()));
  const GgufOutline reread = BITTERN_TRY(ReadGgufOutline(written.bytes()));
  report.hash_after = HashData(written, reread.data);
  if (report.hash_after != report.hash_before) {
    return Fail(ErrorCode::kInternal,
                fmt::format("{}: tensor data reads back with hash {} where {} was written; nothing "
                            "was changed",
                            out.string(), report.hash_after, report.hash_before));
  }
  BITTERN_TRY(file.CheckUnchanged());
  return Edited{std::move(target), std::move(report)};
}

}  // namespace

Result<MetaEditReport> EditGgufMetadata(const std::filesystem::path& in,
                                        const std::filesystem::path& out,
                                        std::span<const MetaEdit> edits,
                                        const std::function<bool(double)>& on_progress) {
  std::optional<MappedFile> file = BITTERN_TRY(MappedFile::Open(in));
  auto edited = EditFile(*file, in, out, edits, on_progress);
  if (!edited) {
    if (edited.error().code != ErrorCode::kCancelled) {
      BITTERN_TRY(file->CheckUnchanged());  // rather than what is wrong with it now
    }
    return tl::unexpected(std::move(edited).error());
  }
  file.reset();  // `in` and `out` may be one path, and Windows replaces no file that is mapped
  BITTERN_TRY(edited->file.Commit());
  return std::move(edited)->report;
}

}  // namespace bittern::formats
