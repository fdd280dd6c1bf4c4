// SPDX-License-Identifier: Apache-2.0
// Offsets follow from the sizes in the order of the tensors. Every name and size is checked
// before the first byte.
#include "formats/gguf/gguf_writer.hpp"

#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <utility>

#include "base/bytes.hpp"
#include "base/text/display.hpp"
#include "formats/gguf/gguf_reader.hpp"

namespace bittern::formats {
namespace {

/// GGUF is little-endian, as are the machines that this program runs on.
template <class T>
void AppendRaw(T number, std::string* out) {
  char bytes[sizeof number];
  std::memcpy(bytes, &number, sizeof number);
  out->append(bytes, sizeof number);
}

void AppendString(std::string_view text, std::string* out) {
  AppendGgufU64(text.size(), out);
  out->append(text);
}

void AppendArray(const MetaArray& array, std::string* out) {
  AppendGgufU32(static_cast<std::uint32_t>(array.element_type), out);
  AppendGgufU64(array.count, out);
  for (const std::string_view text : array.strings) AppendString(text, out);
  out->append(reinterpret_cast<const char*>(array.raw.data()), array.raw.size());
}

/// A number as the type of its key says; the reader widened it, so nothing is lost.
template <class Number>
void AppendNumber(MetaType type, Number number, std::string* out) {
  switch (type) {
    case MetaType::kU8:
    case MetaType::kI8:
    case MetaType::kBool:
      return AppendRaw(static_cast<std::uint8_t>(number), out);
    case MetaType::kU16:
    case MetaType::kI16:
      return AppendRaw(static_cast<std::uint16_t>(number), out);
    case MetaType::kU32:
    case MetaType::kI32:
      return AppendRaw(static_cast<std::uint32_t>(number), out);
    case MetaType::kU64:
    case MetaType::kI64:
      return AppendRaw(static_cast<std::uint64_t>(number), out);
    case MetaType::kF32:
      return AppendRaw(static_cast<float>(number), out);
    case MetaType::kF64:
      return AppendRaw(static_cast<double>(number), out);
    case MetaType::kString:
    case MetaType::kArray:
      return;  // not numbers
  }
}

/// The header, padding included. Offsets are the padded sums of the sizes.
std::string Header(std::span<const Metadata::Entry> entries, std::span<const GgufTensor> tensors,
                   std::uint64_t alignment) {
  const auto padded = [&](std::uint64_t n) { return (n + alignment - 1) / alignment * alignment; };
  std::string out = "GGUF";
  AppendGgufU32(3, &out);
  AppendGgufU64(tensors.size(), &out);
  AppendGgufU64(entries.size(), &out);
  for (const auto& entry : entries) AppendGgufEntry(entry.key, entry.value, &out);
  std::uint64_t offset = 0;
  for (const GgufTensor& tensor : tensors) {
    AppendString(tensor.name, &out);
    AppendGgufU32(static_cast<std::uint32_t>(tensor.rank), &out);
    for (int i = 0; i < tensor.rank; ++i) {
      AppendGgufU64(tensor.shape[static_cast<std::size_t>(i)], &out);
    }
    AppendGgufU32(tensor.type_id, &out);
    AppendGgufU64(offset, &out);
    offset += padded(tensor.bytes);
  }
  out.resize(padded(out.size()));
  return out;
}

/// The alignment that the entries state, under the reader's rules; 32 where they state none.
Result<std::uint64_t> AlignmentOf(std::span<const Metadata::Entry> entries) {
  for (const auto& entry : entries) {
    if (entry.key != "general.alignment") continue;
    const auto* number = std::get_if<std::uint64_t>(&entry.value.value);
    if (entry.value.type == MetaType::kU32 && number != nullptr && std::has_single_bit(*number) &&
        *number <= gguf_limits::kMaxAlignment) {
      return *number;
    }
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("key \"general.alignment\": a u32, a power of two up to {}, expected",
                            gguf_limits::kMaxAlignment));
  }
  return std::uint64_t{gguf_limits::kDefaultAlignment};
}

/// The writer writes nothing that the reader would refuse.
Result<void> CheckNames(std::span<const Metadata::Entry> entries,
                        std::span<const GgufTensor> tensors) {
  for (const auto& entry : entries) {
    if (!entry.key.empty() && entry.key.size() <= gguf_limits::kMaxKeyBytes) continue;
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("a metadata key of 1 to {} bytes expected, one of {} found",
                            gguf_limits::kMaxKeyBytes, entry.key.size()));
  }
  for (const GgufTensor& tensor : tensors) {
    if (!tensor.name.empty() && tensor.name.size() <= gguf_limits::kMaxTensorNameBytes) continue;
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("tensor {}: a name of 1 to {} bytes expected", Quoted(tensor.name),
                            gguf_limits::kMaxTensorNameBytes));
  }
  return {};
}

}  // namespace

