// SPDX-License-Identifier: Apache-2.0
// A file to be written, or what AtomicFile does not do: standard output, devices and pipes. One
// thread.
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

namespace bittern {

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

}  // namespace bittern
