// SPDX-License-Identifier: Apache-2.0
// Writing where it can fail: full disks are errors, closed pipes are not.
#pragma once

#include <cstdio>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/files/atomic_file.hpp"
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
  /// Errors: kIo.
  [[nodiscard]] static Result<OutputFile> Create(const std::string& path);

  [[nodiscard]] Result<void> Write(std::span<const float> values);
  [[nodiscard]] Result<void> Write(std::string_view text);
  [[nodiscard]] Result<void> Close();

 private:
  struct CloseStream {
    void operator()(std::FILE* stream) const noexcept {
      if (stream != stdout) std::fclose(stream);
    }
  };
  OutputFile(std::FILE* stream, std::string path) : stream_(stream), path_(std::move(path)) {}
  explicit OutputFile(AtomicFile file) : file_(std::move(file)) {}
  [[nodiscard]] Result<void> Failed() const;

  std::optional<AtomicFile> file_;
  std::unique_ptr<std::FILE, CloseStream> stream_;  ///< null where there is a file
  std::string path_;
};

}  // namespace bittern::cli
