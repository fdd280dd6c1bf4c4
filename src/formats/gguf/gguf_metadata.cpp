// SPDX-License-Identifier: Apache-2.0
// Strings, scalars and arrays: the one place that turns type ids into values.
#include "formats/gguf/gguf_metadata.hpp"

#include <fmt/format.h>

#include <utility>

#include "formats/gguf/gguf_reader.hpp"

namespace bittern::formats {
namespace {

using gguf_limits::kMaxArrayElements;
using gguf_limits::kMaxArrayStrings;
using gguf_limits::kMaxStringBytes;

constexpr std::uint64_t kStringHeaderBytes = 8;

/// Bytes of one number or bool; 0 for strings, arrays and ids that are no type.
std::uint64_t ScalarBytes(MetaType type) {
  switch (type) {
    case MetaType::kU8:
    case MetaType::kI8:
    case MetaType::kBool:
      return 1;
    case MetaType::kU16:
    case MetaType::kI16:
      return 2;
    case MetaType::kU32:
    case MetaType::kI32:
    case MetaType::kF32:
      return 4;
    case MetaType::kU64:
    case MetaType::kI64:
    case MetaType::kF64:
      return 8;
    case MetaType::kString:
    case MetaType::kArray:
      return 0;
  }
  return 0;
}

/// Type ids of GGUF run from 0 (u8) to 12 (f64).
Result<MetaType> ReadType(ByteReader& reader, std::string_view what) {
  const std::uint64_t offset = reader.position();
  const auto id = BITTERN_TRY(reader.Number<std::uint32_t>(what));
  if (id > static_cast<std::uint32_t>(MetaType::kF64)) {
    return Fail(ErrorCode::kCorruptFile,
                fmt::format("{} 0 to 12 expected at offset {}, {} found", what, offset, id));
  }
  return static_cast<MetaType>(id);
}

/// Refuses a count before memory is reserved for it: a damaged file may claim more elements than it
/// has bytes.
Result<void> CheckCount(const ByteReader& reader, std::uint64_t offset, std::uint64_t count,
                        std::uint64_t limit, std::uint64_t element_bytes) {
  if (count > limit) {
    return Fail(ErrorCode::kCorruptFile,
                fmt::format("array count at offset {}: at most {} expected, {} found", offset,
                            limit, count));
  }
  // count is at most 2^30 here, so the product cannot overflow.
  if (count * element_bytes > reader.remaining()) {
    return Fail(ErrorCode::kCorruptFile,
                fmt::format("array count at offset {}: {} elements need at least {} bytes, but "
                            "only {} are left in the file",
                            offset, count, count * element_bytes, reader.remaining()));
  }
  return {};
}

/// Views into the file; the file must outlive them.
Result<std::vector<std::string_view>> ReadStrings(ByteReader& reader, std::uint64_t count) {
  std::vector<std::string_view> strings;
  strings.reserve(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    auto text = ReadGgufString(reader, kMaxStringBytes, "string");
    if (!text) {
      return tl::unexpected(
          Within(fmt::format("element {} of {}", i, count), std::move(text).error()));
    }
    strings.push_back(*text);
  }
  return strings;
}

/// An array is an element type, a count of 64 bits, and the elements without padding. Numbers stay
/// as raw bytes, since vocabularies have hundreds of thousands.
Result<MetaValue> ReadArray(ByteReader& reader) {
  MetaArray array;
  array.element_type = BITTERN_TRY(ReadType(reader, "array element type"));
  const std::uint64_t offset = reader.position();
  array.count = BITTERN_TRY(reader.Number<std::uint64_t>("array count"));
  if (array.element_type == MetaType::kArray) {
    return Fail(ErrorCode::kUnsupported, "an array of arrays is not supported");
  }
  if (array.element_type == MetaType::kString) {
    BITTERN_TRY(CheckCount(reader, offset, array.count, kMaxArrayStrings, kStringHeaderBytes));
    array.strings = BITTERN_TRY(ReadStrings(reader, array.count));
  } else {
    const std::uint64_t size = ScalarBytes(array.element_type);
    BITTERN_TRY(CheckCount(reader, offset, array.count, kMaxArrayElements, size));
    array.raw = BITTERN_TRY(reader.Bytes(array.count * size, "array"));
  }
  return MetaValue{MetaType::kArray, std::move(array)};
}

/// Reads a T and keeps it as the variant's wide type.
template <class T, class Wide>
Result<MetaValue> ReadNumber(ByteReader& reader, MetaType type) {
  const T number = BITTERN_TRY(reader.Number<T>("value"));
  return MetaValue{type, static_cast<Wide>(number)};
}

}  // namespace

Result<std::string_view> ReadGgufString(ByteReader& reader, std::uint64_t limit,
                                        std::string_view what) {
  const std::uint64_t offset = reader.position();
  const auto length = BITTERN_TRY(reader.Number<std::uint64_t>("string length"));
  if (length > limit) {
    return Fail(ErrorCode::kCorruptFile,
                fmt::format("{} at offset {}: at most {} bytes expected, a length of {} found",
                            what, offset, limit, length));
  }
  return reader.Chars(length, what);
}

Result<MetaValue> ReadGgufValue(ByteReader& reader) {
  const MetaType type = BITTERN_TRY(ReadType(reader, "value type"));
  switch (type) {
    case MetaType::kU8:
      return ReadNumber<std::uint8_t, std::uint64_t>(reader, type);
    case MetaType::kI8:
      return ReadNumber<std::int8_t, std::int64_t>(reader, type);
    case MetaType::kU16:
      return ReadNumber<std::uint16_t, std::uint64_t>(reader, type);
    case MetaType::kI16:
      return ReadNumber<std::int16_t, std::int64_t>(reader, type);
    case MetaType::kU32:
      return ReadNumber<std::uint32_t, std::uint64_t>(reader, type);
    case MetaType::kI32:
      return ReadNumber<std::int32_t, std::int64_t>(reader, type);
    case MetaType::kU64:
      return ReadNumber<std::uint64_t, std::uint64_t>(reader, type);
    case MetaType::kI64:
      return ReadNumber<std::int64_t, std::int64_t>(reader, type);
    case MetaType::kF32:
      return ReadNumber<float, double>(reader, type);
    case MetaType::kF64:
      return ReadNumber<double, double>(reader, type);
    case MetaType::kBool:
      return ReadNumber<std::uint8_t, bool>(reader, type);  // any non-zero byte is true
    case MetaType::kString: {
      const auto text = BITTERN_TRY(ReadGgufString(reader, kMaxStringBytes, "string"));
      return MetaValue{type, text};
    }
    case MetaType::kArray:
      return ReadArray(reader);
  }
  return Fail(ErrorCode::kInternal, "a metadata type without a reader");
}

}  // namespace bittern::formats
