// SPDX-License-Identifier: Apache-2.0
// Lines that were typed in earlier sessions: a file with a JSON string in each line, the oldest
// first. Programs that run at the same time may share it: each appends its own lines.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace bittern::console {

/// Not thread-safe.
class HistoryFile {
 public:
  /// Lines that are kept. A longer file is cut when it is opened.
  static constexpr std::size_t kMostLines = 1000;
  /// A longer line is not kept.
  static constexpr std::size_t kMostBytes = 4096;

  /// Reads the file, if it is there; else it comes with the first line, and its folder, which only
  /// this user may enter. Errors: kIo; kCorruptFile (another kind of file, which stays as it is).
  [[nodiscard]] static Result<HistoryFile> Open(const std::filesystem::path& path);

  /// The lines of earlier sessions.
  [[nodiscard]] const std::vector<std::string>& lines() const noexcept { return lines_; }

  /// Appends a line. Left out are a line that begins with a blank, one that is too long, and the
  /// same line again. Error kIo.
  [[nodiscard]] Result<void> Add(std::string_view line);

 private:
  explicit HistoryFile(std::filesystem::path path) : path_(std::move(path)) {}

  std::filesystem::path path_;
  std::vector<std::string> lines_ = {};
  std::string last_ = {};  ///< of this session, else of the file
};

}  // namespace bittern::console
