// SPDX-License-Identifier: Apache-2.0
// What a report of a problem says, part by part. None of the parts can fail: what goes wrong is
// what the report is for, and stands in it.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/json/json.hpp"
#include "formats/checkpoint.hpp"

namespace bittern::cli {

/// CPU, caches, memory, system, compiler, instruction sets and kernels in use.
[[nodiscard]] Json MachinePart();
/// Form, keys, formats and tensors of the file, decisions and findings of `inspect`. No weights, no
/// vocabulary.
[[nodiscard]] Json FilePart(const formats::Checkpoint& file);
/// As `doctor --json`; `path` stands in sentences.
[[nodiscard]] Json DoctorPart(const std::string& path, int num_threads,
                              const std::function<void(std::string_view)>& on_progress);
/// Tokens per second of a short prompt and of a short text.
[[nodiscard]] Json BenchPart(const std::string& path, int num_threads);

/// The report as text: a line for each value, parts under their names.
[[nodiscard]] std::string PartsText(const Json& parts);

}  // namespace bittern::cli
