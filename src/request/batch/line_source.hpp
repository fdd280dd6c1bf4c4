// SPDX-License-Identifier: Apache-2.0
// The lines of a file of requests. One thread.
#pragma once

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "base/result.hpp"

namespace bittern::request {

/// The lines of a file or of standard input, without blank ones.
class LineSource {
 public:
  /// "-" is standard input. Error kInvalidArgument: the file cannot be read.
  [[nodiscard]] static Result<LineSource> Open(const std::string& path);

  /// False at the end.
  [[nodiscard]] bool Next(std::string* line);
  [[nodiscard]] std::size_t number() const noexcept { return number_; }  ///< of the last line
  /// Lines in all; 0: not known.
  [[nodiscard]] std::size_t total() const noexcept { return total_; }
  /// The hash of all lines with their ends (base/hash.hpp), without blank ones; empty: not known.
  [[nodiscard]] const std::string& hash() const noexcept { return hash_; }

 private:
  std::unique_ptr<std::ifstream> file_;
  std::size_t number_ = 0, total_ = 0;
  std::string hash_;
};

}  // namespace bittern::request
