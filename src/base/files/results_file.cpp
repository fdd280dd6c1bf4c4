// SPDX-License-Identifier: Apache-2.0
#include "base/files/results_file.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "base/os/file.hpp"

namespace bittern {
namespace {

tl::unexpected<Error> CannotWrite(const std::string& path) {
  return Fail(ErrorCode::kIo, fmt::format("{}: cannot write: {}", path, std::strerror(errno)));
}

/// Calls on_line with each line until it returns false, which is an error; returns the bytes that
/// whole lines take.
Result<long long> ReadLines(std::FILE* stream, const std::string& path,
                            const ResultsFile::OnLine& on_line) {
  const auto foreign = [&] {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("{}: these are not results that this command has written, so "
                            "resume=true cannot go on with them; choose another name",
                            path));
  };
  long long size = 0;
  std::string line;
  std::vector<char> buffer(1 << 16);
  for (std::size_t n; (n = std::fread(buffer.data(), 1, buffer.size(), stream)) > 0;) {
    std::string_view rest(buffer.data(), n);
    for (std::size_t end; (end = rest.find('\n')) != std::string_view::npos;) {
      line += rest.substr(0, end);
      rest.remove_prefix(end + 1);
      size += static_cast<long long>(line.size()) + 1;
      if (!on_line(line, /*is_whole=*/true)) return foreign();
      line.clear();
    }
    line += rest;
  }
  if (std::ferror(stream) != 0) return CannotWrite(path);
  if (!line.empty() && !on_line(line, /*is_whole=*/false)) return foreign();
  return size;
}

}  // namespace

/// With `resume` the file is read first, then cut behind its last whole line.
Result<ResultsFile> ResultsFile::Open(const std::string& path, bool resume, const OnLine& on_line) {
  if (path == "-") {
    if (!resume) return ResultsFile(stdout, "standard output", 0);
    return Fail(ErrorCode::kInvalidArgument,
                "resume=true needs a file to go on with: give output=FILE");
  }
  std::FILE* stream = resume ? os::OpenStream(path, "r+b") : nullptr;
  if (stream == nullptr) {
    if (resume && errno != ENOENT) return CannotWrite(path);
    stream = os::OpenStream(path, "wb");
    if (stream == nullptr) return CannotWrite(path);
    return ResultsFile(stream, path, 0);
  }
  ResultsFile file(stream, path, 0);
  file.size_ = BITTERN_TRY(ReadLines(stream, path, on_line));
  // Files beyond 2 GB: std::fseek takes a long, which has 32 bits on some systems.
  if (os::ResizeStream(stream, static_cast<std::uint64_t>(file.size_)) != 0 ||
      std::fseek(stream, 0, SEEK_END) != 0) {
    return CannotWrite(path);
  }
  return file;
}

/// A line that was written in part (the disk is full) is cut off, so that a later run can go on.
Result<void> ResultsFile::Write(std::string_view line) {
  std::FILE* const stream = stream_.get();
  if (std::fwrite(line.data(), 1, line.size(), stream) == line.size() && std::fflush(stream) == 0) {
    size_ += static_cast<long long>(line.size());
    return {};
  }
  const int error = errno;
  if (stream != stdout) (void)!os::ResizeStream(stream, static_cast<std::uint64_t>(size_));
  errno = error;
  return CannotWrite(path_);
}

}  // namespace bittern
