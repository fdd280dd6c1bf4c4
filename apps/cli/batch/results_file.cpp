// SPDX-License-Identifier: Apache-2.0
#include "cli/batch/results_file.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

namespace bittern::cli {
namespace {

tl::unexpected<Error> CannotWrite(const std::string& path) {
  return Fail(ErrorCode::kIo, fmt::format("{}: cannot write: {}", path, std::strerror(errno)));
}

/// Calls on_line with each whole line; returns the bytes that they take.
long long ReadWholeLines(std::FILE* stream, const std::function<void(std::string_view)>& on_line) {
  long long size = 0;
  std::string line;
  std::vector<char> buffer(1 << 16);
  for (std::size_t n; (n = std::fread(buffer.data(), 1, buffer.size(), stream)) > 0;) {
    std::string_view rest(buffer.data(), n);
    for (std::size_t end; (end = rest.find('\n')) != std::string_view::npos;) {
      line += rest.substr(0, end);
      rest.remove_prefix(end + 1);
      size += static_cast<long long>(line.size()) + 1;
      on_line(line);
      line.clear();
    }
    line += rest;
  }
  return size;
}

}  // namespace

Result<ResultsFile> ResultsFile::Open(const std::string& path, bool resume,
                                      const std::function<void(std::string_view)>& on_line) {
  if (path == "-") {
    if (!resume) return ResultsFile(stdout, "standard output", 0);
    return Fail(ErrorCode::kInvalidArgument, "--resume needs a file to go on with: give -o FILE");
  }
  std::FILE* stream = resume ? std::fopen(path.c_str(), "r+b") : nullptr;
  if (stream == nullptr) {
    stream = std::fopen(path.c_str(), "wb");
    if (stream == nullptr) return CannotWrite(path);
    return ResultsFile(stream, path, 0);
  }
  ResultsFile file(stream, path, 0);
  file.size_ = ReadWholeLines(stream, on_line);
  // What an interrupted run left of a line goes.
  if (std::fseek(stream, file.size_, SEEK_SET) != 0 || ftruncate(fileno(stream), file.size_) != 0) {
    return CannotWrite(path);
  }
  return file;
}

Result<void> ResultsFile::Write(std::string_view line) {
  std::FILE* const stream = stream_.get();
  if (std::fwrite(line.data(), 1, line.size(), stream) == line.size() && std::fflush(stream) == 0) {
    size_ += static_cast<long long>(line.size());
    return {};
  }
  const int error = errno;
  if (stream != stdout) (void)!ftruncate(fileno(stream), size_);
  errno = error;
  return CannotWrite(path_);
}

}  // namespace bittern::cli
