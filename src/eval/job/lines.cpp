// SPDX-License-Identifier: Apache-2.0
// The file that an interrupted run goes on with.
#include <fmt/format.h>

#include "base/json/json.hpp"
#include "eval/job/job.hpp"

namespace bittern::eval {

/// The first line describes input and settings. A run goes on only if it is the same; a last line
/// that was cut off is dropped.
Result<ResultLines> ResultLines::Open(const JobOptions& options, const Json& subject) {
  ResultLines lines;
  if (options.output.empty()) {
    if (!options.resume) return lines;
    return Fail(ErrorCode::kInvalidArgument,
                "resume=true needs a file to go on with: give output=FILE");
  }
  const std::string header = subject.Dump();
  std::optional<std::string> first;
  const auto keep = [&](std::string_view line, bool is_whole) {
    if (!is_whole) return header.starts_with(line) || (first && line.starts_with('{'));
    auto json = Json::Parse(line, {.max_bytes = std::size_t{256} << 20, .max_depth = 100});
    if (!json || !json->is_object()) return false;
    if (first) {
      lines.earlier_.emplace_back(*std::move(json));
      return true;
    }
    first = line;
    return !json->empty() && json->members().front().key == subject.members().front().key;
  };
  lines.file_ = BITTERN_TRY(ResultsFile::Open(options.output, options.resume, keep));
  if (!first) {
    BITTERN_TRY(lines.file_->Write(header + "\n"));
    return lines;
  }
  if (*first == header) return lines;
  return Fail(ErrorCode::kInvalidArgument,
              fmt::format("{}: this file was made from another input or with other flags, so the "
                          "run cannot go on with it",
                          options.output));
}

Result<void> ResultLines::Write(const Json& line) {
  if (!file_) return {};
  return file_->Write(line.Dump() + "\n");
}

std::string ProgressText(const Job& job, std::string_view what, std::size_t done,
                         std::size_t earlier, std::size_t all) {
  std::string text = fmt::format("{} of {} {}", earlier + done, all, what);
  if (done == 0) return text;
  const double left = static_cast<double>(all - earlier - done);
  return text + fmt::format(", {:.0f} s left", job.seconds() * left / static_cast<double>(done));
}

}  // namespace bittern::eval
