// SPDX-License-Identifier: Apache-2.0
#include "request/batch/line_source.hpp"

#include <fmt/format.h>

#include <iostream>
#include <string_view>

namespace bittern::request {
namespace {

/// A line of a file with Windows' line ends has its "\r" still.
bool IsBlank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

}  // namespace

/// A file is read once for its number of lines. Standard input cannot be read twice.
Result<LineSource> LineSource::Open(const std::string& path) {
  LineSource source;
  if (path == "-") return source;
  source.file_ = std::make_unique<std::ifstream>(std::filesystem::path(path), std::ios::binary);
  if (!*source.file_) {
    return Fail(ErrorCode::kInvalidArgument, fmt::format("{}: cannot be read", path));
  }
  std::string line;
  while (std::getline(*source.file_, line)) source.total_ += IsBlank(line) ? 0 : 1;
  source.file_->clear();
  source.file_->seekg(0);
  return source;
}

bool LineSource::Next(std::string* line) {
  std::istream& in = file_ ? *file_ : std::cin;
  while (std::getline(in, *line)) {
    if (IsBlank(*line)) continue;
    ++number_;
    return true;
  }
  return false;
}

}  // namespace bittern::request
