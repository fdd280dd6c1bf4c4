// SPDX-License-Identifier: Apache-2.0
// The header is not trusted. Lengths, types, shapes and offsets must agree with each other and with
// the size of the file; only then does a tensor get a view of its bytes.
#include "formats/safetensors/safetensors_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "base/bytes.hpp"
#include "base/json/json.hpp"
#include "base/text/display.hpp"

namespace bittern::formats {
namespace {

using safetensors_limits::kMaxHeaderBytes;
using safetensors_limits::kMaxNameBytes;
using safetensors_limits::kMaxRank;

constexpr std::uint64_t kLengthBytes = 8;

tl::unexpected<Error> CorruptHeader(std::string message) {
  return Fail(ErrorCode::kCorruptFile, std::move(message));
}

/// A dtype and the bytes of one number.
struct Dtype {
  std::string_view name;
  std::uint64_t bytes;
};
// Whole-byte types of the format's documentation. Packed 4- and 6-bit types are refused by name.
constexpr Dtype kDtypes[] = {{"F32", 4},     {"F16", 2},         {"BF16", 2},       {"U8", 1},
                             {"I8", 1},      {"I32", 4},         {"I64", 8},        {"BOOL", 1},
                             {"F64", 8},     {"U16", 2},         {"I16", 2},        {"U32", 4},
                             {"U64", 8},     {"C64", 8},         {"F8_E4M3", 1},    {"F8_E5M2", 1},
                             {"F8_E8M0", 1}, {"F8_E4M3FNUZ", 1}, {"F8_E5M2FNUZ", 1}};

Result<std::uint64_t> DtypeBytes(std::string_view name) {
  for (const Dtype& dtype : kDtypes) {
    if (dtype.name == name) return dtype.bytes;
  }
  return Fail(ErrorCode::kUnsupported, fmt::format("dtype {} is not supported", Quoted(name)));
}

/// The member `key` of a tensor's object, as an array.
Result<const Json::Array*> ArrayOf(const Json& object, std::string_view key) {
  const Json* value = object.Find(key);
  if (value == nullptr) return CorruptHeader(fmt::format("{} is missing", key));
  const Json::Array* array = value->AsArray();
  if (array == nullptr) {
    return CorruptHeader(fmt::format("{}: an array expected, {} found", key, value->TypeName()));
  }
  return array;
}

/// A shape or an offset; `key` is its name in messages.
Result<std::uint64_t> UintOf(const Json& value, std::string_view key) {
  const auto number = value.AsUint();
  if (!number) {
    return CorruptHeader(
        fmt::format("{}: integers of 0 or more expected, {} found", key, value.Shown()));
  }
  return *number;
}

/// Reads the dimensions, the outermost first, and multiplies them with care.
Result<void> ReadShape(const Json& object, SafetensorsEntry* entry) {
  const Json::Array* shape = BITTERN_TRY(ArrayOf(object, "shape"));
  if (shape->size() > kMaxRank) {
    return CorruptHeader(
        fmt::format("at most {} dimensions expected, {} found", kMaxRank, shape->size()));
  }
  for (const Json& dimension : *shape) {
    const std::uint64_t size = BITTERN_TRY(UintOf(dimension, "shape"));
    entry->shape.push_back(size);
    if (!CheckedMultiply(entry->elements, size, &entry->elements)) {
      return CorruptHeader("its shape makes more elements than 64 bits count");
    }
  }
  return {};
}

/// Reads one member of the header; `data` is what follows the header in the file.
Result<SafetensorsEntry> ReadEntry(const Json::Member& member, std::span<const std::byte> data,
                                   std::uint64_t data_start) {
  SafetensorsEntry entry;
  entry.name = member.key;
  if (entry.name.empty() || entry.name.size() > kMaxNameBytes) {
    return CorruptHeader(fmt::format("a name of 1 to {} bytes expected", kMaxNameBytes));
  }
  if (member.value.AsObject() == nullptr) {
    return CorruptHeader(fmt::format("an object expected, {} found", member.value.TypeName()));
  }
  const Json* dtype = member.value.Find("dtype");
  if (dtype == nullptr || dtype->AsString() == nullptr) {
    return CorruptHeader("dtype is missing or no string");
  }
  entry.dtype = *dtype->AsString();
  std::uint64_t bytes = BITTERN_TRY(DtypeBytes(entry.dtype));
  BITTERN_TRY(ReadShape(member.value, &entry));
  if (!CheckedMultiply(bytes, entry.elements, &bytes)) {
    return CorruptHeader("its shape makes more bytes than 64 bits count");
  }
  const Json::Array* offsets = BITTERN_TRY(ArrayOf(member.value, "data_offsets"));
  if (offsets->size() != 2) {
    return CorruptHeader(
        fmt::format("data_offsets: two integers expected, {} found", offsets->size()));
  }
  const std::uint64_t begin = BITTERN_TRY(UintOf((*offsets)[0], "data_offsets"));
  const std::uint64_t end = BITTERN_TRY(UintOf((*offsets)[1], "data_offsets"));
  if (begin > end || end > data.size()) {
    return CorruptHeader(fmt::format(
        "data_offsets [{}, {}) are not inside the {} bytes of data; an incomplete download?", begin,
        end, data.size()));
  }
  if (end - begin != bytes) {
    return CorruptHeader(fmt::format("its shape of {} {} needs {} bytes, but data_offsets hold {}",
                                     entry.elements, entry.dtype, bytes, end - begin));
  }
  entry.file_offset = data_start + begin;
  entry.bytes = data.subspan(begin, bytes);
  return entry;
}

/// Sorts by place and checks that every byte of data belongs to exactly one tensor.
Result<void> CheckTiling(std::uint64_t data_bytes, SafetensorsContents* contents) {
  std::ranges::sort(contents->entries, [](const SafetensorsEntry& a, const SafetensorsEntry& b) {
    return std::tuple(a.file_offset, a.bytes.size()) < std::tuple(b.file_offset, b.bytes.size());
  });
  std::uint64_t expected = 0;
  for (const SafetensorsEntry& entry : contents->entries) {
    const std::uint64_t begin = entry.file_offset - contents->data_start;
    if (begin != expected) {
      return CorruptHeader(fmt::format(
          "tensor {}: data_offsets begin at {}, but {}, the end of the tensor before, is expected",
          Quoted(entry.name), begin, expected));
    }
    expected = begin + entry.bytes.size();
  }
  if (expected == data_bytes) return {};
  return CorruptHeader(
      fmt::format("tensors cover {} of the {} bytes of data", expected, data_bytes));
}

/// True for a name that stays inside the folder: an index from a stranger must not open other
/// files.
bool IsPlainFileName(std::string_view name) {
  constexpr std::string_view kExtension = ".safetensors";
  if (name.size() <= kExtension.size() || name.size() > 255 || !name.ends_with(kExtension)) {
    return false;
  }
  return name[0] != '.' && std::ranges::none_of(name, [](unsigned char c) {
           return c == '/' || c == '\\' || c == ':' || c < 0x20 || c == 0x7f;
         });
}

}  // namespace

/// The file is a length of 8 bytes, that many bytes of JSON, then the data.
Result<SafetensorsContents> ParseSafetensors(std::span<const std::byte> bytes) {
  ByteReader reader(bytes);
  const auto length = BITTERN_TRY(reader.Number<std::uint64_t>("the header's length"));
  if (length > kMaxHeaderBytes) {
    return CorruptHeader(
        fmt::format("a header of at most {} bytes expected, {} found", kMaxHeaderBytes, length));
  }
  const auto header = BITTERN_TRY(reader.Chars(length, "the header"));
  if (!header.starts_with('{')) {
    return CorruptHeader("the header does not begin with \"{\": not a safetensors file");
  }
  // Per tensor: an object, dtype, two arrays and their integers.
  const JsonLimits limits{kMaxHeaderBytes, 4, safetensors_limits::kMaxTensors * (6 + kMaxRank)};
  auto json = Json::Parse(header, limits);
  if (!json) return tl::unexpected(Within("header", std::move(json).error()));
  SafetensorsContents contents;
  contents.data_start = kLengthBytes + length;
  const std::span<const std::byte> data = bytes.subspan(contents.data_start);
  for (const Json::Member& member : *json->AsObject()) {
    if (member.key == "__metadata__") continue;  // notes of the writer; nothing here needs them
    auto entry = ReadEntry(member, data, contents.data_start);
    if (!entry) {
      return tl::unexpected(
          Within(fmt::format("tensor {}", Quoted(member.key)), std::move(entry).error()));
    }
    contents.entries.push_back(*std::move(entry));
  }
  if (contents.entries.size() > safetensors_limits::kMaxTensors) {
    return CorruptHeader(fmt::format("at most {} tensors expected, {} found",
                                     safetensors_limits::kMaxTensors, contents.entries.size()));
  }
  BITTERN_TRY(CheckTiling(data.size(), &contents));
  return contents;
}

/// weight_map is {"tensor": "file"}. Other members, such as the total size, are not read.
Result<std::vector<ShardedTensor>> ParseSafetensorsIndex(std::string_view text) {
  const JsonLimits limits{kMaxHeaderBytes, 8, 4 * safetensors_limits::kMaxTensors};
  const Json json = BITTERN_TRY(Json::Parse(text, limits));
  const Json* map = json.Find("weight_map");
  if (map == nullptr || map->AsObject() == nullptr) {
    return CorruptHeader("weight_map is missing or no object");
  }
  if (map->AsObject()->empty() || map->AsObject()->size() > safetensors_limits::kMaxTensors) {
    return CorruptHeader(fmt::format("weight_map: 1 to {} tensors expected, {} found",
                                     safetensors_limits::kMaxTensors, map->AsObject()->size()));
  }
  std::vector<ShardedTensor> tensors;
  for (const Json::Member& member : *map->AsObject()) {
    const std::string* file = member.value.AsString();
    if (file == nullptr || !IsPlainFileName(*file)) {
      return CorruptHeader(fmt::format(
          "weight_map, tensor {}: the plain name of a .safetensors file expected, {} found",
          Quoted(member.key),
          file == nullptr ? std::string(member.value.TypeName()) : Quoted(*file)));
    }
    tensors.push_back({member.key, *file});
  }
  return tensors;
}

}  // namespace bittern::formats
