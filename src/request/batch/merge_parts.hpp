// SPDX-License-Identifier: Apache-2.0
// Many parts become one file, the same bytes that one run without shards would have written. Parts
// are read side by side, so memory does not grow with them. One thread.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "base/result.hpp"

namespace bittern::request {

/// Writes the results of all parts to `output` ("-": standard output), in the order of the input's
/// lines. The parts may come in any order. `input`: the file that they are of, whose lines and ids
/// are then compared, too; empty: not known. Returns the number of results. Errors:
/// kInvalidArgument (a file that cannot be read or is no part; a part that is missing, doubled or
/// unfinished; one of another input, model or setting), kIo (of the output). They name the file,
/// the line, what was expected and what was found. `output` is then as it was.
[[nodiscard]] Result<std::size_t> MergeParts(std::span<const std::string> parts,
                                             const std::string& input, const std::string& output);

}  // namespace bittern::request
