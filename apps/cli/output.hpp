// SPDX-License-Identifier: Apache-2.0
// Writing where it can fail: full disks are errors, closed pipes are not.
#pragma once

#include <cstdio>
#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace bittern::cli {

/// Standard output, flushed with each write so that text appears as it is made.
class StandardOutput {
 public:
  /// False once a write has failed.
  bool Write(std::string_view text);
  /// kIo if a write failed, unless the reader just went away (`| head`).
  [[nodiscard]] Result<void> Status() const;
  /// True once nothing can be written any more.
  [[nodiscard]] bool Closed() const noexcept { return errno_ != 0; }

 private:
  int errno_ = 0;
};

/// A file that appears under its name only when it is complete. "-" is standard output; devices
/// and pipes are written directly.
class OutputFile {
 public:
  [[nodiscard]] static Result<OutputFile> Create(const std::string& path);
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  /// Removes what was written, if Close has not succeeded.
  ~OutputFile();

  [[nodiscard]] Result<void> Write(std::span<const float> values);
  [[nodiscard]] Result<void> Write(std::string_view text);
  [[nodiscard]] Result<void> Close();

 private:
  OutputFile(std::FILE* stream, std::string path, std::string temporary)
      : stream_(stream), path_(std::move(path)), temporary_(std::move(temporary)) {}
  [[nodiscard]] Result<void> Failed() const;

  std::FILE* stream_;
  std::string path_, temporary_;  ///< temporary_ is empty where the path is written directly
};

}  // namespace bittern::cli
