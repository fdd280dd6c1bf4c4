// SPDX-License-Identifier: Apache-2.0
// A half-written file must not pass for a whole one: it is written beside its place and renamed.
#include "cli/output.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

namespace bittern::cli {

bool StandardOutput::Write(std::string_view text) {
  if (errno_ != 0) return false;
  errno = 0;
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (!written || std::fflush(stdout) != 0) errno_ = errno == 0 ? EIO : errno;
  return errno_ == 0;
}

Result<void> StandardOutput::Status() const {
  if (errno_ == 0 || errno_ == EPIPE) return {};
  return Fail(ErrorCode::kIo,
              fmt::format("cannot write to standard output: {}", std::strerror(errno_)));
}

Result<OutputFile> OutputFile::Create(const std::string& path) {
  if (path == "-") return OutputFile(stdout, "standard output", "");
  std::error_code ignored;
  const auto kind = std::filesystem::status(path, ignored).type();
  const bool direct =
      kind != std::filesystem::file_type::regular && kind != std::filesystem::file_type::not_found;
  const std::string temporary = direct ? "" : fmt::format("{}.part-{}", path, getpid());
  std::FILE* stream = std::fopen(direct ? path.c_str() : temporary.c_str(), "wb");
  if (stream == nullptr) {
    return Fail(ErrorCode::kIo, fmt::format("{}: cannot write: {}", path, std::strerror(errno)));
  }
  return OutputFile(stream, path, temporary);
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : stream_(std::exchange(other.stream_, nullptr)),
      path_(std::move(other.path_)),
      temporary_(std::move(other.temporary_)) {}

OutputFile::~OutputFile() {
  if (stream_ == nullptr || stream_ == stdout) return;
  std::fclose(stream_);
  if (!temporary_.empty()) std::remove(temporary_.c_str());
}

Result<void> OutputFile::Failed() const {
  return Fail(ErrorCode::kIo, fmt::format("{}: cannot write: {}", path_, std::strerror(errno)));
}

Result<void> OutputFile::Write(std::span<const float> values) {
  return Write(std::string_view(reinterpret_cast<const char*>(values.data()), values.size_bytes()));
}

Result<void> OutputFile::Write(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stream_) != text.size()) return Failed();
  return {};
}

Result<void> OutputFile::Close() {
  if (std::fflush(stream_) != 0) return Failed();
  if (stream_ == stdout) return {};
  // fclose frees the stream whatever it returns; some file systems report a full disk only here.
  const bool closed = std::fclose(std::exchange(stream_, nullptr)) == 0;
  const bool named =
      closed && (temporary_.empty() || std::rename(temporary_.c_str(), path_.c_str()) == 0);
  if (named) return {};
  Result<void> failure = Failed();
  if (!temporary_.empty()) std::remove(temporary_.c_str());
  return failure;
}

}  // namespace bittern::cli