void AppendGgufU32(std::uint32_t number, std::string* out) { AppendRaw(number, out); }
void AppendGgufU64(std::uint64_t number, std::string* out) { AppendRaw(number, out); }

void AppendGgufEntry(std::string_view key, const MetaValue& value, std::string* out) {
  AppendString(key, out);
  AppendGgufU32(static_cast<std::uint32_t>(value.type), out);
  AppendGgufPayload(value, out);
}

void AppendGgufPayload(const MetaValue& value, std::string* out) {
  std::visit(
      [&](const auto& held) {
        using Held = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<Held, MetaArray>) {
          AppendArray(held, out);
        } else if constexpr (std::is_same_v<Held, std::string_view>) {
          AppendString(held, out);
        } else {
          AppendNumber(value.type, held, out);
        }
      },
      value.value);
}

/// Tensors of no bytes at the front are over already, hence EndTensors.
Result<GgufWriter> GgufWriter::Create(const std::filesystem::path& path,
                                      std::span<const Metadata::Entry> entries,
                                      std::vector<GgufTensor> tensors) {
  const std::uint64_t alignment = BITTERN_TRY(AlignmentOf(entries));
  BITTERN_TRY(CheckNames(entries, tensors));
  AtomicFile file = BITTERN_TRY(AtomicFile::Create(path));
  BITTERN_TRY(file.Write(Header(entries, tensors, alignment)));
  GgufWriter writer(std::move(file), std::move(tensors), alignment);
  BITTERN_TRY(writer.EndTensors());
  return writer;
}

/// Pads each tensor that is complete and moves to the next one with bytes to come.
Result<void> GgufWriter::EndTensors() {
  while (current_ < tensors_.size() && written_ == tensors_[current_].bytes) {
    const std::uint64_t past = file_.position() % alignment_;
    if (past != 0) BITTERN_TRY(file_.WriteZeros(alignment_ - past));
    ++current_;
    written_ = 0;
  }
  return {};
}

Result<void> GgufWriter::Append(std::span<const std::byte> bytes) {
  if (current_ == tensors_.size() || bytes.size() > tensors_[current_].bytes - written_) {
    return Fail(ErrorCode::kInternal, "more tensor data than was announced");
  }
  BITTERN_TRY(file_.Write(bytes));
  written_ += bytes.size();
  return EndTensors();
}

Result<std::filesystem::path> GgufWriter::Complete() {
  if (current_ != tensors_.size()) {
    return Fail(ErrorCode::kInternal,
                fmt::format("tensor {}: {} bytes were announced, {} were written",
                            Quoted(tensors_[current_].name), tensors_[current_].bytes, written_));
  }
  BITTERN_TRY(file_.Sync());
  return file_.temporary();
}

Result<void> GgufWriter::Finish() {
  BITTERN_TRY(Complete());
  return file_.Commit();
}

}  // namespace bittern::formats
