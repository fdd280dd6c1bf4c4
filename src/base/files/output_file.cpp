// SPDX-License-Identifier: Apache-2.0
#include "base/files/output_file.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/os/file.hpp"

namespace bittern {

Result<OutputFile> OutputFile::Create(const std::string& path) {
  if (path == "-") return OutputFile(stdout, "standard output");
  std::error_code ignored;
  const auto kind = std::filesystem::status(path, ignored).type();
  if (kind == std::filesystem::file_type::regular ||
      kind == std::filesystem::file_type::not_found) {
    return OutputFile(BITTERN_TRY(AtomicFile::Create(path)));
  }
  std::FILE* stream = os::OpenStream(path, "wb");
  if (stream != nullptr) return OutputFile(stream, path);
  return Fail(ErrorCode::kIo, fmt::format("{}: cannot write: {}", path, std::strerror(errno)));
}

Result<void> OutputFile::Failed() const {
  return Fail(ErrorCode::kIo, fmt::format("{}: cannot write: {}", path_, std::strerror(errno)));
}

Result<void> OutputFile::Write(std::span<const float> values) {
  return Write(std::string_view(reinterpret_cast<const char*>(values.data()), values.size_bytes()));
}

Result<void> OutputFile::Write(std::string_view text) {
  if (file_) return file_->Write(text);
  if (std::fwrite(text.data(), 1, text.size(), stream_.get()) != text.size()) return Failed();
  return {};
}

Result<void> OutputFile::Close() {
  if (file_) return file_->Commit();
  if (std::fflush(stream_.get()) != 0) return Failed();
  return {};
}

}  // namespace bittern
