// SPDX-License-Identifier: Apache-2.0
// Writing where it can fail: full disks are errors, closed pipes are not.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

#include "base/files/output_file.hpp"
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

}  // namespace bittern::cli
