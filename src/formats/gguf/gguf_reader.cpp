// SPDX-License-Identifier: Apache-2.0
// The GGUF reader proper: header, tensor table, and where tensor data must lie.
#include "formats/gguf/gguf_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <set>
#include <unordered_set>
#include <utility>

#include "base/bytes.hpp"
#include "base/text/display.hpp"
#include "formats/gguf/gguf_metadata.hpp"

namespace bittern::formats {
namespace {

using gguf_limits::kDefaultAlignment;
using gguf_limits::kMaxAlignment;
using gguf_limits::kMaxDimensions;
using gguf_limits::kMaxKeyBytes;
using gguf_limits::kMaxKeys;
using gguf_limits::kMaxTensorNameBytes;
using gguf_limits::kMaxTensors;

constexpr std::string_view kMagic = "GGUF";
// The smallest encodings: length, type and one byte; length, dimension count, type and offset.
constexpr std::uint64_t kMinEntryBytes = 8 + 4 + 1;
constexpr std::uint64_t kMinTensorBytes = 8 + 4 + 4 + 8;

tl::unexpected<Error> CorruptGguf(std::string message) {
  return Fail(ErrorCode::kCorruptFile, std::move(message));
}

/// Runs through a file once, front to back; only PlaceTensors looks past the header.
class GgufParser {
 public:
  explicit GgufParser(std::span<const std::byte> bytes) : bytes_(bytes), reader_(bytes) {}

  /// Reads version, counts, keys, tensor table, in the order of the file.
  Result<GgufContents> Parse() {
    BITTERN_TRY(ReadVersion());
    BITTERN_TRY(ReadCounts());
    for (std::uint64_t i = 0; i < num_keys_; ++i) BITTERN_TRY(ReadEntry(i));
    BITTERN_TRY(ReadAlignment());
    contents_.tensors.reserve(num_tensors_);
    for (std::uint64_t i = 0; i < num_tensors_; ++i) BITTERN_TRY(ReadTensorInfo(i));
    BITTERN_TRY(PlaceTensors());
    return std::move(contents_);
  }

 private:
  Result<void> ReadVersion();
  Result<void> ReadCounts();
  Result<void> ReadEntry(std::uint64_t index);
  Result<void> ReadAlignment();
  Result<void> ReadTensorInfo(std::uint64_t index);
  Result<void> ReadShape(Tensor* tensor);
  Result<void> ReadFormat(Tensor* tensor);
  std::uint64_t EndOf(std::size_t index) const;
  bool Reaches(std::size_t index, std::uint64_t bytes) const;
  bool HasSizeOf(const quant::SharedFormat& format, std::size_t index) const;
  Error WrongSpan(std::span<const quant::SharedFormat> formats, std::size_t index) const;
  Result<void> ResolveSharedType(std::uint32_t id);
  Result<void> PlaceTensors();
  Result<void> PlaceTensor(std::uint64_t offset, std::uint64_t expected, std::uint64_t size,
                           Tensor* tensor);

