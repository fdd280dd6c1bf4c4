// SPDX-License-Identifier: Apache-2.0
#include "formats/safetensors/safetensors_writer.hpp"

#include <fmt/format.h>

#include <cstring>

#include "base/json/json.hpp"

namespace bittern::formats {
namespace {

/// The JSON header, filled with spaces so that the data begins at a multiple of 8.
std::string Header(std::span<const SafetensorsTensor> tensors) {
  Json header = Json::MakeObject();
  header["__metadata__"] = {{"format", "pt"}};  // transformers insists on it
  std::uint64_t begin = 0;
  for (const SafetensorsTensor& tensor : tensors) {
    header[tensor.name] = {{"dtype", tensor.dtype},
                           {"shape", tensor.shape},
                           {"data_offsets", {begin, begin + tensor.bytes}}};
    begin += tensor.bytes;
  }
  std::string text = header.Dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  return text;
}

}  // namespace

/// Writes length and header; the tensors' bytes must follow in the order of `tensors`.
Result<SafetensorsWriter> SafetensorsWriter::Create(const std::filesystem::path& path,
                                                    std::span<const SafetensorsTensor> tensors) {
  const std::string header = Header(tensors);
  const std::uint64_t header_bytes = header.size();
  AtomicFile file = BITTERN_TRY(AtomicFile::Create(path));
  BITTERN_TRY(file.Write(std::as_bytes(std::span(&header_bytes, 1))));
  BITTERN_TRY(file.Write(header));
  std::uint64_t total = 0;
  for (const SafetensorsTensor& tensor : tensors) total += tensor.bytes;
  return SafetensorsWriter(std::move(file), total);
}

Result<void> SafetensorsWriter::Append(std::span<const std::byte> bytes) {
  if (bytes.size() > left_) {
    return Fail(ErrorCode::kInternal, "more tensor data than was announced");
  }
  left_ -= bytes.size();
  return file_.Write(bytes);
}

Result<void> SafetensorsWriter::Finish() {
  if (left_ != 0) {
    return Fail(ErrorCode::kInternal, fmt::format("{} bytes of tensor data are missing", left_));
  }
  return file_.Commit();
}

}  // namespace bittern::formats
