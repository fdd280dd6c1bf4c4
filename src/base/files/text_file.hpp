// SPDX-License-Identifier: Apache-2.0
// Texts of files and of standard input. Standard input: one thread.
#pragma once

#include <string>

#include "base/result.hpp"

namespace bittern {

/// All of a file, which may be a pipe. Errors: kNotFound, kIo.
[[nodiscard]] Result<std::string> ReadFileText(const std::string& path);
/// All of standard input. Error kIo.
[[nodiscard]] Result<std::string> ReadStandardInput();
/// The next line of standard input, without its end; false at the end. Error kIo.
[[nodiscard]] Result<bool> ReadLineOfInput(std::string* line);

}  // namespace bittern