  std::span<const std::byte> bytes_;
  ByteReader reader_;
  std::uint64_t num_tensors_ = 0, num_keys_ = 0;
  std::unordered_set<std::string_view> names_;  // views into the file
  std::vector<std::uint64_t> offsets_;          // as stored: from data_start
  std::vector<std::uint32_t> types_;            // as stored
  std::vector<std::uint64_t> sizes_;            // bytes of data, tail included
  GgufContents contents_;
};

/// Reads the magic and the version. A big-endian file shows its version in the upper half of the
/// number.
Result<void> GgufParser::ReadVersion() {
  const auto magic = BITTERN_TRY(reader_.Chars(kMagic.size(), "the magic number"));
  if (magic != kMagic) {
    return CorruptGguf(
        fmt::format("not a GGUF file: {} expected at offset 0, {} found", kMagic, Quoted(magic)));
  }
  const auto version = BITTERN_TRY(reader_.Number<std::uint32_t>("the GGUF version"));
  if (version == 1) {
    return Fail(ErrorCode::kUnsupported,
                "GGUF version 1 is not supported; convert the file to version 3");
  }
  if (version != 0 && (version & 0xffff) == 0) {
    return Fail(ErrorCode::kUnsupported,
                fmt::format("a big-endian GGUF file (version {}) is not supported; use the "
                            "little-endian one",
                            __builtin_bswap32(version)));
  }
  if (version != 2 && version != 3) {
    return Fail(version > 3 ? ErrorCode::kUnsupported : ErrorCode::kCorruptFile,
                fmt::format("GGUF version 2 or 3 expected at offset 4, {} found", version));
  }
  contents_.version = version;
  return {};
}

/// Reads both counts and checks that the file is long enough for them, so that nothing below
/// reserves memory for numbers that a damaged file made up.
Result<void> GgufParser::ReadCounts() {
  num_tensors_ = BITTERN_TRY(reader_.Number<std::uint64_t>("the tensor count"));
  if (num_tensors_ > kMaxTensors) {
    return CorruptGguf(fmt::format("tensor count at offset 8: at most {} expected, {} found",
                                   kMaxTensors, num_tensors_));
  }
  num_keys_ = BITTERN_TRY(reader_.Number<std::uint64_t>("the key count"));
  if (num_keys_ > kMaxKeys) {
    return CorruptGguf(
        fmt::format("key count at offset 16: at most {} expected, {} found", kMaxKeys, num_keys_));
  }
  const std::uint64_t least = num_keys_ * kMinEntryBytes + num_tensors_ * kMinTensorBytes;
  if (least > reader_.remaining()) {
    return CorruptGguf(fmt::format(
        "the tensor count and key count at offset 8 say {} tensors and {} keys, which need at "
        "least {} bytes, but only {} are left in the file",
        num_tensors_, num_keys_, least, reader_.remaining()));
  }
  return {};
}

/// Reads one key and its value. Metadata::Add refuses a key that is there already.
Result<void> GgufParser::ReadEntry(std::uint64_t index) {
  const std::uint64_t offset = reader_.position();
  auto key = ReadGgufString(reader_, kMaxKeyBytes, "key");
  if (key && key->empty()) key = CorruptGguf("a name expected, an empty one found");
  if (!key) {
    return tl::unexpected(
        Within(fmt::format("metadata key {} of {} at offset {}", index + 1, num_keys_, offset),
               std::move(key).error()));
  }
  auto value = ReadGgufValue(reader_);
  if (!value) {
    return tl::unexpected(Within(fmt::format("key {}", Quoted(*key)), std::move(value).error()));
  }
  return contents_.metadata.Add(std::string(*key), *std::move(value));
}

/// The specification wants general.alignment as u32. It may be absent, which means 32.
Result<void> GgufParser::ReadAlignment() {
  contents_.alignment = kDefaultAlignment;
  constexpr std::string_view kKey = "general.alignment";
  const MetaValue* value = contents_.metadata.Find(kKey);
  if (value == nullptr) return {};
  if (value->type != MetaType::kU32) {
    return CorruptGguf(
        fmt::format("key {}: u32 expected, {} found", Quoted(kKey), MetaTypeName(value->type)));
  }
  const std::uint64_t alignment = std::get<std::uint64_t>(value->value);
  if (!std::has_single_bit(alignment) || alignment > kMaxAlignment) {
    return CorruptGguf(fmt::format("key {}: a power of two up to {} expected, {} found",
                                   Quoted(kKey), kMaxAlignment, alignment));
  }
  contents_.alignment = static_cast<std::uint32_t>(alignment);
  return {};
}

/// Reads one row of the tensor table. The data is placed later: the alignment and the end of the
/// table must be known for it.
Result<void> GgufParser::ReadTensorInfo(std::uint64_t index) {
  const std::uint64_t at = reader_.position();
  auto name = ReadGgufString(reader_, kMaxTensorNameBytes, "name");
  if (name && name->empty()) name = CorruptGguf("a name expected, an empty one found");
  if (!name) {
    return tl::unexpected(
        Within(fmt::format("tensor {} of {} at offset {}", index + 1, num_tensors_, at),
               std::move(name).error()));
  }
  const auto place = [&](Error error) {
    return tl::unexpected(Within(fmt::format("tensor {}", Quoted(*name)), std::move(error)));
  };
  if (!names_.insert(*name).second) {
    return place({ErrorCode::kCorruptFile, "the name appears twice"});
  }
  Tensor tensor{.name = std::string(*name),
                .format = {},
                .rank = 0,
                .shape = {1, 1, 1, 1},
                .file_offset = 0,
                .bytes = {}};
  if (auto shape = ReadShape(&tensor); !shape) return place(std::move(shape).error());
  if (auto format = ReadFormat(&tensor); !format) return place(std::move(format).error());
  auto offset = reader_.Number<std::uint64_t>("the data offset");
  if (!offset) return place(std::move(offset).error());
  offsets_.push_back(*offset);
  contents_.tensors.push_back(std::move(tensor));
  return {};
}

/// Reads the dimensions, the innermost first. Rank 0 is a single number.
Result<void> GgufParser::ReadShape(Tensor* tensor) {
  const std::uint64_t offset = reader_.position();
  const auto rank = BITTERN_TRY(reader_.Number<std::uint32_t>("the number of dimensions"));
  if (rank > kMaxDimensions) {
    return CorruptGguf(fmt::format("at most {} dimensions expected at offset {}, {} found",
                                   kMaxDimensions, offset, rank));
  }
  tensor->rank = static_cast<int>(rank);
  std::uint64_t elements = 1;
  for (std::uint32_t i = 0; i < rank; ++i) {
    const std::uint64_t at = reader_.position();
    const auto size = BITTERN_TRY(reader_.Number<std::uint64_t>("a dimension"));
    if (size == 0) {
      return CorruptGguf(
          fmt::format("dimension {} at offset {}: 1 or more expected, 0 found", i, at));
    }
    // Element counts stay below 2^63, so that they fit signed arithmetic everywhere else.
    if (!CheckedMultiply(elements, size, &elements) ||
        elements > std::uint64_t{std::numeric_limits<std::int64_t>::max()}) {
      return CorruptGguf(fmt::format(
          "dimension {} at offset {}: {} makes more elements than 63 bits count", i, at, size));
    }
    tensor->shape[i] = size;
  }
  return {};
}

/// "F32, F16, ..." for refusals.
std::string SupportedFormats() {
  constexpr std::uint32_t kIdsInUse = 512;
  std::string names;
  for (std::uint32_t id = 0; id < kIdsInUse; ++id) {
    const auto* info = quant::FindWeightFormat(id);
    if (info == nullptr) continue;
    if (!names.empty()) names += ", ";
    names += info->name;
  }
  return names;
}

/// Reads the type and computes the bytes of data. A type that is known but not read is refused by
/// its name; one that means several formats is settled by ResolveSharedType.
Result<void> GgufParser::ReadFormat(Tensor* tensor) {
  const std::uint64_t offset = reader_.position();
  const auto id = BITTERN_TRY(reader_.Number<std::uint32_t>("the type"));
  types_.push_back(id);
  sizes_.push_back(0);
  if (!quant::FormatsUnder(id).empty()) return {};
  const quant::WeightFormatInfo* info = quant::FindWeightFormat(id);
  if (info == nullptr) {
    const auto name = quant::UnreadFormatName(id);
    return Fail(ErrorCode::kUnsupported,
                name ? fmt::format("type {} ({}) is not supported yet; supported: {}", id, *name,
                                   SupportedFormats())
                     : fmt::format("type {} at offset {} is unknown; supported: {}", id, offset,
                                   SupportedFormats()));
  }
  tensor->format = info->format;
  sizes_.back() = BITTERN_TRY(quant::TensorBytes(*info, tensor->row_elements(), tensor->rows()));
  return {};
}

/// Checks one offset. Tensors must follow each other without gaps: a gap means that a size was
/// computed for another format than the writer's.
Result<void> GgufParser::PlaceTensor(std::uint64_t offset, std::uint64_t expected,
                                     std::uint64_t size, Tensor* tensor) {
  if (offset % contents_.alignment != 0) {
    return CorruptGguf(fmt::format("data offset: a multiple of the alignment {} expected, {} found",
                                   contents_.alignment, offset));
  }
  if (offset != expected) {
    return CorruptGguf(
        fmt::format("data offset: {}, the padded end of the tensors before it, expected, {} found",
                    expected, offset));
  }
  std::uint64_t begin = 0, end = 0;
  if (!CheckedAdd(contents_.data_start, offset, &begin) || !CheckedAdd(begin, size, &end) ||
      end > bytes_.size()) {
    return CorruptGguf(fmt::format(
        "its {} bytes of data at offset {} go past the end of the file, which has {} bytes; an "
        "incomplete download?",
        size, begin, bytes_.size()));
  }
  tensor->file_offset = begin;
  tensor->bytes = bytes_.subspan(begin, size);
  return {};
}

/// The offset of what follows a tensor: the next one, or the end of the file.
std::uint64_t GgufParser::EndOf(std::size_t index) const {
  if (index + 1 < offsets_.size()) return offsets_[index + 1];
  return bytes_.size() - std::min<std::uint64_t>(bytes_.size(), contents_.data_start);
}

/// Whether `bytes` of tensor `index` reach what follows it.
bool GgufParser::Reaches(std::size_t index, std::uint64_t bytes) const {
  const bool last = index + 1 == contents_.tensors.size();
  const std::uint64_t end = EndOf(index);
  std::uint64_t exact = 0, padded = 0;
  return CheckedAdd(offsets_[index], bytes, &exact) &&
         CheckedRoundUp(exact, contents_.alignment, &padded) &&
         (end == padded || (last && end == exact));
}

/// Whether tensor `index` has the size that a format would give it.
bool GgufParser::HasSizeOf(const quant::SharedFormat& format, std::size_t index) const {
  const Tensor& tensor = contents_.tensors[index];
  const auto size = format.BytesOf(tensor.row_elements(), tensor.rows());
  return size && Reaches(index, *size);
}

/// The refusal of a tensor whose size is that of no format under its type id.
Error GgufParser::WrongSpan(std::span<const quant::SharedFormat> formats, std::size_t index) const {
  const Tensor& tensor = contents_.tensors[index];
  std::string expected;
  for (const quant::SharedFormat& format : formats) {
    const auto size = format.BytesOf(tensor.row_elements(), tensor.rows());
    if (!size) continue;
    expected += fmt::format("{}{} ({})", expected.empty() ? "" : ", ", *size, format.name);
  }
  if (expected.empty()) {  // in the words of the format that has the id
    return std::move(formats[0].BytesOf(tensor.row_elements(), tensor.rows())).error();
  }
  return {ErrorCode::kCorruptFile,
          fmt::format("type {} means several formats, and its bytes tell which: expected {}, found "
                      "{} up to {}",
                      types_[index], expected, EndOf(index) - offsets_[index],
                      index + 1 == offsets_.size() ? "the end of the file" : "the next tensor")};
}

/// Settles what a type id means that programs use for different formats: what the bytes of most of
/// its tensors say, since the padding of a small one may hide which it is. Programs do not mix
/// them.
Result<void> GgufParser::ResolveSharedType(std::uint32_t id) {
  const std::vector<quant::SharedFormat> formats = quant::FormatsUnder(id);
  const quant::SharedFormat* chosen = nullptr;
  std::size_t most = 0, first = types_.size();
  for (const quant::SharedFormat& format : formats) {
    std::size_t fitting = 0;
    for (std::size_t i = 0; i < types_.size(); ++i) {
      if (types_[i] != id) continue;
      first = std::min(first, i);
      if (HasSizeOf(format, i)) ++fitting;
    }
    if (fitting <= most) continue;
    most = fitting;
    chosen = &format;
  }
  const auto at = [&](std::size_t index, Error error) {
    return tl::unexpected(
        Within(fmt::format("tensor {}", Quoted(contents_.tensors[index].name)), std::move(error)));
  };
  if (chosen == nullptr && EndOf(first) >= offsets_[first]) {
    return at(first, WrongSpan(formats, first));
  }
  if (chosen == nullptr) chosen = formats.data();  // PlaceTensor refuses the offset
  if (chosen->info == nullptr) {
    return at(first, {ErrorCode::kUnsupported,
                      fmt::format("type {} with the size of {}, {}; supported: {}", id,
                                  chosen->name, chosen->why, SupportedFormats())});
  }
  for (std::size_t i = first; i < types_.size(); ++i) {
    if (types_[i] != id) continue;
    Tensor& tensor = contents_.tensors[i];
    tensor.format = chosen->info->format;
    const auto size = chosen->BytesOf(tensor.row_elements(), tensor.rows());
    if (!size) return at(i, size.error());
    sizes_[i] = *size;
    const bool last = i + 1 == types_.size();  // a file may be cut off, or go on behind it
    if (!last && EndOf(i) >= offsets_[i] && !HasSizeOf(*chosen, i)) {
      return at(i, WrongSpan({chosen, 1}, i));
    }
  }
  return {};
}

/// Gives every tensor its view. The data begins at the next multiple of the alignment after the
/// tensor table.
Result<void> GgufParser::PlaceTensors() {
  if (!CheckedRoundUp(reader_.position(), contents_.alignment, &contents_.data_start)) {
    return CorruptGguf("the header is longer than memory can address");
  }
  for (const std::uint32_t id : std::set<std::uint32_t>(types_.begin(), types_.end())) {
    if (!quant::FormatsUnder(id).empty()) BITTERN_TRY(ResolveSharedType(id));
  }
  std::uint64_t expected = 0;  // offset from data_start: the padded end of the tensors so far
  for (std::size_t i = 0; i < contents_.tensors.size(); ++i) {
    Tensor& tensor = contents_.tensors[i];
    auto placed = PlaceTensor(offsets_[i], expected, sizes_[i], &tensor);
    if (!placed) {
      return tl::unexpected(
          Within(fmt::format("tensor {}", Quoted(tensor.name)), std::move(placed).error()));
    }
    // Inside the file, so nothing here can overflow; the last tensor need not be padded.
    expected = offsets_[i] + sizes_[i] + contents_.alignment - 1;
    expected -= expected % contents_.alignment;
  }
  return {};
}

}  // namespace

Result<GgufContents> ParseGguf(std::span<const std::byte> bytes) {
  return GgufParser(bytes).Parse();
}

}  // namespace bittern::formats
