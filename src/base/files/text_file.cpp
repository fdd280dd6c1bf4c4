// SPDX-License-Identifier: Apache-2.0
#include "base/files/text_file.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "base/os/file.hpp"

namespace bittern {
namespace {

/// Reads up to the end, without asking for a size: pipes and /proc have none.
Result<std::string> ReadAll(std::FILE* stream, std::string_view name) {
  std::string text;
  char buffer[4096];
  errno = 0;
  for (std::size_t size; (size = std::fread(buffer, 1, sizeof buffer, stream)) > 0;) {
    text.append(buffer, size);
  }
  if (std::ferror(stream) == 0) return text;
  return Fail(ErrorCode::kIo, fmt::format("{}: cannot read: {}", name, std::strerror(errno)));
}

}  // namespace

Result<std::string> ReadFileText(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(os::OpenStream(path, "rb"),
                                                             &std::fclose);
  if (file == nullptr) {
    const auto code = errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIo;
    return Fail(code, fmt::format("{}: {}", path, std::strerror(errno)));
  }
  return ReadAll(file.get(), path);
}

Result<std::string> ReadStandardInput() { return ReadAll(stdin, "standard input"); }

Result<bool> ReadLineOfInput(std::string* line) {
  line->clear();
  errno = 0;
  for (int c; (c = std::getc(stdin)) != EOF;) {
    if (c == '\n') return true;
    line->push_back(static_cast<char>(c));
  }
  if (std::ferror(stdin) == 0) return !line->empty();
  return Fail(ErrorCode::kIo, fmt::format("standard input: cannot read: {}", std::strerror(errno)));
}

}  // namespace bittern
