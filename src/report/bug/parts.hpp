// SPDX-License-Identifier: Apache-2.0
// A report of a problem, part by part. None of the parts can fail: what goes wrong is
// what the report is for, and stands in it.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/json/json.hpp"
#include "doctor/diagnose.hpp"
#include "formats/checkpoint.hpp"
#include "report/bug/private_text.hpp"

namespace bittern::report {

/// A sentence in which options stand as key=value, in the words of a program.
using Wording = std::function<std::string(std::string_view)>;

/// CPU, caches, memory, system, compiler, instruction sets and kernels in use.
[[nodiscard]] Json MachinePart(const Wording& word);
/// Form, keys, formats and tensors of the file, decisions and findings of `inspect`. No weights, no
/// vocabulary.
[[nodiscard]] Json FilePart(const formats::Checkpoint& file, const Wording& word);
/// As doctor::DiagnosisJson; `path` stands in sentences.
[[nodiscard]] Json DoctorPart(const doctor::Opener& open, const std::string& path, int num_threads,
                              const std::function<void(std::string_view)>& on_progress);
/// Tokens per second of a short prompt and of a short text.
[[nodiscard]] Json BenchPart(const doctor::Opener& open, int num_threads);

/// Cleans every text of the report; names of members are no texts.
void CleanTexts(Json* value, const PrivateWords& words);

/// The report as text: a line for each value, parts under their names.
[[nodiscard]] std::string PartsText(const Json& parts);

}  // namespace bittern::report
