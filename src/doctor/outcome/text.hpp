// SPDX-License-Identifier: Apache-2.0
// An examination as paragraphs of text.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "doctor/outcome/examine.hpp"

namespace bittern::doctor {

/// A sentence in which options stand as key=value, in the words of a program.
using Wording = std::function<std::string(std::string_view)>;

/// How to mend the file at `path`, and how to be sure.
[[nodiscard]] std::string CureAdvice(const std::string& path, const Wording& word);

/// The verdict, each finding with evidence and cure, and what may be done.
[[nodiscard]] std::string OutcomeText(const Outcome& found, const Wording& word);

}  // namespace bittern::doctor
