// SPDX-License-Identifier: Apache-2.0
#include "request/batch/line_source.hpp"

#include <fmt/format.h>

#include <iostream>
#include <span>
#include <string_view>

#include "base/hash.hpp"

namespace bittern::request {
namespace {

/// A line of a file with Windows' line ends has its "\r" still.
bool IsBlank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

}  // namespace

/// A file is read once for its number of lines and its hash. Standard input cannot be read twice.
Result<LineSource> LineSource::Open(const std::string& path) {
  LineSource source;
  if (path == "-") return source;
  source.file_ = std::make_unique<std::ifstream>(std::filesystem::path(path), std::ios::binary);
  if (!*source.file_) {
    return Fail(ErrorCode::kInvalidArgument, fmt::format("{}: cannot be read", path));
  }
  std::string line;
  Hash128 hash;
  while (std::getline(*source.file_, line)) {
    if (IsBlank(line)) continue;
    ++source.total_;
    line += '\n';
    hash.Add(std::as_bytes(std::span(line)));
  }
  source.hash_ = hash.Hex();
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
