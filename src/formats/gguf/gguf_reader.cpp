// SPDX-License-Identifier: Apache-2.0
// The GGUF reader proper: header, tensor table, and where tensor data must lie.
#include "formats/gguf/gguf_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
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
  bool Reaches(std::size_t index, std::uint64_t bytes) const;
  Result<void> ResolveSharedType(std::size_t index);
  Result<void> PlaceTensors();
  Result<void> PlaceTensor(std::uint64_t offset, std::uint64_t expected, std::uint64_t size,
                           Tensor* tensor);

  std::span<const std::byte> bytes_;
  ByteReader reader_;
  std::uint64_t num_tensors_ = 0, num_keys_ = 0;
  std::unordered_set<std::string_view> names_;  // views into the file
  std::vector<std::uint64_t> offsets_;          // as stored: from data_start
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
/// its name.
Result<void> GgufParser::ReadFormat(Tensor* tensor) {
  const std::uint64_t offset = reader_.position();
  const auto id = BITTERN_TRY(reader_.Number<std::uint32_t>("the type"));
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
  sizes_.push_back(BITTERN_TRY(quant::TensorBytes(*info, tensor->row_elements(), tensor->rows())));
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

/// Whether `bytes` of tensor `index` reach the next one, or the end of the file.
bool GgufParser::Reaches(std::size_t index, std::uint64_t bytes) const {
  const bool last = index + 1 == contents_.tensors.size();
  const std::uint64_t data_bytes =
      bytes_.size() - std::min<std::uint64_t>(bytes_.size(), contents_.data_start);
  const std::uint64_t end = last ? data_bytes : offsets_[index + 1];
  std::uint64_t exact = 0, padded = 0;
  return CheckedAdd(offsets_[index], bytes, &exact) &&
         CheckedRoundUp(exact, contents_.alignment, &padded) &&
         (end == padded || (last && end == exact));
}

/// Two formats under one type id: the one whose size reaches the next tensor (or the end of the
/// file) is meant. If neither does, the first stays and the place of the next tensor is reported.
Result<void> GgufParser::ResolveSharedType(std::size_t index) {
  Tensor& tensor = contents_.tensors[index];
  const auto id = static_cast<std::uint32_t>(tensor.format);
  if (Reaches(index, sizes_[index])) return {};
  if (const auto* other = quant::OtherFormatOf(id)) {
    const auto size = quant::TensorBytes(*other, tensor.row_elements(), tensor.rows());
    if (!size || !Reaches(index, *size)) return {};
    tensor.format = other->format;
    sizes_[index] = *size;
  } else if (const auto twin = quant::UnreadTwinOf(id)) {
    // Elements count 63 bits at most, so that no product here overflows.
    const bool whole = tensor.row_elements() % twin->block_elements == 0;
    const std::uint64_t size = tensor.num_elements() / twin->block_elements * twin->block_bytes;
    if (!whole || !Reaches(index, size)) return {};
    return Fail(ErrorCode::kUnsupported,
                fmt::format("tensor {}: type {} with the size of {}, which is not supported yet; "
                            "supported: {}",
                            Quoted(tensor.name), id, twin->name, SupportedFormats()));
  }
  return {};
}

/// Gives every tensor its view. The data begins at the next multiple of the alignment after the
/// tensor table.
Result<void> GgufParser::PlaceTensors() {
  if (!CheckedRoundUp(reader_.position(), contents_.alignment, &contents_.data_start)) {
    return CorruptGguf("the header is longer than memory can address");
  }
  std::uint64_t expected = 0;  // offset from data_start: the padded end of the tensors so far
  for (std::size_t i = 0; i < contents_.tensors.size(); ++i) {
    BITTERN_TRY(ResolveSharedType(i));
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
