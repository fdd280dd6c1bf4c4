// SPDX-License-Identifier: Apache-2.0
// The results of a batch as they come: whole lines only, so that a run that was interrupted can go
// on where it stopped.
#pragma once

#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace bittern {

/// "-" is standard output.
class ResultsFile {
 public:
  /// Starts empty, or (`resume`) after the last whole line that is there. `on_line` receives those
  /// lines in order, and last what an interrupted run left of one, with `is_whole` false; it
  /// returns false for what no run of the command has written. Only then is that rest cut off.
  /// Errors: kIo; kInvalidArgument (resume with standard output; a file of another kind, which
  /// stays as it is).
  using OnLine = std::function<bool(std::string_view line, bool is_whole)>;
  [[nodiscard]] static Result<ResultsFile> Open(const std::string& path, bool resume,
                                                const OnLine& on_line);

  /// Appends one line with its end and flushes it. Error kIo: the file then ends with the last line
  /// that was written wholly, as far as the system lets it be cut.
  [[nodiscard]] Result<void> Write(std::string_view line);

 private:
  struct CloseStream {
    void operator()(std::FILE* stream) const noexcept {
      if (stream != stdout) std::fclose(stream);
    }
  };
  ResultsFile(std::FILE* stream, std::string path, long long size)
      : stream_(stream), path_(std::move(path)), size_(size) {}

  std::unique_ptr<std::FILE, CloseStream> stream_;
  std::string path_;
  long long size_;  // of whole lines
};

}  // namespace bittern
